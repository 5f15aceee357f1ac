"""The API coverage check: what must be documented, where the site does it, and what the built page holds.

Stage 1 reads sources: `surface` and `manifest` say what must be documented, `directives` and `rendered` what
the site will show, `docstrings` what a reader finds there, `compare` what is missing. Stage 2 reads a site:
`site` builds it, `pages` and `assets` look at its HTML. `report` prints. Nothing here imports torch or the
packages that are checked.
"""
