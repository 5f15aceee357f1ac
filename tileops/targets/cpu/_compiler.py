"""The host's C++ compiler: which one, and what to say where there is none."""

import os
import shlex
import shutil

__all__ = ["command", "missing"]


def command() -> list[str] | None:
    """The compiler's command: ``CXX`` where set, else the first one found; None without one."""
    chosen = shlex.split(os.environ.get("CXX", ""))
    if chosen:
        return chosen if shutil.which(chosen[0]) else None
    return next(([name] for name in ("g++", "c++", "clang++") if shutil.which(name)), None)


def missing() -> str:
    """The sentence for a machine without a C++ compiler."""
    need = "CPU programs need g++ or clang++ with C++17"
    chosen = os.environ.get("CXX")
    if chosen:
        return f"the C++ compiler named by CXX ({chosen}) is not found; {need}"
    return f"no C++ compiler is found; {need}, in PATH or named by CXX"
