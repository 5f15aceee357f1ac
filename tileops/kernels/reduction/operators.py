"""What a reduction computes: a state, how elements enter it, how two states join, what comes of it.

A lane takes the elements that it reads itself into a state of `parts` numbers; states are joined in a fixed
order. Most operators have one number and one expression for both; moments, the sum of exponentials and the
position of the largest element have two or three.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tilelang.language as T

F32, I32, I64 = "float32", "int32", "int64"
LOG2E = math.log2(math.e)
FLOATS = ("float16", "bfloat16", "float32")
Parts = tuple[Any, ...]


@dataclass(frozen=True)
class Reduction:
    """One operator over elements of one dtype.

    Attributes:
        out: Dtype of the results.
        acc: Dtype of the state.
        empty: The state of no elements.
        join: The state of two runs from theirs; the first comes before the second.
        finish: The results from the state and a divisor.
        load: An element as it enters the state; for one of one part it is joined at once.
        kind: How a lane takes a batch of elements: `fold` joins one by one, others have a macro of their own.
        padded: Whether a 0 that stands for no element changes nothing.
        nothing: The result over no elements.
        outputs: How many results there are.
    """

    out: str
    acc: str
    empty: Parts
    join: Callable[[Parts, Parts], Parts]
    finish: Callable[[Parts, Any], Parts]
    load: Callable[[Any], Any]
    kind: str = "fold"
    padded: bool = False
    nothing: float = 0.0
    outputs: int = 1

    @property
    def parts(self) -> int:
        """Numbers in a state."""
        return len(self.empty)


def wide(dtype: str) -> str:
    """The dtype in which elements are compared: small integers are 32 bits."""
    return F32 if dtype in FLOATS else dtype if dtype == I64 else I32


def limits(acc: str) -> tuple[Any, Any]:
    """The least and the largest value."""
    if acc == F32:
        return -T.infinity(F32), T.infinity(F32)
    return T.min_value(acc), T.max_value(acc)


def largest(a: Any, b: Any) -> Any:
    """The larger of two numbers, or NaN if one is: `a` is kept when they are equal."""
    if a.dtype != F32:
        return T.max(a, b)
    return T.if_then_else(b > a, b, T.if_then_else(b != b, b, a))


def smallest(a: Any, b: Any) -> Any:
    """The smaller of two numbers, or NaN if one is."""
    if a.dtype != F32:
        return T.min(a, b)
    return T.if_then_else(b < a, b, T.if_then_else(b != b, b, a))


def _one(step: Callable[[Any, Any], Any]) -> Callable[[Parts, Parts], Parts]:
    return lambda a, b: (step(a[0], b[0]),)


def _fold(
    dtype: str,
    step: Callable[[Any, Any], Any],
    empty: Any,
    load: Callable[[Any], Any] = lambda x: x,
    acc: str | None = None,
    **more: Any,
) -> Reduction:
    """An operator of one part; sums and products of integers are 64 bits."""
    total = F32 if dtype in FLOATS else I64
    out = dtype if acc or total == F32 else I64
    acc = acc or total
    fields = {"out": out, "finish": lambda state, _: state, **more}
    return Reduction(acc=acc, empty=(empty,), join=_one(step), load=lambda x: load(T.cast(x, acc)), **fields)


def _total(dtype: str, load: Callable[[Any], Any] = lambda x: x, **more: Any) -> Reduction:
    return _fold(dtype, lambda a, b: a + b, 0, load, padded=True, **more)


def _extreme(dtype: str, step: Callable[[Any, Any], Any], low: int) -> Reduction:
    return _fold(dtype, step, limits(wide(dtype))[low], acc=wide(dtype))


OPERATORS: dict[str, Callable[[str], Reduction]] = {
    "SumFwdOp": _total,
    "MeanFwdOp": lambda t: _total(t, finish=lambda state, n: (state[0] / n,), nothing=math.nan),
    "ProdFwdOp": lambda t: _fold(t, lambda a, b: a * b, 1, nothing=1),
    "AmaxFwdOp": lambda t: _extreme(t, largest, 0),
    "AminFwdOp": lambda t: _extreme(t, smallest, 1),
}
