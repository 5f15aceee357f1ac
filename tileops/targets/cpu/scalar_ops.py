"""Scalar operators that TileLang's C backend does not know, in terms of ones that it does."""

from collections.abc import Callable
from typing import Any

from .._tilelang import tirx
from .narrow import cast

__all__ = ["SCALAR_OPS", "combine", "identity"]


def identity(kind: str, dtype: str) -> Any:
    """Neutral element of a reduction."""
    kind = kind.removesuffix("_nan")
    if kind in ("max", "min"):
        if dtype.startswith("float"):
            return tirx.infinity(dtype) if kind == "min" else tirx.const(0, dtype) - tirx.infinity(dtype)
        return tirx.min_value(dtype) if kind == "max" else tirx.max_value(dtype)
    if kind == "bitand":
        return tirx.const(1, dtype) if dtype == "bool" else tirx.bitwise_not(tirx.const(0, dtype))
    return tirx.const(0, dtype)


def combine(kind: str, a: Any, b: Any) -> Any:
    """One step of a reduction. Without ``_nan`` a NaN loses against a number, as on the GPU."""
    b = cast(b, a.dtype)
    if kind.startswith("abs"):
        b, kind = (_libm("fabs", b) if "float" in str(b.dtype) else tirx.abs(b)), kind[3:]
    if kind == "sum":
        return a + b
    if kind in ("max_nan", "min_nan") or (kind in ("max", "min") and str(a.dtype) in ("float32", "float64")):
        return tirx.call_pure_extern(a.dtype, f"tl_{kind}_{a.dtype}", a, b)
    if kind in ("max", "min"):
        return tirx.Max(a, b) if kind == "max" else tirx.Min(a, b)
    return {"bitand": tirx.bitwise_and, "bitor": tirx.bitwise_or, "bitxor": tirx.bitwise_xor}[kind](a, b)


def _libm(name: str, *args: Any) -> Any:
    dtype = str(args[0].dtype)
    suffix = "" if dtype == "float64" else "f"
    return tirx.call_pure_extern(dtype, name + suffix, *(cast(a, dtype) for a in args))


def _math(name: str) -> Callable[..., Any]:
    """A function of math.h; what TileLang passes beyond its arguments is a rounding mode."""
    count = {"fma": 3, "fmod": 2}.get(name, 1)
    return lambda *args: _libm(name, *args[:count])


def _bits(x: Any) -> Any:
    """An integer as uint64, without sign extension."""
    return tirx.Cast("uint64", tirx.Cast(f"uint{x.dtype.bits}", x))


SCALAR_OPS: dict[str, Callable[..., Any]] = {
    "tirx.round": _math("nearbyint"),
    "tirx.fabs": _math("fabs"),
    "tirx.exp10": _math("exp10"),
    "tirx.fmod": _math("fmod"),
    "tl.ieee_fsqrt": _math("sqrt"),
    "tl.ieee_fmaf": _math("fma"),
    **{f"tl.__{n}": _math(n) for n in ("exp", "exp10", "log", "log2", "log10", "sin", "cos", "tan")},
    "tl.fast_rcp": lambda x: tirx.const(1.0, x.dtype) / x,
    "tl.ieee_frcp": lambda x, _: tirx.const(1.0, x.dtype) / x,
    "tl.ieee_frsqrt": lambda x: tirx.const(1.0, x.dtype) / _libm("sqrt", x),
    "tl.max_nan": lambda a, b: combine("max_nan", a, b),
    "tl.min_nan": lambda a, b: combine("min_nan", a, b),
    "tl.ieee_add": lambda a, b, _: a + b,
    "tl.ieee_sub": lambda a, b, _: a - b,
    "tl.ieee_mul": lambda a, b, _: a * b,
    "tl.ieee_fdiv": lambda a, b, _: tirx.Div(a, b),
    "tirx.isfinite": lambda x: _libm("fabs", x) < tirx.infinity(x.dtype),
    "tirx.popcount": lambda x: tirx.call_pure_extern("int32", "tl_popcount", _bits(x)),
    "tirx.clz": lambda x: tirx.call_pure_extern("int32", "tl_clz", _bits(x), x.dtype.bits),
}
