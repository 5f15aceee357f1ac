"""The functions that expressions of the manifest may call.

Small on purpose: each is total on what its arguments mean, and simple enough to be written in JavaScript.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["FUNCTIONS", "SPLAT_FUNCTIONS", "TENSOR_FUNCTIONS", "ArgumentError", "ShapeError"]

FLOAT32_MAX = (2 - 2**-23) * 2.0**127
LIMIT = 2**31
"""Programs count positions in 32 bits."""


class ShapeError(ValueError):
    """Sizes that a shape function cannot combine."""


class ArgumentError(ShapeError):
    """An argument that no sizes go with: the message says what it must be, and `got` is what came."""

    def __init__(self, must: str, got: Any) -> None:
        super().__init__(must)
        self.got = got


def broadcast(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The broadcast shape, by PyTorch's rule."""
    first = shapes[0]
    if shapes.count(first) == len(shapes):  # most calls
        return tuple(first)
    rank = max(map(len, shapes))
    out = [1] * rank
    for shape in shapes:
        for d, size in enumerate(shape, rank - len(shape)):
            if size == 1 or size == out[d]:
                continue
            if out[d] != 1:
                raise ShapeError(f"shapes {', '.join(map(str, map(tuple, shapes)))} do not broadcast")
            out[d] = size
    return tuple(out)


def axes(shape: Sequence[int], dim: int | Sequence[int] | None) -> tuple[int, ...]:
    """The axes that `dim` names, sorted and not negative; all of them for `None` and for an empty list."""
    if dim is None or (not isinstance(dim, int) and len(dim) == 0):
        return tuple(range(len(shape)))
    rank = max(len(shape), 1)
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    for d in dims:
        if not -rank <= d < rank:
            raise ShapeError(f"dim {d} is out of range for {len(shape)} dimensions")
    found = tuple(sorted(d % rank for d in dims))
    if len(set(found)) != len(found):
        raise ShapeError(f"dim {dim} names an axis twice")
    return found


def reduced(shape: Sequence[int], dim: Any, keepdim: bool = False) -> tuple[int, ...]:
    """The shape after a reduction over `dim`."""
    gone = axes(shape, dim)
    return tuple(1 if i in gone else s for i, s in enumerate(shape) if keepdim or i not in gone)


def folded(shape: Sequence[int], dim: Any) -> tuple[int, ...]:
    """Sizes of `shape` with neighbours merged: kept, reduced, kept, reduced, ..., kept; kept ends may be 1.

    Axes of size 1 belong to their neighbours, so `(outer, reduced, inner)` is all that one axis ever gives.
    """
    gone = axes(shape, dim)
    out = [1]
    for i, size in enumerate(shape):
        if size == 1:
            continue
        if (i in gone) == (len(out) % 2 == 0):  # of the kind of the last one
            out[-1] = out[-1] * size
        else:
            out.append(size)
    if len(out) == 1:
        out.append(1)
    return tuple(out) if len(out) % 2 else (*out, 1)


def ntuple(value: int | Sequence[int], n: int) -> tuple[int, ...]:
    """`value` once for each of `n` dimensions."""
    if isinstance(value, int):
        return (value,) * n
    if len(value) not in (1, n):
        raise ArgumentError("must be one number" + (f" or {_WORDS.get(n, n)}" if n > 1 else ""), value)
    return tuple(value) * n if len(value) == 1 else tuple(value)


_WORDS = {2: "two", 3: "three"}


def _require_counted(
    size: Sequence[int], stride: Any, padding: Any, dilation: Any, pads: Sequence[int]
) -> None:
    """Refuse what leads to positions of the padded input that need more than 31 bits."""
    for value in (stride, dilation):
        if (value if isinstance(value, int) else max(value, default=0)) >= LIMIT:
            raise ArgumentError("must be less than 2**31", value)
    if any(s + 2 * p >= LIMIT for s, p in zip(size, pads, strict=True)):
        raise ArgumentError("must leave each size of the padded input less than 2**31", padding)


