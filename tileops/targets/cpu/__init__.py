"""The host CPU: the same TileLang program, lowered to C++ and built by the host's compiler.

Storage and rounding of narrow types, bounds of copies, and NaN in ``T.max`` and ``T.min`` are the GPU's;
the order of summation and fused multiply-adds are not. Blocks run one after another.
"""

from collections.abc import Callable, Mapping
from typing import Any

from tileops._once import BuildOnce

from ..cache_dir import StrPath, cache_dir
from ..errors import UnsupportedOnCpu

__all__ = ["UnsupportedOnCpu", "compile", "lower", "unavailable"]

_compiled: BuildOnce[str, Callable[..., None]] = BuildOnce()


def unavailable() -> str | None:
    """Why this machine cannot run programs on the CPU, or None where it can."""
    from . import _compiler

    return None if _compiler.command() else _compiler.missing()


def compile(
    program: Any,
    pass_configs: Mapping[str, Any] | None = None,
    *,
    debug: bool = False,
    cache: StrPath | None = None,
) -> Callable[..., None]:
    """Compile a traced program for the host; the callable takes every argument of the program, outputs too.

    ``pass_configs`` steer code generation for the GPU and mean nothing here. ``debug`` adds bounds checks on
    every on-chip array (the process stops and says where) and a poison value (-1.7e38 as float32) in memory
    that was never written; it is about ten times slower. ``cache`` is a cache folder of one's own.
    """
    from . import build, launch

    root = cache_dir(cache)
    name = build.key(program, debug)

    def make() -> Callable[..., None]:
        return launch.launcher(program, build.build(program, name, root, debug))

    return _compiled.get(f"{root}/{name}", make)


def lower(program: Any) -> str:
    """The C++ source of a program; needs no compiler. Raises ``UnsupportedOnCpu`` where there is none."""
    from . import build

    return build.generate(program)[0]
