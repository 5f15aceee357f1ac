"""Lines of generated Python with their indentation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

__all__ = ["Source", "comment", "prune"]

_ASSIGNMENT = re.compile(r" *(n_\w+) = ")


def comment(kind: str, text: str) -> str:
    """Where a line comes from: what fails in it is reported with this text."""
    return f"  # {kind}: {' '.join(text.split())}"


def prune(lines: list[str]) -> list[str]:
    """Without the sizes that nothing reads."""
    while True:
        words = re.findall(r"\bn_\w+", "\n".join(line.partition("  # ")[0] for line in lines))
        once = {word for word in words if words.count(word) == 1}
        kept = [line for line in lines if not ((found := _ASSIGNMENT.match(line)) and found[1] in once)]
        if len(kept) == len(lines):
            return kept
        lines = kept


class Source:
    """Text of a module under construction."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._constants: list[str] = []
        self._depth = 0

    def line(self, text: str) -> None:
        """Add one line."""
        self._lines.append("    " * self._depth + text)

    def extend(self, lines: Iterable[str]) -> None:
        """Add lines that carry their own relative indentation."""
        for text in lines:
            self.line(text)

    @contextmanager
    def block(self, head: str, keep: bool = False) -> Iterator[None]:
        """Indent what is added inside, below `head`; when nothing is added, nothing stays, unless `keep`."""
        self.line(head)
        before = len(self._lines)
        self._depth += 1
        yield
        if len(self._lines) == before and keep:
            self.line("pass")
        self._depth -= 1
        if len(self._lines) == before:
            self._lines.pop()

    def constant(self, source: str) -> str:
        """Name of a module-level constant with this value."""
        if source not in self._constants:
            self._constants.append(source)
        return f"C{self._constants.index(source)}"

    @property
    def lines(self) -> list[str]:
        """The lines so far, without the constants."""
        return self._lines

    def __str__(self) -> str:
        constants = [f"C{n} = {source}" for n, source in enumerate(self._constants)]
        return "\n".join([*constants, *self._lines, ""])
