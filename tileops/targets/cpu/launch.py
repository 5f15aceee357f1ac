"""Calling a compiled program: one straight Python function for each, made from the program's signature.

The function unpacks the shapes, checks type, device, sizes and strides, solves the dynamic sizes, and hands
pointers to the library. Everything that can be decided from the signature is decided when it is made.
"""

import ctypes
import keyword
import linecache
from collections.abc import Callable
from typing import Any, NoReturn

import torch

from .._tilelang import contiguous, tirx
from ..errors import UnsupportedOnCpu
from .build import Library

__all__ = ["launcher"]

_SCALARS: dict[str, Any] = {
    **{f"{u}int{n}": getattr(ctypes, f"c_{u}int{n}") for u in ("", "u") for n in (8, 16, 32, 64)},
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
    "bool": ctypes.c_bool,
}
_BINARY = {
    "Add": "({} + {})", "Sub": "({} - {})", "Mul": "({} * {})", "Min": "min({}, {})", "Max": "max({}, {})",
    "FloorDiv": "({} // {})", "FloorMod": "({} % {})", "Div": "({} // {})", "Mod": "({} % {})",
}  # fmt: skip


class _Unknown(Exception):
    """A size expression needs a variable that is not solved yet."""


def _torch_dtype(dtype: Any) -> torch.dtype:
    return getattr(torch, {"float8_e4m3": "float8_e4m3fn"}.get(str(dtype), str(dtype)))


def _python(expr: Any, known: dict[str, str]) -> str:
    """A size expression as Python text over the names in ``known``."""
    if isinstance(expr, tirx.IntImm):
        return str(expr.value)
    if isinstance(expr, tirx.Var):
        if expr.name not in known:
            raise _Unknown(expr.name)
        return known[expr.name]
    if isinstance(expr, tirx.Cast):
        return _python(expr.value, known)
    form = _BINARY.get(type(expr).__name__)
    if form is None:
        raise UnsupportedOnCpu(f"the size {expr} is not made of + - * // % min max")
    return form.format(_python(expr.a, known), _python(expr.b, known))


class _Signature:
    """Writes the launcher of one program, line by line."""

    def __init__(self, program: Any):
        self.params = list(program.params)
        self.buffers = [program.buffer_map.get(p) for p in self.params]
        self.names = [
            b.data.name if b is not None else p.name for p, b in zip(self.params, self.buffers, strict=True)
        ]
        usable = len(set(self.names)) == len(self.names) and all(
            n.isidentifier() and not keyword.iskeyword(n) and not n.startswith("_") for n in self.names
        )
        self.args = list(self.names) if usable else [f"arg{i}" for i in range(len(self.names))]
        scalars = zip(self.names, self.args, self.buffers, strict=True)
        self.known = {name: arg for name, arg, buffer in scalars if buffer is None}
        self.lines: list[str] = []
        self.checks: list[str] = []
        # (argument, "size" or "stride", dimension, Python name, declared expression)
        self.declared: list[tuple[int, str, int, str, Any]] = []

    def tensors(self) -> list[tuple[int, str, Any]]:
        found = zip(range(len(self.args)), self.args, self.buffers, strict=True)
        return [(i, arg, buffer) for i, arg, buffer in found if buffer is not None]

    def unpack(self) -> None:
        """Read every shape, and the strides where they are not those of a contiguous tensor."""
        for i, arg, buffer in self.tensors():
            self.checks.append(f"if {arg}.dtype is not _dtype{i} or not {arg}.is_cpu: _wrong({i}, {arg})")
            for what, want in (("size", buffer.shape), ("stride", buffer.strides)):
                if what == "stride" and contiguous(buffer):
                    self.checks.append(f"if not {arg}.is_contiguous(): _scattered({i}, {arg})")
                    continue
                names = [f"_{what}{i}_{d}" for d in range(len(want))]
                read = f"{arg}.shape" if what == "size" else f"{arg}.stride()"
                self.lines.append(f"({''.join(n + ', ' for n in names)}) = {read}")
                self.declared += [(i, what, d, n, want[d]) for d, n in enumerate(names)]

    def solve(self) -> None:
        """Turn every declared size, in order, into the value of a new variable or a check of known ones."""
        for i, what, d, real, want in self.declared:
            if isinstance(want, tirx.Var) and want.name not in self.known:
                self.known[want.name] = real
                if str(want.dtype) == "int32":
                    self.checks.append(f"if {real} > 2147483647: _large({want.name!r}, {real})")
                continue
            try:
                text = _python(want, self.known)
            except _Unknown as unknown:
                text = self.invert(str(unknown), real, want)
            excuse = f" and _size{i}_{d} != 1 and {self.args[i]}.numel()" if what == "stride" else ""
            self.checks.append(f"if {real} != {text}{excuse}: _differs({i}, {what!r}, {d}, {real}, {text})")

    def invert(self, name: str, real: str, want: Any) -> str:
        """Solve ``want == real`` for its unknown, of which it must be a linear function; returns ``want``."""
        try:
            at0, at1 = (_python(want, {**self.known, name: value}) for value in ("0", "1"))
        except _Unknown as second:
            raise UnsupportedOnCpu(f"cannot tell {name} and {second} from a size of {want}") from None
        # Where the factor is 0 (a product with an empty size) any value will do.
        self.lines.append(f"_solved_{name} = ({real} - {at0}) // (({at1} - {at0}) or 1)")
        self.known[name] = f"_solved_{name}"
        return _python(want, self.known)  # the check that follows also catches what does not divide

    def text(self, calls: list[str]) -> str:
        arguments = ", ".join(self.args)
        shapes = "".join(f"        {line}\n" for line in self.lines) or "        pass\n"
        checks = "".join(f"    {line}\n" for line in self.checks)
        launches = "".join(f"        {line}\n" for line in calls)
        return (
            f"def launch({arguments}):\n"
            f"    try:\n{shapes}    except _MISFIT:\n        _shape({arguments})\n        raise\n"
            f"{checks}"
            f"    try:\n{launches}    except _NO_NUMBER:\n        _scalar({arguments})\n        raise\n"
        )


