"""From a program to a shared library: generate C++, compile it, keep it in the cache folder."""

import ctypes
import hashlib
import json
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from .. import _tilelang
from .._store import make_folder
from ..errors import TargetError
from . import _compiler
from .rewrite import lower_for_cpu

__all__ = ["Library", "build", "generate", "key"]

# No -ffast-math: infinities and compensated sums matter. -w: the generated code is not ours to tidy.
_FLAGS = ("-O3", "-march=native", "-fno-strict-aliasing", "-fno-math-errno", "-fwrapv", "-w")
_DEBUG_FLAGS = (
    "-O1", "-g", "-fno-strict-aliasing", "-w", "-fno-sanitize-recover=all", "-ftrivial-auto-var-init=pattern",
)  # fmt: skip
_HERE = Path(__file__).parent


class Library(NamedTuple):
    """A loaded library, its kernels (symbol and parameters) in launch order, and its source."""

    lib: ctypes.CDLL
    kernels: list[dict[str, Any]]
    source: str


def generate(program: Any) -> tuple[str, list[dict[str, Any]]]:
    """C++ source of a program and, for every kernel in it, its symbol and its parameters."""
    return _tilelang.generate_c(lower_for_cpu(program))


def build(program: Any, name: str, root: Path, debug: bool) -> Library:
    """The library of ``program``, from the cache folder (under ``name``, its key) or compiled into it."""
    entry = root / "cpu" / name
    for attempt in ("cached", "fresh"):
        if not (entry / "meta.json").exists():
            _make(program, entry, debug)
        try:
            return _load(entry)
        except (OSError, ValueError, KeyError):  # cut off by a crash, or removed while we looked
            if attempt == "fresh":
                raise
            shutil.rmtree(entry, ignore_errors=True)
    raise AssertionError("unreachable")


def key(program: Any, debug: bool) -> str:
    """What the library depends on: the program, the flags, the processor, TileLang and this package."""
    flags = _DEBUG_FLAGS if debug else _FLAGS
    parts = [_tilelang.text(program), *flags, _cpu_id(), _tilelang.VERSION, _own_sources()]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@cache
def _own_sources() -> str:
    digest = hashlib.sha256((_HERE.parent / "_tilelang.py").read_bytes())
    for path in sorted([*_HERE.glob("*.py"), *_HERE.glob("*.h")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def _cpu_id() -> str:
    """What ``-march=native`` means here, so that a shared cache is never loaded on another CPU."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line for line in lines if line.startswith(("flags", "Features")))
    except (OSError, StopIteration):
        return f"{platform.machine()} {platform.processor()}"


def _load(entry: Path) -> Library:
    meta = json.loads((entry / "meta.json").read_text())
    return Library(ctypes.CDLL(str(entry / "kernel.so")), meta["kernels"], (entry / "kernel.cpp").read_text())


def _make(program: Any, entry: Path, debug: bool) -> None:
    """Compile into a folder of our own, then name it in one step: readers see all of it or nothing."""
    source, kernels = generate(program)
    work = Path(tempfile.mkdtemp(prefix=".new-", dir=make_folder(entry.parent)))
    try:
        (work / "kernel.cpp").write_text(source)
        _run_compiler(work, debug)
        (work / "meta.json").write_text(json.dumps({"kernels": kernels}))
        os.chmod(work, 0o755)
        os.rename(work, entry)
    except OSError:
        if not (entry / "meta.json").exists():  # otherwise another process was faster, with the same program
            raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _run_compiler(work: Path, debug: bool) -> None:
    command = _compiler.command()
    if command is None:
        raise TargetError(_compiler.missing())
    flags: Sequence[str] = _FLAGS
    if debug:
        # GCC's strict form also checks the last array of a structure; clang has the plain form only.
        flags = [*_DEBUG_FLAGS, f"-fsanitize={'bounds' if 'clang' in command[0] else 'bounds-strict'}"]
    # HALF_HALF_HPP keeps TileLang's software half library out: parsing it costs a second a program.
    fixed = ["-std=c++17", "-fPIC", "-shared", "-DHALF_HALF_HPP", "-include", str(_HERE / "prelude.h")]
    includes = f"-I{_tilelang.template_dir()}"
    done = subprocess.run(
        [*command, *flags, *fixed, includes, "kernel.cpp", "-o", "kernel.so"],
        cwd=work,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise TargetError(f"{shlex.join(command)} failed on generated code:\n{done.stderr}")
