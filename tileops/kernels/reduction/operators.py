"""What a reduction computes: a state, how elements enter it, how two states join, what comes of it.

A lane takes the elements that it reads itself into a state of `parts` numbers; states are joined in a fixed
order. Most operators have one number, and one expression for both. Moments, sums of exponentials and
positions have two or three numbers, and a macro in `lanes` that takes elements.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import tilelang.language as T
import torch

from tileops.kernels.elements import FLOATS, FLUSH, ITEM_SIZE, UNCHECKED

F32, I32, I64, U32 = "float32", "int32", "int64", "uint32"
LOG2E = math.log2(math.e)
UNCHECKED_FLUSH = {**UNCHECKED, **FLUSH}
Parts = tuple[Any, ...]


@dataclass(frozen=True)
class Reduction:
    """One operator over elements of one dtype.

    Attributes:
        out: Dtype of the results.
        acc: Dtype of the state.
        empty: The state of no elements.
        join: The state of two sets of elements from theirs.
        load: An element as it enters the state.
        finish: The results from the state and a divisor.
        kind: How elements enter: `fold` joins one by one; `moments`, `exponentials`, `position`.
        padded: Whether a 0 that stands for no element changes nothing.
        nothing: The result over no elements.
        alone: The result of one element, where its state has lost it.
        outputs: How many results there are.
        element: Of a position: the dtype in which elements are compared.
    """

    out: str
    acc: str
    empty: Parts
    join: Callable[[Parts, Parts], Parts]
    load: Callable[[Any], Any]
    finish: Callable[[Parts, Any], Parts] = lambda state, _: state
    kind: str = "fold"
    padded: bool = False
    nothing: float = 0.0
    alone: Callable[..., Any] | None = None
    outputs: int = 1
    element: str = F32
    configs: Mapping[str, Any] = field(default_factory=lambda: UNCHECKED)

    @property
    def parts(self) -> int:
        """Numbers in a state."""
        return len(self.empty)

    @property
    def lowest(self) -> Any:
        """Of a position: what no element is below."""
        return limits(self.element)[0]

    def wins(self, new: Any, best: Any) -> Any:
        """Of a position: whether an element is found instead of an earlier one; the first NaN is."""
        if self.element != F32:
            return new > best
        return T.if_then_else(new > best, True, T.if_then_else(T.isnan(best), False, T.isnan(new)))

    def order(self, best: Any) -> Any:
        """Of a position: an integer that is larger for a larger element, and largest for NaN."""
        if self.element != F32:
            return T.cast(best, I64)
        bits = T.if_then_else(best == 0.0, 0, T.reinterpret(best, I32))  # 0 and -0 are equal
        ordered = T.bitwise_xor(bits, T.bitwise_and(T.shift_right(bits, 31), T.int32(0x7FFFFFFF)))
        return T.cast(T.if_then_else(T.isnan(best), T.max_value(I32), ordered), I64)


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
    return T.if_then_else(b > a, b, T.if_then_else(T.isnan(b), b, a))


def smallest(a: Any, b: Any) -> Any:
    """The smaller of two numbers, or NaN if one is."""
    if a.dtype != F32:
        return T.min(a, b)
    return T.if_then_else(b < a, b, T.if_then_else(T.isnan(b), b, a))


def pivot(top: Any) -> Any:
    """What exponentials are relative to: the maximum, or 0 where it is infinite."""
    return T.if_then_else(T.abs(top) == T.infinity(F32), 0.0, top)


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
    out, acc = dtype if acc or total == F32 else I64, acc or total
    join = lambda a, b: (step(a[0], b[0]),)  # noqa: E731
    return Reduction(out, acc, (empty,), join, lambda x: load(T.cast(x, acc)), **more)


def _total(dtype: str, load: Callable[[Any], Any] = lambda x: x, **more: Any) -> Reduction:
    return _fold(dtype, lambda a, b: a + b, 0, load, padded=True, **more)


def _extreme(dtype: str, step: Callable[[Any, Any], Any], low: int) -> Reduction:
    return _fold(dtype, step, limits(wide(dtype))[low], acc=wide(dtype))


def _root(state: Parts, _: Any) -> Parts:
    return (T.sqrt(state[0]),)


# ------------------------------------------------------------------------------------------------- moments
def _join_moments(a: Parts, b: Parts) -> Parts:
    """Counts, means and squared distances of two sets: those of the means are added.

    Where means are too far apart, or infinite, their parts are added; a set of no elements changes nothing.
    """
    count, away = a[0] + b[0], b[1] - a[1]
    share = b[0] / T.max(count, 1.0)
    both, near = a[0] * share, T.abs(away) < T.infinity(F32)
    mean = T.if_then_else(near, a[1] + away * share, a[1] * (1.0 - share) + b[1] * share)
    return count, mean, a[2] + b[2] + T.if_then_else(both > 0.0, (away * both) * away, 0.0)


def _moments(dtype: str, finish: Callable[[Parts, Any], Parts], outputs: int = 1) -> Reduction:
    return Reduction(
        *(dtype, F32, (0.0, 0.0, 0.0), _join_moments, lambda x: T.cast(x, F32), finish),
        kind="moments",
        nothing=math.nan,
        outputs=outputs,
    )


# -------------------------------------------------------------------------------------------- exponentials
def _join_exponentials(a: Parts, b: Parts) -> Parts:
    top = T.max(a[0], b[0])
    first, second = (T.exp2((x[0] - pivot(top)) * LOG2E) * x[1] for x in (a, b))
    return top, first + second


def _log_sum_exp(dtype: str) -> Reduction:
    def finish(state: Parts, _: Any) -> Parts:
        return (pivot(state[0]) + T.log(state[1]),)

    out = dtype if dtype in FLOATS else F32
    return Reduction(
        *(out, F32, (-T.infinity(F32), 0.0), _join_exponentials, lambda x: T.cast(x, F32), finish),
        kind="exponentials",
        nothing=-math.inf,
        configs=UNCHECKED_FLUSH,
    )


# ----------------------------------------------------------------------------------------------- positions
def _join_positions(a: Parts, b: Parts) -> Parts:
    """The position of the larger one, of equals the first."""
    later = T.if_then_else(b[0] == a[0], b[1] < a[1], b[0] > a[0])
    return T.if_then_else(later, b[0], a[0]), T.if_then_else(later, b[1], a[1])


def _position(dtype: str, down: bool) -> Reduction:
    element = wide(dtype)

    def load(x: Any) -> Any:
        x = T.cast(x, element)
        return x if not down else -x if element == F32 else T.bitwise_not(x)

    empty, finish = (T.min_value(I64), T.cast(0, I64)), lambda state, _: (state[1],)
    return Reduction(I64, I64, empty, _join_positions, load, finish, kind="position", element=element)


# ---------------------------------------------------------------------------------------- what is not zero
def _nonzero(x: Any, dtype: str) -> Any:
    """Whether an element is not 0; complex64 comes as its 64 bits, of which two are signs."""
    if dtype == "complex64":
        return T.cast(T.bitwise_and(x, T.int64(0x7FFFFFFF7FFFFFFF)), "bool")
    return T.cast(T.cast(x, wide(dtype)), "bool")


def _truth(dtype: str, step: Callable[[Any, Any], Any], empty: int) -> Reduction:
    return Reduction(
        "uint8" if dtype == "uint8" else "bool",
        I32,
        (empty,),
        lambda a, b: (step(a[0], b[0]),),
        lambda x: T.cast(_nonzero(x, dtype), I32),
        padded=empty == 0,
        nothing=empty,
    )


def _count(dtype: str) -> Reduction:
    def load(x: Any) -> Any:
        return T.cast(_nonzero(x, dtype), I64)

    return Reduction(I64, I64, (T.cast(0, I64),), lambda a, b: (a[0] + b[0],), load, padded=True)


OPERATORS: dict[str, Callable[[str], Reduction]] = {
    "SumFwdOp": _total,
    "MeanFwdOp": lambda t: _total(t, finish=lambda state, n: (state[0] / n,), nothing=math.nan),
    "ProdFwdOp": lambda t: _fold(t, lambda a, b: a * b, 1, nothing=1),
    "AmaxFwdOp": lambda t: _extreme(t, largest, 0),
    "AminFwdOp": lambda t: _extreme(t, smallest, 1),
    "ArgmaxFwdOp": lambda t: _position(t, False),
    "ArgminFwdOp": lambda t: _position(t, True),
    "VarFwdOp": lambda t: _moments(t, lambda state, n: (state[2] / n,)),
    "StdFwdOp": lambda t: _moments(t, lambda state, n: (T.sqrt(state[2] / n),)),
    "VarMeanFwdOp": lambda t: _moments(t, lambda state, n: (state[2] / n, state[1]), 2),
    "LogSumExpFwdOp": _log_sum_exp,
    "AnyFwdOp": lambda t: _truth(t, T.bitwise_or, 0),
    "AllFwdOp": lambda t: _truth(t, T.bitwise_and, 1),
    "CountNonzeroFwdOp": _count,
    "L1NormFwdOp": lambda t: _total(t, T.abs),
    "L2NormFwdOp": lambda t: _total(t, lambda x: x * x, finish=_root, alone=torch.abs),
    "InfNormFwdOp": lambda t: _fold(t, largest, 0, T.abs, padded=True),
}


def _flags(dtype: str) -> tuple[Callable[[Any], Any], Any]:
    """A word to the lowest bits of those of its elements that are not 0, and the lowest bits of all.

    Without its highest bit an element is not 0 just when it carries into that bit; of integers it counts. The
    sum is unsigned: CUDA takes one of positive integers to be positive, and so its highest bit to be 0.
    """
    bits = 8 * ITEM_SIZE[dtype]
    low = sum(1 << (bits * n) for n in range(32 // bits))
    rest = T.cast(low * ((1 << (bits - 1)) - 1), U32)

    def flags(v: Any) -> Any:
        v = T.cast(v, U32)
        carried = T.bitwise_and(v, rest) + rest
        high = carried if dtype in FLOATS else T.bitwise_or(carried, v)
        return T.cast(T.bitwise_and(T.shift_right(high, T.cast(bits - 1, U32)), T.cast(low, U32)), I32)

    return flags, T.int32(low)


def _ones(v: Any, dtype: str) -> Any:
    """How many flags a word has."""
    for shift in (16, 8):
        if shift >= 8 * ITEM_SIZE[dtype]:
            v = v + T.shift_right(v, shift)
    return T.bitwise_and(v, T.int32(7))


def _words(dtype: str, name: str) -> Reduction:
    flags, top = _flags(dtype)
    if name == "CountNonzeroFwdOp":
        return replace(_count(dtype), load=lambda v: T.cast(_ones(flags(v), dtype), I64))
    if name == "AnyFwdOp":
        return replace(
            _truth(dtype, T.bitwise_or, 0), load=flags, finish=lambda s, _: (T.cast(s[0] != 0, I32),)
        )
    every = _truth(dtype, T.bitwise_and, 1)
    return replace(
        every, empty=(-1,), load=flags, finish=lambda s, _: (T.cast(T.bitwise_and(s[0], top) == top, I32),)
    )


WORDS: dict[str, Callable[[str], Reduction]] = {
    name: lambda dtype, name=name: _words(dtype, name)  # type: ignore[misc]
    for name in ("AllFwdOp", "AnyFwdOp", "CountNonzeroFwdOp")
}
"""Operators of rows of elements of up to 32 bits, read by the word."""
