"""What each unary operator does to one element.

`FLOAT` works on a float32 value; `half` says that the result is rounded to 16 bits, so that an exponential
and a quotient of fewer instructions are as good. `INTEGER` works on an integer in its own dtype, its second
argument; where the output is a float, integers are converted to float32 instead. `NUMBERS` makes the three
numbers of a launch from the dtype and the params.
"""

import math
from collections.abc import Callable
from typing import Any

import tilelang.language as T

LOG2_E, SQRT_HALF, SQRT_2_PI = math.log2(math.e), math.sqrt(0.5), math.sqrt(2 / math.pi)
TAIL = 0.151225465378, 0.157826875096, 0.0919872133818, 0.188867261344, -0.0899242664148
SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38}
RANGE = {"uint8": (0, 255), **{f"int{b}": (-(1 << b - 1), (1 << b - 1) - 1) for b in (8, 16, 32, 64)}}


def exp(v: Any, half: bool) -> Any:
    """Exponential: for 16 bits one multiplication and the hardware's power of two."""
    return T.exp2(v * LOG2_E) if half else T.exp(v)


def quotient(a: Any, b: Any, half: bool) -> Any:
    """Division: for 16 bits by the hardware's reciprocal."""
    return a * T.fast_rcp(b) if half else a / b


@T.macro
def expm1(v, half):
    """e^v - 1; near zero, where the difference would cancel, a polynomial, or what CUDA and C call expm1f."""
    if half:
        small = v * (1.0 + v * (1 / 2 + v * (1 / 6 + v * (1 / 24))))
        return T.if_then_else(T.abs(v) < 0.0625, small, exp(v, half) - 1.0)
    else:
        return T.call_pure_extern("float32", "expm1f", v)


@T.macro
def log1p(v, u, half):
    """Logarithm of u = 1 + v: for 16 bits the hardware's logarithm, with a polynomial where u is near 1."""
    if half:
        small = v * (1.0 - v * (1 / 2 - v * (1 / 3 - v * (1 / 4 - v * (1 / 5)))))
        return T.if_then_else(T.abs(v) < 0.0625, small, T.__log2(u) * math.log(2))
    else:
        return T.log1p(v)


def bounded(v: Any, low: Any, high: Any) -> Any:
    """The value between bounds, `high` before `low`; NaN stays, which minimum and maximum would drop."""
    return T.if_then_else(T.isnan(v), v, T.min(T.max(v, low), high))


def sigmoid(v: Any, half: bool) -> Any:
    """The logistic function; the exponential is at most 1, so that neither end overflows."""
    small = exp(-T.abs(v), half)
    return quotient(T.if_then_else(v < 0.0, small, 1.0), 1.0 + small, half)


def silu(v: Any, half: bool) -> Any:
    """The value times its sigmoid."""
    return v * sigmoid(v, half)


@T.macro
def gelu(v, half):
    """The exact form. For 16 bits the normal distribution beyond |v| is a polynomial times its density.

    Its relative error, 4e-5, is the same far out, where 1 + erf keeps nothing.
    """
    if half:
        t = T.fast_rcp(1.0 + 0.38 * T.abs(v))
        sum = t * (TAIL[0] + t * (TAIL[1] + t * (TAIL[2] + t * (TAIL[3] + t * TAIL[4]))))
        beyond = sum * T.exp2(v * v * (-LOG2_E / 2))
        return v * T.if_then_else(v < 0.0, beyond, 1.0 - beyond)
    else:
        return 0.5 * v * (1.0 + T.erf(v * SQRT_HALF))


def gelu_tanh(v: Any, half: bool) -> Any:
    """The form with tanh; (1 + tanh u) / 2 is the sigmoid of 2u."""
    u = SQRT_2_PI * (v + 0.044715 * v * v * v)
    return v * sigmoid(2.0 * u, half) if half else 0.5 * v * (1.0 + T.tanh(u))


@T.macro
def mish(v, half):
    """With w = e^x, tanh(log(1 + w)) is w (w + 2) / (w (w + 2) + 2); nothing cancels. Above 20 it is 1."""
    w = exp(T.min(v, 20.0), half)
    y = v * quotient(w * (w + 2.0), w * (w + 2.0) + 2.0, half)
    return T.if_then_else(v > 20.0, v, y)


@T.macro
def elu(v, half, alpha):
    """The identity from zero on, whatever `alpha` is."""
    y = alpha * expm1(v, half)
    return T.if_then_else(v < 0.0, y, v)


@T.macro
def softplus(v, half, beta, threshold, inverse):
    """The identity above the threshold."""
    w = exp(v * beta, half)
    y = log1p(w, 1.0 + w, half) * inverse
    return T.if_then_else(v * beta > threshold, v, y)


def nan_to_num(v: Any, nan: Any, positive: Any, negative: Any) -> Any:
    """Replacements for what is not finite."""
    infinite = T.if_then_else(v > 0.0, positive, negative)
    return T.if_then_else(T.isnan(v), nan, T.if_then_else(T.abs(v) == T.infinity("float32"), infinite, v))


def sign(v: Any) -> Any:
    """-1, 0 or 1; 0 for NaN."""
    return T.if_then_else(
        v > 0, T.cast(1, v.dtype), T.if_then_else(v < 0, T.cast(-1, v.dtype), T.cast(0, v.dtype))
    )


TESTS = ("LogicalNot", "Isnan", "Isinf", "Isfinite")  # what they say of an element is true or false

