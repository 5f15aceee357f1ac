"""Pytest plugin: runs the code blocks of the site's pages and of the README, exactly those that a page shows.

The site's own fence extension says which blocks there are, so a block inside a comment or an indented example
of Markdown is not run, and one inside a tab or a list is. The blocks of a page share one namespace and run in
order. One that carries `>>>` is a doctest. A block with a title is a file, not an example; tests that follow
a page write it (`test_add_an_operator.py`).
"""

from __future__ import annotations

import doctest
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import markdown
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
LANGUAGES = ("python", "py", "pycon")
EXTENSIONS = [
    "pymdownx.superfences",
    "pymdownx.tabbed",
    "pymdownx.details",
    "admonition",
    "md_in_html",
    "tables",
    "attr_list",
]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Fence:
    """A code block as the page shows it; `line` is that of its first line in the file."""

    def __init__(self, line: int, language: str, title: str, source: str) -> None:
        self.line, self.language, self.title, self.source = line, language, title, source


def collect_fences(path: Path) -> list[Fence]:
    """The code blocks that a page shows, in order.

    Raises:
        LookupError: A block is shown whose lines are not in the file.
    """
    blocks: list[tuple[str, str, str]] = []

    def record(source: str, language: str, css_class: str, options: Any, md: Any, **more: Any) -> str:
        blocks.append((language, options.get("title", ""), source))
        return f'<pre data-block="{len(blocks) - 1}"></pre>'

    def accept(language: str, inputs: dict[str, str], options: dict[str, str], attrs: Any, md: Any) -> bool:
        options.update(inputs)
        return True

    fences = [{"name": "*", "class": "", "format": record, "validator": accept}]
    md = markdown.Markdown(
        extensions=EXTENSIONS,
        extension_configs={
            "pymdownx.superfences": {"custom_fences": fences},
            "pymdownx.tabbed": {"alternate_style": True},
        },
    )
    text = path.read_text(encoding="utf-8")
    html = re.sub(r"<!--.*?-->", "", md.convert(text), flags=re.S)
    shown = {int(n) for n in re.findall(r'data-block="(\d+)"', html)}
    lines, at, found = text.splitlines(), 0, []
    for number, (language, title, source) in enumerate(blocks):
        at = _locate(lines, at, source.splitlines(), path)
        if number in shown:
            found.append(Fence(at + 1, language, title, source))
        at += len(source.splitlines())
    return found


def _locate(lines: list[str], start: int, source: list[str], path: Path) -> int:
    """Index of the block's first line."""
    for i in range(start, len(lines) - len(source) + 1):
        inside = zip(lines[i + 1 :], source, strict=False)
        if re.match(r"^[ \t>]*(`{3,}|~{3,})", lines[i]) and all(
            line.endswith(wanted) if wanted else not line.strip(" >\t") for line, wanted in inside
        ):
            return i + 1
    raise LookupError(f"{path}: cannot find the block {source[:2]} that the page shows")


class Page(pytest.File):
    """A Markdown file with at least one block that runs."""

    def collect(self) -> Iterator[pytest.Item]:
        # A module that can be found: TileLang, pickle and type hints look names up in a function's module.
        module = types.ModuleType(f"page_{re.sub(r'[^a-z0-9]', '_', self.path.stem.lower())}")
        sys.modules[module.__name__] = module
        namespace = module.__dict__
        for fence in collect_fences(self.path):
            if fence.language in LANGUAGES and not fence.title:
                yield Block.from_parent(
                    self, name=f"{fence.language}:{fence.line}", fence=fence, namespace=namespace
                )


class Block(pytest.Item):
    """One code block."""

    def __init__(self, *, fence: Fence, namespace: dict[str, Any], **more: Any) -> None:
        super().__init__(**more)
        self.line, self.source, self.namespace = fence.line, fence.source, namespace

    def runtest(self) -> None:
        if not self.source.lstrip().startswith(">>>"):
            # The empty lines put the file's line numbers into tracebacks.
            exec(compile("\n" * (self.line - 1) + self.source, str(self.path), "exec"), self.namespace)
            return
        parser = doctest.DocTestParser()
        test = parser.get_doctest(self.source, self.namespace, self.path.name, str(self.path), self.line - 1)
        doctest.DebugRunner(verbose=False, optionflags=FLAGS).run(test, clear_globs=False)
        self.namespace.update(test.globs)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        error = excinfo.value
        if isinstance(error, (doctest.DocTestFailure, doctest.UnexpectedException)):
            line = (error.test.lineno or 0) + error.example.lineno + 1
            got = (
                f"expected {error.example.want!r}, got {error.got!r}"
                if isinstance(error, doctest.DocTestFailure)
                else repr(error.exc_info[1])
            )
            return f"{self.path}:{line}: {got}\n    >>> {error.example.source}"
        own = [entry for entry in excinfo.traceback if str(entry.path) == str(self.path)]
        return f"{self.path}:{own[-1].lineno + 1 if own else self.line}: {error!r}"

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.line - 1, f"{self.path.name}:{self.line}"


def pytest_collect_file(parent: pytest.Collector, file_path: Path) -> pytest.Collector | None:
    if file_path.suffix != ".md":
        return None
    inside = file_path.is_relative_to(ROOT / "docs") or file_path.parent == ROOT
    return Page.from_parent(parent, path=file_path) if inside else None
