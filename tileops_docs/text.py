"""How names, types, defaults and calls read on a page."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["call_lines", "family_title", "parameter", "short_dtype", "shown_default", "shown_type", "words"]

LINE = 88


def words(name: str) -> list[str]:
    """`RMSNormFwdOp` -> RMS, Norm, Fwd, Op."""
    return re.findall(r"[A-Z][A-Z0-9]+(?=[A-Z][a-z]|$)|[A-Z][a-z]*[0-9]*[a-z]*|[a-z0-9]+", name)


def family_title(family: str) -> str:
    """What readers call a family."""
    known = {"gemm": "GEMM", "moe": "Mixture of experts", "pool": "Pooling", "topk": "Top-k", "fft": "FFT"}
    return known.get(family, family.replace("_", " ").capitalize())


def short_dtype(name: str) -> str:
    """A dtype where there is little room: "bf16", "i32", "e4m3"."""
    name = name.removeprefix("float8_").removesuffix("fn")
    for long, short in (("bfloat", "bf"), ("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c")):
        name = name.replace(long, short) if name.startswith(long) else name
    return name


def shown_type(text: str) -> str:
    """A param's type as Python annotates it."""
    return re.sub(r"\bdtype\b", "torch.dtype", text)


def shown_default(param: Any) -> str:
    """A param's default as Python writes it; empty when it has none."""
    if param.required:
        return ""
    if "dtype" in param.type and isinstance(param.default, str):
        return f"torch.{param.default}"
    value = tuple(param.default) if isinstance(param.default, list) else param.default
    return repr(value)


def parameter(name: str, param: Any) -> str:
    """A param in a signature."""
    annotated = f"{name}: {shown_type(param.type)}"
    return annotated if param.required else f"{annotated} = {shown_default(param)}"


def call_lines(head: str, arguments: list[str]) -> str:
    """A call on one line where it fits, else one argument a line."""
    line = f"{head}({', '.join(arguments)})"
    if len(line) <= LINE:
        return line
    return "\n".join([f"{head}(", *(f"    {argument}," for argument in arguments), ")"])
