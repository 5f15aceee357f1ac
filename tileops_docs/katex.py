"""Python-Markdown extension: typeset the formulas that arithmatex found, with KaTeX, while the page is built.

Readers get HTML and CSS and run no script for it. A formula that KaTeX rejects raises, and MkDocs names
the page.
"""

from __future__ import annotations

import atexit
import hashlib
import json
from functools import cache, lru_cache
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor
from py_mini_racer import MiniRacer

from tileops_docs.store import store
from tileops_docs.timing import stage

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from markdown import Markdown

SOURCE = Path(__file__).parent / "vendor" / "katex.min.js"
RENDER = """
function render(tex, displayMode) {
  try {
    const options = {displayMode, throwOnError: true, strict: 'error', trust: false};
    return {html: katex.renderToString(tex, options)};
  } catch (error) {
    return {error: error.message};
  }
}
function typeset(tex, displayMode) { return JSON.stringify(render(tex, displayMode)); }
"""
START, END = "<!--tex-->", "<!--/tex-->"
"""Marks around what is typeset, for tools that read a page's words."""
CLOSED = {"\\(": "\\)", "\\[": "\\]"}


class FormulaError(ValueError):
    """A formula that KaTeX cannot typeset."""


@lru_cache(maxsize=1)
def _engine() -> MiniRacer:
    engine = MiniRacer()
    # Left to the garbage collector at exit, it waits for a thread that is gone, and the process hangs.
    atexit.register(engine.close)
    engine.eval(SOURCE.read_text(encoding="utf-8"))
    engine.eval(RENDER)
    return engine


@cache
def render(tex: str, display: bool) -> str:
    """The HTML of one formula, kept for the next time: the same symbols return on every page."""
    with stage("math"):
        return store("math").get((_version(), tex, display), lambda: _typeset(tex, display))


@cache
def _version() -> str:
    return hashlib.sha256(SOURCE.read_bytes()).hexdigest()


def _typeset(tex: str, display: bool) -> str:
    answer = json.loads(_engine().call("typeset", tex, display))
    if "error" in answer:
        raise FormulaError(f"KaTeX rejects {tex!r}: {answer['error']}")
    return str(answer["html"])


class _Typeset(Treeprocessor):
    def run(self, root: Element) -> None:
        for element in root.iter():
            text = element.text or ""
            if "arithmatex" not in (element.get("class") or "").split() or CLOSED.get(text[:2]) != text[-2:]:
                continue
            # Escaped text would typeset "&" as "amp;", without an error.
            html = render(unescape(text[2:-2]).strip(), text[:2] == "\\[")
            element.set("data-search-exclude", "")
            element.text = self.md.htmlStash.store(f"{START}{html}{END}")


class KatexExtension(Extension):
    """Registered after arithmatex, whose spans and blocks it replaces."""

    def extendMarkdown(self, md: Markdown) -> None:
        md.registerExtension(self)
        md.treeprocessors.register(_Typeset(md), "katex", priority=1)


def makeExtension(**options: Any) -> KatexExtension:
    return KatexExtension(**options)