def conv(size: Sequence[int], kernel: Any, stride: Any, padding: Any, dilation: Any) -> tuple[int, ...]:
    """Spatial sizes after a convolution; `padding` may be `"same"` or `"valid"`."""
    n = len(size)
    k, st, d = ntuple(kernel, n), ntuple(stride, n), ntuple(dilation, n)
    p = ntuple(0 if padding in ("same", "valid") else padding, n)
    _require_counted(size, stride, padding, dilation, p)
    if padding == "same":
        return tuple(size)
    return tuple((size[i] + 2 * p[i] - d[i] * (k[i] - 1) - 1) // st[i] + 1 for i in range(n))


def pooled(
    size: Sequence[int],
    kernel: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> tuple[int, ...]:
    """Spatial sizes after pooling, by PyTorch's rule: no window starts in the right padding."""
    n = len(size)
    k = ntuple(kernel, n)
    st = k if stride is None or stride == () else ntuple(stride, n)
    p, d = ntuple(padding, n), ntuple(dilation, n)
    _require_counted(size, stride or 0, padding, dilation, p)
    out = []
    for i in range(n):
        span = size[i] + 2 * p[i] - d[i] * (k[i] - 1) - 1
        count = (-(-span // st[i]) if ceil_mode else span // st[i]) + 1
        out.append(count - 1 if ceil_mode and (count - 1) * st[i] >= size[i] + p[i] else count)
    return tuple(out)


def adaptive(size: Sequence[int], output_size: Any) -> tuple[int, ...]:
    """Spatial sizes after adaptive pooling; `None` keeps a size."""
    n = len(size)
    if not isinstance(output_size, (int, type(None))) and len(output_size) != n:
        raise ArgumentError(f"must be one number, {_WORDS.get(n, n)} of them, or None", output_size)
    wanted = (None,) * n if output_size is None else ntuple(output_size, n)
    return tuple(s if o is None else o for s, o in zip(size, wanted, strict=True))


def ceildiv(a: int, b: int) -> int:
    """Smallest integer that is not below `a / b`."""
    return -(-a // b)


def pow2ceil(n: int) -> int:
    """Smallest power of two that is not below `n`; 1 for 0."""
    return 1 << max(n - 1, 0).bit_length()


def finite(number: float) -> bool:
    """Whether a float32, as programs take numbers, holds it without becoming infinite."""
    return abs(number) <= FLOAT32_MAX


def prod(sizes: Sequence[int]) -> int:
    """Product; 1 for nothing."""
    out = 1
    for size in sizes:  # not math.prod, which does not take symbolic sizes
        out = out * size
    return out


def visible(rows: int, columns: int, causal: bool, left: int, right: int) -> int:
    """(query, key) pairs that attention sees: query i stands at key i + columns - rows.

    Query i sees keys `first_i <= j < end_i`. Both bounds move one key a query between 0 and `columns`, so the
    sum over queries is a difference of two such ramps.
    """
    offset = columns - rows
    ahead = 0 if causal else right
    ends = rows * columns if ahead < 0 else _ramp(rows, offset + ahead + 1, columns)
    return ends - (0 if left < 0 else _ramp(rows, offset - left, columns))


def _ramp(n: int, start: int, top: int) -> int:
    """Sum over i < n of start + i, held between 0 and top."""

    def below(x: int) -> int:
        """Sum of the values at positions before x."""
        inside = min(max(x, 0), top)
        return inside * (inside - 1) // 2 + max(x - top, 0) * top

    return below(start + n) - below(start)


SPLAT_FUNCTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f for f in (broadcast, reduced, conv, pooled, adaptive, axes, folded, ntuple)
}
"""Functions that return a tuple of sizes."""

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **SPLAT_FUNCTIONS,
    **{f.__name__: f for f in (ceildiv, pow2ceil, prod, visible, len, max, min, abs)},
    "isqrt": math.isqrt,
    "finite": finite,
}

TENSOR_FUNCTIONS = ("shape", "numel", "dtype", "given")
"""The only functions whose argument is the name of a tensor."""