def launcher(program: Any, library: Library) -> Callable[..., None]:
    """A function of the program's arguments, all positional: tensors, and Python numbers for scalars."""
    signature = _Signature(program)
    signature.unpack()
    signature.solve()
    pointers = {
        name: f"{arg}.data_ptr()" for (name, arg) in zip(signature.names, signature.args, strict=True)
    }
    namespace = _reports(signature)
    calls = []
    for n, kernel in enumerate(library.kernels):
        function = getattr(library.lib, kernel["symbol"])
        function.argtypes = [ctypes.c_void_p if t == "handle" else _SCALARS[t] for _, t in kernel["params"]]
        function.restype = None
        namespace[f"_kernel{n}"] = function
        values = [pointers[name] if t == "handle" else signature.known[name] for name, t in kernel["params"]]
        calls.append(f"_kernel{n}({', '.join(values)})")
    if "tl_check(" in library.source:
        namespace["_take_failed"] = library.lib.tl_take_failed
        calls.append("if _take_failed(): raise AssertionError('T.device_assert failed')")
    text, file = (
        signature.text(calls),
        f"<tileops launcher {library.kernels[0]['symbol']} {id(library.lib):x}>",
    )
    exec(compile(text, file, "exec"), namespace)
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)  # for tracebacks
    return namespace["launch"]


def _reports(signature: _Signature) -> dict[str, Any]:
    """What the launcher calls when an argument does not fit: each raises ``ValueError`` and names it."""
    names = signature.names

    def misfit(i: int, problem: str) -> NoReturn:
        raise ValueError(f"argument {names[i]}: {problem}") from None

    def wrong(i: int, value: Any) -> None:
        want = _torch_dtype(signature.buffers[i].dtype)
        got = f"{value.dtype} on {value.device}" if isinstance(value, torch.Tensor) else type(value).__name__
        misfit(i, f"expected a {want} CPU tensor, got {got}")

    def shape(*args: Any) -> None:
        for i, _, buffer in signature.tensors():
            if not isinstance(args[i], torch.Tensor):
                wrong(i, args[i])
            if args[i].dim() != len(buffer.shape):
                misfit(i, f"expected {len(buffer.shape)} dimensions, got {args[i].dim()}")

    def scalar(*args: Any) -> None:
        for i, (value, param) in enumerate(zip(args, signature.params, strict=True)):
            number = int if "int" in str(param.dtype) else (int, float)
            if signature.buffers[i] is None and not isinstance(value, number):
                misfit(i, f"expected a number ({param.dtype}), got {type(value).__name__}")

    def differs(i: int, what: str, d: int, got: int, want: int) -> None:
        misfit(i, f"{what} {got} in dimension {d}, expected {want}")

    def scattered(i: int, value: torch.Tensor) -> None:
        misfit(i, f"expected a contiguous tensor, got strides {value.stride()}")

    def large(name: str, value: int) -> None:
        raise ValueError(f"size {name} = {value} needs T.dynamic({name!r}, 'int64')")

    dtypes = {f"_dtype{i}": _torch_dtype(buffer.dtype) for i, _, buffer in signature.tensors()}
    return dtypes | {
        "_MISFIT": (AttributeError, TypeError, ValueError),
        "_NO_NUMBER": ctypes.ArgumentError,
        "_shape": shape,
        "_scalar": scalar,
        "_wrong": wrong,
        "_differs": differs,
        "_scattered": scattered,
        "_large": large,
    }
