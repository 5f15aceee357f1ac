"""Where a program runs: ``hopper`` (compute capability 9.0) and ``cpu`` (the same program lowered to C++).

Importing this package is cheap: TileLang is imported by the first program that is compiled.
"""

from importlib import import_module
from types import ModuleType
from typing import Any

from .cache_dir import cache_dir, clear, entries
from .errors import TargetError, UnsupportedOnCpu

__all__ = [
    "TargetError",
    "UnsupportedOnCpu",
    "cache_dir",
    "clear",
    "cpu",
    "entries",
    "get",
    "hopper",
    "names",
]

names = ("hopper", "cpu")


def get(name: str) -> ModuleType:
    """The module of a target, with ``compile(program, pass_configs)`` and ``unavailable()``."""
    if name not in names:
        raise ValueError(f"unknown target {name!r}; the targets are {', '.join(names)}")
    return import_module(f"{__name__}.{name}")


def __getattr__(name: str) -> Any:
    if name in names:
        return get(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
