"""What the documentation site needs beyond its packages: typeset math, operator pages, generated tables.

Everything here is a Python-Markdown extension, a griffe extension or a helper of the two, so that the site
does not depend on one site generator. Nothing here imports torch, and nothing here is part of the wheel.
"""
