"""Small results kept on disk by key, so that the next process need not work them out again."""

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .errors import TargetError

__all__ = ["make_folder", "remember"]


def make_folder(path: Path) -> Path:
    """Create a folder of the cache, or say which one cannot be used and what to set."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = f"cannot write to the cache folder {path} ({error.strerror})"
        raise TargetError(f"{problem}; set TILELANG_CACHE_DIR to another one") from error
    return path


def remember(folder: Path, key: str, make: Callable[[], Any]) -> Any:
    """``make()``, of JSON values, or what an earlier process kept of it; readers see a whole file or none."""
    path = folder / f"{key}.json"
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):  # not there, or cut off by a crash
        value = make()
    make_folder(folder)
    with tempfile.NamedTemporaryFile("w", dir=folder, prefix=".new-", delete=False) as file:
        json.dump(value, file)
    os.replace(file.name, path)
    return value
