"""Highlighted code, kept for the next build, without the elements that have no colour of their own."""

from __future__ import annotations

import re

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers.data import YamlLexer
from pygments.lexers.python import PythonConsoleLexer, PythonLexer

from tileops_docs.store import store
from tileops_docs.timing import stage

__all__ = ["block", "marked_up"]

LEXERS = {"python": PythonLexer, "pycon": PythonConsoleLexer, "yaml": YamlLexer}
PLAIN = re.compile(r'<span class="(?:w|n|l l-Scalar l-Scalar-Plain)">([^<]*)</span>')
"""What has the colour of text anyway: blanks and plain names are half of all elements."""


def block(text: str, language: str) -> str:
    """A block of code as it stands in a page."""
    lines = marked_up(text.strip("\n"), language)
    return f'<div class="language-{language} highlight"><pre><code>{lines}</code></pre></div>'


def marked_up(text: str, language: str) -> str:
    """The text as HTML, with as many lines."""
    with stage("code"):
        return store("code").get((1, language, text), lambda: _marked_up(text, language))


def _marked_up(text: str, language: str) -> str:
    html = highlight(text, LEXERS[language](stripnl=False), HtmlFormatter(nowrap=True))
    return PLAIN.sub(r"\1", html.replace('"p p-Indicator"', '"p"')).removesuffix("\n")
