"""The NVIDIA H200 and its siblings: TileLang's CUDA path for ``sm_90a``."""

import hashlib
import re
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ._once import BuildOnce
from .cache_dir import StrPath, cache_dir
from .errors import TargetError

__all__ = ["SHARED_MEMORY_LIMIT", "Checked", "Lowered", "check", "compile", "lower", "unavailable"]

CAPABILITY = (9, 0)
SHARED_MEMORY_LIMIT = 227 * 1024  # bytes a block can have; nvcc does not check it, a launch would fail

_compiled: BuildOnce[tuple[Callable[..., None], Any]] = BuildOnce()


class Lowered(NamedTuple):
    """The generated CUDA source and the shared memory of a block in bytes (of the largest kernel in it)."""

    source: str
    shared_memory: int


class Checked(NamedTuple):
    """What nvcc says about one kernel: registers a thread, bytes spilled to memory (stores and loads)."""

    name: str
    registers: int
    spill_bytes: int


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


def compile(
    program: Any, pass_configs: Mapping[str, Any] | None = None, *, cache: StrPath | None = None
) -> Callable[..., None]:
    """Compile a traced program for sm_90a; the callable takes every argument of the program, outputs too.

    Works without a GPU (nvcc is needed where the program is not in the cache); the call needs one. It
    launches on PyTorch's current stream. ``cache`` is a cache folder of one's own.
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


def check(source: str, flags: Sequence[str] = ()) -> list[Checked]:
    """Compile generated CUDA source with nvcc (3 to 6 s, no GPU); ``TargetError`` shows what it refuses."""
    from . import _tilelang

    command = _tilelang.nvcc_command()
    if command is None:
        raise TargetError("nvcc is not found; compiling sm_90a programs needs the CUDA toolkit 12.8 or newer")
    with tempfile.TemporaryDirectory() as work:
        Path(work, "kernel.cu").write_text(source)
        files = ["kernel.cu", "-o", "kernel.cubin"]
        done = subprocess.run(
            [*command, *flags, "-Xptxas", "-v", *files], cwd=work, capture_output=True, text=True
        )
    if done.returncode:
        raise TargetError(f"nvcc failed on generated code:\n{done.stderr}{done.stdout}")
    return _read_ptxas(done.stderr + done.stdout)


def _read_ptxas(report: str) -> list[Checked]:
    """The kernels in the output of ``ptxas -v``, which speaks of each in a paragraph."""
    kernels = []
    for part in re.split(r"Compiling entry function", report)[1:]:
        name = re.search(r"'([^']+)'", part)
        registers = re.search(r"Used (\d+) registers", part)
        spills = re.findall(r"(\d+) bytes spill", part)
        if name is None or registers is None:
            raise TargetError(f"cannot read what ptxas says:\n{report}")
        kernels.append(Checked(name[1], int(registers[1]), sum(map(int, spills))))
    return kernels
