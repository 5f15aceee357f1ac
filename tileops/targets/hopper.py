"""The NVIDIA H200 and its siblings: TileLang's CUDA path for ``sm_90a``."""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ._once import BuildOnce
from .cache_dir import StrPath, cache_dir

__all__ = ["SHARED_MEMORY_LIMIT", "Lowered", "compile", "lower", "unavailable"]

CAPABILITY = (9, 0)
SHARED_MEMORY_LIMIT = 227 * 1024  # bytes a block can have; nvcc does not check it, a launch would fail

_compiled: BuildOnce[tuple[Callable[..., None], Any]] = BuildOnce()


class Lowered(NamedTuple):
    """The generated CUDA source and the shared memory of a block in bytes (of the largest kernel in it)."""

    source: str
    shared_memory: int


def unavailable() -> str | None:
    """Why this machine cannot run sm_90a programs, or None where it can."""
    import torch

    if not torch.cuda.is_available():
        return "PyTorch finds no CUDA device; a GPU of compute capability 9.0 (H100, H200) is needed"
    capability = torch.cuda.get_device_capability()
    if capability == CAPABILITY:
        return None
    name = torch.cuda.get_device_name()
    return f"{name} has compute capability {capability[0]}.{capability[1]}; 9.0 (H100, H200) is needed"


def compile(program: Any, pass_configs: Mapping[str, Any] | None = None, *, cache: StrPath | None = None) -> Callable[..., None]:
    """Compile a traced program for sm_90a; the callable takes every argument of the program, outputs too.

    Works without a GPU (nvcc is needed where the program is not in the cache); the call needs one. It
    launches on PyTorch's current stream. ``cache`` is a cache folder other than the usual one.
    """
    from . import _tilelang

    root = cache_dir(cache)
    configs = dict(pass_configs or {})
    text = "\0".join([_tilelang.text(program), repr(sorted(configs.items())), str(root)])
    key = hashlib.sha256(text.encode()).hexdigest()
    return _compiled.get(key, lambda: _tilelang.compile_sm90(program, configs, root))[0]


def lower(program: Any, pass_configs: Mapping[str, Any] | None = None) -> Lowered:
    """The CUDA source of a program and its shared memory; needs neither a GPU nor nvcc."""
    from . import _tilelang

    return Lowered(*_tilelang.lower_sm90(program, dict(pass_configs or {})))
