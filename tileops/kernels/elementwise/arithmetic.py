"""What each operator of two or three operands does to one element.

`OPERATORS` take the elements as they lie in memory (a bool is a byte), of two the number of the launch, and
the operands' dtype. Floats are computed in float32. Integers wrap: they are added and multiplied without a
sign, which is defined at the ends of their range.
"""

from collections.abc import Callable
from typing import Any

import tilelang.language as T

from tileops.kernels.elements import FLOATS


def number(x: Any, dtype: str) -> Any:
    """The operand as it is computed with: float32, or an integer of at least 32 bits."""
    wide = "float32" if dtype in FLOATS else dtype if dtype in ("int32", "int64") else "int32"
    return T.cast(x, wide)


def unsigned(x: Any, dtype: str) -> Any:
    """The integer without its sign."""
    return T.cast(x, "uint64" if dtype == "int64" else "uint32")


def add(a: Any, b: Any, alpha: Any, dtype: str, sign: int = 1) -> Any:
    """The sum a + alpha b; of bools, whether any of it is true."""
    if dtype == "bool":
        return (T.cast(a, "int32") | (T.cast(b, "int32") & T.cast(alpha != 0, "int32"))) != 0
    if dtype in FLOATS:
        return number(a, dtype) + number(b, dtype) * alpha * float(sign)
    scaled = unsigned(b, dtype) * unsigned(alpha, dtype)
    return unsigned(a, dtype) + scaled if sign > 0 else unsigned(a, dtype) - scaled


def multiply(a: Any, b: Any, _: Any, dtype: str) -> Any:
    """The product; of bools, whether both are true."""
    if dtype in FLOATS:
        return number(a, dtype) * number(b, dtype)
    return unsigned(a, dtype) * unsigned(b, dtype)


def true_quotient(a: Any, b: Any, *_: Any) -> Any:
    """The quotient in float32, of integers too."""
    return T.cast(a, "float32") / T.cast(b, "float32")


def differs(r: Any, b: Any) -> Any:
    """Whether a remainder has another sign than the divisor, and is not 0."""
    return T.bitwise_and(T.cast(r != 0, "int32"), T.cast((r < 0) != (b < 0), "int32")) != 0


@T.macro
def integer_quotient(a, b, wide, signless, rest):
    """The quotient rounded down, or what it leaves: 0 and -1 are no divisors, since processors may trap.

    Variables, and not one expression: TileLang would try for seconds to simplify it.
    """
    x, y, d, q, r = (T.alloc_var(wide) for _ in range(5))
    x = a
    y = b
    d = T.if_then_else(y == 0, T.cast(1, wide), T.if_then_else(y == -1, T.cast(1, wide), y))
    q = T.truncdiv(x, d)
    r = x - q * d
    if rest:
        if y == 0:
            r = x
        elif differs(r, y):
            r = r + y
    else:
        if y == 0:
            q = T.cast(-1, wide)
        elif y == -1:
            q = T.cast(T.cast(0, signless) - T.cast(x, signless), wide)
        elif differs(r, y):
            q = q - T.cast(1, wide)
    return r if rest else q


@T.macro
def float_quotient(a, b, rest):
    """The same of floats, from the exact remainder."""
    x, y, q, r = (T.alloc_var("float32") for _ in range(4))
    x = a
    y = b
    r = T.fmod(x, y)
    if rest:
        if differs(r, y):
            r = r + y
    else:
        q = (x - r) / y
        if differs(r, y):
            q = q - 1.0
        if y == 0.0:
            q = x / y
        elif q != 0.0:
            r = T.floor(q)
            q = r + T.if_then_else(q - r > 0.5, 1.0, 0.0)
        else:
            q = T.copysign(0.0, x / y)
    return r if rest else q


def floor_quotient(a: Any, b: Any, _: Any, dtype: str, rest: bool = False) -> Any:
    """The largest integer that is not above a / b; the all-ones integer for b = 0."""
    a, b = number(a, dtype), number(b, dtype)
    return (
        float_quotient(a, b, rest)
        if dtype in FLOATS
        else integer_quotient(a, b, a.dtype, "u" + str(a.dtype), rest)
    )


def trunc_quotient(a: Any, b: Any, *_: Any) -> Any:
    """The quotient towards zero."""
    return T.trunc(true_quotient(a, b))


def remainder(a: Any, b: Any, _: Any, dtype: str) -> Any:
    """What `floor_quotient` times b leaves of a: it has the sign of b. For an integer b = 0 it is a."""
    return floor_quotient(a, b, _, dtype, True)


