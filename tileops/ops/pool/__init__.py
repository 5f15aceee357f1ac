"""Pooling: windows, grids of a given size, chunks of tokens."""
