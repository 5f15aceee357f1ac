"""The one folder where both targets keep what they compiled.

It lies below ``TILELANG_CACHE_DIR`` where the user set that variable (it is TileLang's own), else in the
user's cache folder of the platform::

    <root>/cpu/<key>/        kernel.so, kernel.cpp, meta.json
    <root>/hopper/...        what TileLang keeps: libraries, cubins
    <root>/lowered/          CUDA sources, made without a GPU to be looked at
    <root>/checked/          what nvcc said about them

Entries appear by one atomic rename and are never changed, so threads and processes may share the folder.
"""

import os
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

__all__ = ["Entry", "cache_dir", "clear", "entries"]

StrPath = str | os.PathLike[str]


class Entry(NamedTuple):
    """One compiled program on disk; ``size`` in bytes, ``mtime`` in seconds since the epoch."""

    target: str
    name: str
    size: int
    mtime: float


def _user_cache() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def cache_dir(root: StrPath | None = None) -> Path:
    """The cache folder: ``root`` where given, else TileLang's own variable, else the platform's folder."""
    if root is not None:
        return Path(root)
    return Path(os.environ.get("TILELANG_CACHE_DIR") or _user_cache()) / "tileops"


def _entry_folders(root: Path) -> list[tuple[str, Path]]:
    found = [("cpu", path) for path in root.glob("cpu/*/meta.json")]
    found += [("hopper", path) for path in root.glob("hopper/**/kernels/*/manifest.json")]
    return [(target, path.parent) for target, path in found]


def entries(root: StrPath | None = None) -> list[Entry]:
    """Every compiled program in the cache, the newest first."""
    found = []
    for target, folder in _entry_folders(cache_dir(root)):
        try:
            stats = [file.stat() for file in folder.iterdir()]
            found.append(
                Entry(target, folder.name, sum(s.st_size for s in stats), max(s.st_mtime for s in stats))
            )
        except OSError:  # removed by another process while we look
            continue
    return sorted(found, key=lambda entry: entry.mtime, reverse=True)


def clear(root: StrPath | None = None) -> int:
    """Delete every compiled program; returns how many there were. Programs already loaded keep working."""
    base = cache_dir(root)
    count = len(_entry_folders(base))
    for target in ("cpu", "hopper", "lowered", "checked"):
        shutil.rmtree(base / target, ignore_errors=True)
    return count