@T.macro
def integer_power(a, b, wide, signless):
    """The power a^b that wraps, by squaring; a negative exponent leaves 1, -1 and 0."""
    result, base = T.alloc_var(signless), T.alloc_var(signless)
    left = T.alloc_var(wide)
    result = T.cast(1, signless)
    base = T.cast(a, signless)
    left = T.if_then_else(b < 0, b & 1, b)
    while left > 0:
        if left % 2 == 1:
            result = result * base
        base = base * base
        left = left // 2
    unit = T.bitwise_or(T.cast(a == 1, "int32"), T.cast(a == -1, "int32")) != 0
    return T.if_then_else(
        b >= 0, T.cast(result, wide), T.if_then_else(unit, T.cast(result, wide), T.cast(0, wide))
    )


def power(a: Any, b: Any, _: Any, dtype: str) -> Any:
    """The power."""
    a, b = number(a, dtype), number(b, dtype)
    return T.pow(a, b) if dtype in FLOATS else integer_power(a, b, a.dtype, "u" + str(a.dtype))


def lerp(a: Any, b: Any, weight: Any, _: str = "") -> Any:
    """From a to b, computed from the nearer end."""
    a, b = T.cast(a, "float32"), T.cast(b, "float32")
    near = T.abs(weight) < 0.5
    return T.if_then_else(near, a + weight * (b - a), b - (b - a) * (1.0 - weight))


def extreme(a: Any, b: Any, dtype: str, largest: bool) -> Any:
    """The larger or the smaller of the two; a NaN wins."""
    x, y = number(a, dtype), number(b, dtype)
    better = x > y if largest else x < y
    if dtype not in FLOATS:
        return T.if_then_else(better, a, b)
    return T.if_then_else(better, a, T.if_then_else(T.isnan(x), a, b))


def compared(test: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """A comparison of the two."""
    return lambda a, b, _, dtype: test(number(a, dtype), number(b, dtype))


def truths(join: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Logic on whether the two are not 0; a NaN is not."""
    return lambda a, b, _, dtype: (
        join(T.cast(number(a, dtype) != 0, "int32"), T.cast(number(b, dtype) != 0, "int32")) != 0
    )


def prelu(a: Any, weight: Any, *_: Any) -> Any:
    """The value a, or a times the weight where a is not above 0."""
    x = T.cast(a, "float32")
    return T.if_then_else(x > 0.0, x, T.cast(weight, "float32") * x)


OPERATORS: dict[str, Callable[..., Any]] = {
    "Add": add,
    "Sub": lambda a, b, alpha, dtype: add(a, b, alpha, dtype, -1),
    "Mul": multiply,
    "Div": true_quotient,
    "DivFloor": floor_quotient,
    "DivTrunc": trunc_quotient,
    "FloorDivide": floor_quotient,
    "Remainder": remainder,
    "Pow": power,
    "Lerp": lerp,
    "Maximum": lambda a, b, _, dtype: extreme(a, b, dtype, True),
    "Minimum": lambda a, b, _, dtype: extreme(a, b, dtype, False),
    "Eq": compared(lambda a, b: a == b),
    "Ne": compared(lambda a, b: a != b),
    "Gt": compared(lambda a, b: a > b),
    "Lt": compared(lambda a, b: a < b),
    "Ge": compared(lambda a, b: a >= b),
    "Le": compared(lambda a, b: a <= b),
    "LogicalAnd": truths(T.bitwise_and),
    "LogicalOr": truths(T.bitwise_or),
    "BitwiseAnd": lambda a, b, *_: T.bitwise_and(a, b),
    "BitwiseOr": lambda a, b, *_: T.bitwise_or(a, b),
    "BitwiseXor": lambda a, b, *_: T.bitwise_xor(a, b),
    "MaskedFillScalar": lambda a, mask, value, _: T.if_then_else(mask != 0, T.cast(value, a.dtype), a),
    "Prelu": prelu,
    "LerpTensor": lambda a, b, weight, _: lerp(a, b, T.cast(weight, "float32")),
    "Where": lambda condition, a, b, _: T.if_then_else(condition != 0, a, b),
    "MaskedFill": lambda a, mask, value, _: T.if_then_else(mask != 0, value, a),
    "Clamp": lambda a, low, high, dtype: extreme(extreme(a, low, dtype, True), high, dtype, False),
}
"""By operator: (a, b, a third or the launch's number, dtype) to the result."""
