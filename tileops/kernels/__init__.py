"""The TileLang programs, one module a family; the manifest names them."""