FLOAT: dict[str, Callable[..., Any]] = {
    "Exp": lambda v, half: exp(v, half),
    "Expm1": expm1,
    "Log": lambda v, half: log1p(v - 1.0, v, half) if half else T.log(v),
    "Log1p": lambda v, half: log1p(v, 1.0 + v, half),
    "Sqrt": lambda v, half: T.sqrt(v),
    "Rsqrt": lambda v, half: T.rsqrt(v),
    "Reciprocal": lambda v, half: 1.0 / v,
    "Sin": lambda v, half: T.sin(v),
    "Cos": lambda v, half: T.cos(v),
    "Tanh": lambda v, half: T.tanh(v),
    "Sigmoid": sigmoid,
    "Erf": lambda v, half: T.erf(v),
    "Abs": lambda v, half: T.abs(v),
    "Neg": lambda v, half: -v,
    "Sign": lambda v, half: sign(v),
    "Floor": lambda v, half: T.floor(v),
    "Ceil": lambda v, half: T.ceil(v),
    "Trunc": lambda v, half: T.trunc(v),
    "Round": lambda v, half: T.nearbyint(v),
    "RoundTo": lambda v, half, up, down, _: T.nearbyint(v * up / down) * down / up,
    "LogicalNot": lambda v, half: v == 0.0,
    "Isnan": lambda v, half: T.isnan(v),
    "Isinf": lambda v, half: T.abs(v) == T.infinity("float32"),
    "Isfinite": lambda v, half: T.abs(v) < T.infinity("float32"),
    "NanToNum": lambda v, half, *numbers: nan_to_num(v, *numbers),
    "ClampScalar": lambda v, half, low, high, one: bounded(v, low, high) * one,
    "Hardtanh": lambda v, half, low, high, one: bounded(v, low, high) * one,
    "Relu": lambda v, half: T.if_then_else(v < 0.0, 0.0, v),
    "LeakyRelu": lambda v, half, slope, *_: T.if_then_else(v > 0.0, v, v * slope),
    "Elu": lambda v, half, alpha, *_: elu(v, half, alpha),
    "Selu": lambda v, half: SELU_SCALE * elu(v, half, SELU_ALPHA),
    "Hardsigmoid": lambda v, half: bounded(v + 3.0, 0.0, 6.0) * (1 / 6),
    "Hardswish": lambda v, half: v * (bounded(v + 3.0, 0.0, 6.0) * (1 / 6)),
    "Silu": silu,
    "Gelu": gelu,
    "GeluTanh": gelu_tanh,
    "Mish": mish,
    "Softplus": softplus,
}


def negated(x: Any, dtype: str) -> Any:
    """-x, which wraps at the smallest integer: unsigned arithmetic is defined there."""
    unsigned = "uint" + dtype.removeprefix("u").removeprefix("int")
    return T.cast(T.cast(0, unsigned) - T.cast(x, unsigned), dtype)


def bounded_integer(x: Any, dtype: str, low: Any, high: Any, _: Any) -> Any:
    """The bounds are 64 bits wide and within the range of the dtype."""
    return T.cast(T.min(T.max(T.cast(x, "int64"), low), high), dtype)


INTEGER: dict[str, Callable[..., Any]] = {
    "Abs": lambda x, dtype: x if dtype == "uint8" else T.if_then_else(x < 0, negated(x, dtype), x),
    "Neg": negated,
    "Sign": lambda x, dtype: x if dtype == "bool" else sign(x) if dtype != "uint8" else T.cast(x > 0, dtype),
    "Relu": lambda x, dtype: x if dtype == "uint8" else T.if_then_else(x < 0, T.cast(0, dtype), x),
    "ClampScalar": bounded_integer,
    "Hardtanh": bounded_integer,
    "LogicalNot": lambda x, dtype: x == T.cast(0, x.dtype),
    "BitwiseNot": lambda x, dtype: (
        x ^ T.cast(1 if dtype == "bool" else 255 if dtype == "uint8" else -1, x.dtype)
    ),
    "Isnan": lambda x, dtype: T.bool(False),
    "Isinf": lambda x, dtype: T.bool(False),
    "Isfinite": lambda x, dtype: T.bool(True),
    **dict.fromkeys(("Floor", "Ceil", "Trunc", "Round", "NanToNum"), lambda x, dtype, *_: x),
}


def _bounds(dtype: str, low: Any, high: Any) -> tuple[Any, Any, Any]:
    """Absent bounds are the ends of the dtype's range; of an integer's bounds only whole parts count.

    The third number is 1, or NaN where a bound is NaN: what a result is multiplied by.
    """
    if dtype in RANGE:
        least, most = RANGE[dtype]
        low, high = least if low is None else int(low), most if high is None else int(high)
        return min(max(low, least), most), min(max(high, least), most), 0
    low, high = -math.inf if low is None else low, math.inf if high is None else high
    return low, high, math.nan if math.isnan(low) or math.isnan(high) else 1.0


def _replacements(dtype: str, nan: float, posinf: float | None, neginf: float | None) -> tuple[Any, Any, Any]:
    """The largest finite values stand for the infinities."""
    most = LARGEST.get(dtype, 0.0)
    return nan, most if posinf is None else posinf, -most if neginf is None else neginf


def _tens(dtype: str, decimals: int) -> tuple[float, float, float]:
    """The power of ten above or below the fraction bar; the other is 1, and exact."""
    power = 10.0 ** min(abs(decimals), 39)
    return (power, 1.0, 0.0) if decimals > 0 else (1.0, power, 0.0)


NUMBERS: dict[str, Callable[..., tuple[Any, Any, Any]]] = {
    "ClampScalar": _bounds,
    "Hardtanh": _bounds,
    "NanToNum": _replacements,
    "RoundTo": _tens,
    "LeakyRelu": lambda dtype, slope: (slope, 0.0, 0.0),
    "Elu": lambda dtype, alpha: (alpha, 0.0, 0.0),
    "Softplus": lambda dtype, beta, threshold: (beta, threshold, 1 / beta if beta else math.inf),
}
