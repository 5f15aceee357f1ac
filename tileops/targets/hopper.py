"""The NVIDIA H200 and its siblings: TileLang's CUDA path for ``sm_90a``."""

import hashlib
import re
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tileops._once import BuildOnce

from ._store import make_folder, remember
from .cache_dir import StrPath, cache_dir
from .errors import TargetError

__all__ = ["SHARED_MEMORY_LIMIT", "Checked", "Lowered", "check", "compile", "lower", "unavailable"]

CAPABILITY = (9, 0)
SHARED_MEMORY_LIMIT = 227 * 1024  # bytes a block can have; nvcc does not check it, a launch would fail
_NO_NVCC = (
    "nvcc is not found; compiling a program for sm_90a needs the CUDA toolkit, version 12.8 or newer, "
    "with nvcc in PATH or its folder in CUDA_HOME"
)

_compiled: BuildOnce[str, tuple[Callable[..., None], Any]] = BuildOnce()


class Lowered(NamedTuple):
    """The generated CUDA source and the shared memory of a block in bytes (of the largest kernel in it)."""

    source: str
    shared_memory: int


class Checked(NamedTuple):
    """What nvcc says about one kernel: registers a thread, bytes spilled to memory (stores and loads)."""

    name: str
    registers: int
    spill_bytes: int


def unavailable(device: Any = None) -> str | None:
    """Why a CUDA device (the current one by default) cannot run sm_90a programs, or None where it can."""
    import torch

    if not torch.cuda.is_available():
        return "PyTorch finds no CUDA device; a GPU of compute capability 9.0 (H100, H200) is needed"
    capability = torch.cuda.get_device_capability(device)
    if capability == CAPABILITY:
        return None
    name = torch.cuda.get_device_name(device)
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
    key = _key(_tilelang.text(program), configs, root)

    def build() -> tuple[Callable[..., None], Any]:
        make_folder(root / "hopper")
        try:
            return _tilelang.compile_sm90(program, configs, root)
        except Exception as error:
            if _tilelang.nvcc_command() is None:
                raise TargetError(_NO_NVCC) from error
            raise

    return _compiled.get(key, build)[0]


def lower(
    program: Any, pass_configs: Mapping[str, Any] | None = None, *, cache: StrPath | None = None
) -> Lowered:
    """The CUDA source of a program and its shared memory; needs neither a GPU nor nvcc.

    It takes 0.4 to 2 s; the result is kept in the cache folder.
    """
    from . import _tilelang

    configs = dict(pass_configs or {})
    key = _key(_tilelang.text(program), configs, _tilelang.VERSION)
    return Lowered(
        *remember(cache_dir(cache) / "lowered", key, lambda: _tilelang.lower_sm90(program, configs))
    )


def _key(text: str, configs: Mapping[str, Any], *more: object) -> str:
    parts = [text, repr(sorted(configs.items())), *map(str, more)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def check(source: str, flags: Sequence[str] = (), *, cache: StrPath | None = None) -> list[Checked]:
    """Compile generated CUDA source with nvcc; ``TargetError`` shows what it refuses.

    It takes 3 to 6 s and no GPU; what nvcc accepted is kept in the cache folder and not compiled again.
    """
    from . import _tilelang

    command = _tilelang.nvcc_command()
    if command is None:
        raise TargetError(_NO_NVCC)
    compiler = Path(command[0]).resolve().stat()
    key = _key(source, {}, *command, *flags, compiler.st_size, compiler.st_mtime)
    found = remember(cache_dir(cache) / "checked", key, lambda: _run_nvcc([*command, *flags], source))
    return [Checked(*kernel) for kernel in found]


def _run_nvcc(command: Sequence[str], source: str) -> list[Checked]:
    with tempfile.TemporaryDirectory() as work:
        Path(work, "kernel.cu").write_text(source)
        files = ["kernel.cu", "-o", "kernel.cubin"]
        done = subprocess.run([*command, "-Xptxas", "-v", *files], cwd=work, capture_output=True, text=True)
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
