"""What the programs of several operands share: 16-byte vectors, and where an element lies."""

from collections.abc import Callable
from typing import Any

import tilelang.language as T

from tileops.kernel import Key
from tileops.kernels.elementwise.arithmetic import FLOATS

SIZES = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2, "int16": 2}
WIDE = {"float32": "float4", "int64": "longlong2", **dict.fromkeys(("int8", "int16", "int32"), "int4")}
UNCHECKED = {"tl.disable_safe_memory_legalize": True}
"""Bounds are those of the result, and operands are read where broadcasting puts them: no further checks."""


def vector(key: Key) -> int:
    """Elements of 16 bytes of the largest dtype."""
    return 16 // max(SIZES.get(dtype, 1) for _, dtype in key.dtypes)


def stored(dtype: str) -> str:
    """The dtype of a tensor's elements in registers: there are no vectors of bool."""
    return "uint8" if dtype == "bool" else dtype


def claims(key: Key) -> tuple[str, ...]:
    """How CUDA spells 16 bytes of the largest dtype."""
    largest = max((dtype for _, dtype in key.dtypes), key=lambda dtype: SIZES.get(dtype, 1))
    return (WIDE.get(largest, "uint4"),)


def number(dtype: str) -> tuple[Any, Callable[[Any], int | float]]:
    """The type of a launch's number beside tensors of this dtype, and what makes it of a param."""
    if dtype in FLOATS:
        return T.float32, float
    return T.int64, (lambda value: int(bool(value))) if dtype == "bool" else _wrapped


def _wrapped(value: float) -> int:
    """The whole part in 64 bits."""
    return (int(value) + 2**63) % 2**64 - 2**63


def quotient(i, reciprocal):
    """``i // size`` for the `reciprocal` of the size, as `broadcasting.reciprocal` makes it."""
    factor = T.cast(T.bitwise_and(reciprocal, 0xFFFFFFFF), "uint64")
    return T.cast(T.shift_right(T.cast(i, "uint64") * factor, T.cast(reciprocal >> 32, "uint64")), "int32")


def place(i, q1, q2, q3, n1, n2, n3, s0, s1, s2, s3):
    """Where element ``i`` of the result lies in an operand, from the quotients by the inner sizes."""
    return q3 * s0 + (q2 - q3 * n1) * s1 + (q1 - q2 * n2) * s2 + (i - q1 * n3) * s3


@T.macro
def read(X, x, p, contiguous, size):
    """``x`` from the vector number ``p``, or from the element number ``p`` that is all of it."""
    if contiguous:
        for v in T.vectorized(size):
            x[v] = X[p * size + v]
    else:
        for v in T.unroll(size):
            x[v] = X[p]
