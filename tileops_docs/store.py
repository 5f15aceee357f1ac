"""What a build of the site made, kept for the next one: formulas, charts and highlighted sources.

A key is a hash of all that the value depends on, so an old file is never wrong, only useless. It lies in
`.cache/site/` of the checkout; where that cannot be written, nothing is kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

from tileops_docs.sources import ROOT

__all__ = ["FOLDER", "Store", "store"]

FOLDER = ROOT / ".cache" / "site"
MOST = 20_000  # entries; beyond them those go that this build did not use


class Store:
    """Texts by the hash of what they were made from, in one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.known: dict[str, str] = {}
        self.used: set[str] = set()
        self.made = 0
        with suppress(OSError, ValueError):
            self.known = json.loads(path.read_text(encoding="utf-8"))

    def get(self, parts: object, make: Callable[[], str]) -> str:
        """The text for `parts`, made at the first time."""
        key = hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
        self.used.add(key)
        if key not in self.known:
            self.known[key] = make()
            self.made += 1
        return self.known[key]

    def save(self) -> None:
        """Write what was made; a reader finds the old file or the new one."""
        if not self.made:
            return
        kept = self.known if len(self.known) <= MOST else {key: self.known[key] for key in self.used}
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.path.parent)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(kept, file)
            os.replace(name, self.path)
            self.made = 0


_OPEN: list[Store] = []


@cache
def store(kind: str) -> Store:
    """The one store of a kind: "math", "charts", "sources"."""
    _OPEN.append(Store(FOLDER / f"{kind}.json"))
    return _OPEN[-1]


def save_all() -> None:
    """Write every store that this process opened."""
    for one in _OPEN:
        one.save()
