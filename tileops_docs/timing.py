"""Where the time of a build goes, by stage."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Timing", "stage", "timing"]


class Timing:
    """Seconds by stage. A stage inside another is taken off that one, so that the figures add up."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._open: list[tuple[str, float]] = []

    def enter(self, name: str) -> None:
        """A stage begins; the one around it pauses."""
        self._charge()
        self._open.append((name, time.perf_counter()))

    def leave(self) -> None:
        """The innermost stage ends; the one around it goes on."""
        self._charge()
        self._open.pop()
        if self._open:
            self._open[-1] = (self._open[-1][0], time.perf_counter())

    def switch(self, name: str) -> None:
        """The outermost stage ends and another begins."""
        while self._open:
            self.leave()
        self.enter(name)

    def _charge(self) -> None:
        if self._open:
            name, since = self._open[-1]
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - since

    def __str__(self) -> str:
        total = sum(self.seconds.values())
        parts = [f"{name} {seconds:.1f} s" for name, seconds in self.seconds.items() if seconds >= 0.05]
        return f"{total:.1f} s in all: {', '.join(parts)}"


timing = Timing()


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Counts what runs inside as a stage of its own."""
    timing.enter(name)
    try:
        yield
    finally:
        timing.leave()
