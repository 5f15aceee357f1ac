"""Lines of generated Python with their indentation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

__all__ = ["Source"]


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
    def block(self, head: str | None = None) -> Iterator[None]:
        """Indent what is added inside, below `head`."""
        if head is not None:
            self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def constant(self, source: str) -> str:
        """Name of a module-level constant with this value."""
        if source not in self._constants:
            self._constants.append(source)
        return f"C{self._constants.index(source)}"

    def __str__(self) -> str:
        constants = [f"C{n} = {source}" for n, source in enumerate(self._constants)]
        return "\n".join([*constants, *self._lines, ""])
