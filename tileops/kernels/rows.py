"""What the row kernels share: the shape of a tile, and the pieces of a normalization as macros.

A tile holds whole rows, or one piece of a row. It stays in registers in the dtype of its tensor; arithmetic
is float32.
"""

from typing import Any

import tilelang.language as T

from tileops.kernels.elements import vector_of

F32 = "float32"


def row_tile(n: int, dtype: str, values: int = 16) -> tuple[int, int, int]:
    """Rows, padded row length and threads of a block: 16-byte accesses, `values` elements a thread or so."""
    vector = vector_of(dtype)
    if n <= 128 * vector:
        width = max(vector, 1 << (n - 1).bit_length())
        return 256 * vector // width, width, 128
    threads = min(512, max(128, 1 << (n // values - 1).bit_length()))
    span = threads * vector
    return 1, -(-n // span) * span, threads


def split(tiles: int, most: int) -> tuple[int, int]:
    """(pieces, tiles of each) for tiles in a row, of which at most so many pieces are to be made."""
    each = -(-tiles // min(tiles, max(1, most)))
    return -(-tiles // each), each


def amid(a: Any, b: Any, c: Any) -> Any:
    """The middle one of three values of a set; 0 where it is not finite, or so large that distances are not.

    Sums of distances from a value that most others are near keep the digits that sums of large values lose,
    and those of equal values are 0 exactly. One outlier among the three is not taken.
    """
    middle = T.max(T.min(a, b), T.min(T.max(a, b), c))
    return T.if_then_else(T.abs(middle) < 1e30, middle, 0.0)


@T.macro
def middles(X, R, out, row, n, rows, dtype):
    """`amid` the first, the middle and the last value of each row of X, or of X + R rounded to its dtype.

    Places are no constants: a known factor of an index TVM takes for lanes, whose number has 15 bits.
    """
    place = T.alloc_var("int32")
    three = [T.alloc_fragment((rows,), F32) for _ in range(3)]
    for value, j in zip(three, (0, n // 2, n - 1), strict=True):
        place = j
        for i in T.Parallel(rows):
            x = T.cast(X[row + i, place], F32)
            if R is False:
                value[i] = x
            else:
                value[i] = T.cast(T.cast(x + T.cast(R[row + i, place], F32), dtype), F32)
    for i in T.Parallel(rows):
        out[i] = amid(three[0][i], three[1][i], three[2][i])


@T.macro
def sum_rows(x, center, out, first, n, rows, width, squared):
    """Sum over each row of the tile ``x`` of the distances from ``center``, or of their squares."""
    total = T.alloc_reducer((rows,), F32, op="sum")
    T.reducer_init(total)
    for i, j in T.Parallel(rows, width):
        d = T.if_then_else(first + j < n, T.cast(x[i, j], F32) - center[i], 0.0)
        T.reducer_update(total[i], d * d if squared else d)
    T.finalize_reducer(total, out)


@T.macro
def sum_squares(x, out, rows, width):
    """Sum of squares of each row; columns past the row's end were read as 0."""
    total = T.alloc_reducer((rows,), F32, op="sum")
    T.reducer_init(total)
    for i, j in T.Parallel(rows, width):
        T.reducer_update(total[i], T.cast(x[i, j], F32) * T.cast(x[i, j], F32))
    T.finalize_reducer(total, out)


@T.macro
def merge_moments(mean, scale, part_mean, part, seen, size, rows):
    """Chan's merge of `size` more values into the mean and squared deviation of those seen before.

    With a count, mean and deviation on both sides no difference of large sums is formed.
    """
    for i in T.Parallel(rows):
        delta = part_mean[i] - mean[i]
        scale[i] = scale[i] + part[i] + delta * delta * (seen * size / (seen + size))
        mean[i] = mean[i] + delta * (size / (seen + size))


@T.macro
def add_residual(x, R, r, S, row, first, rows, width, dtype, given):
    """``x = x + R`` in float32, rounded to the dtype: what is stored is what the statistics see."""
    if given:
        T.copy(R[row, first], r)
        for i, j in T.Parallel(rows, width):
            x[i, j] = T.cast(T.cast(x[i, j], F32) + T.cast(r[i, j], F32), dtype)
        T.copy(x, S[row, first])


@T.macro
def load_factor(F, f, row, first, rows, width, whole):
    """Read what goes with a tile: of the size of the whole input, or of a row."""
    if f is not None:
        for i, j in T.Parallel(rows, width):
            if whole:
                f[i, j] = F[row + i, first + j]
            else:
                f[i, j] = F[first + j]


@T.macro
def load_factors(tensors, fragments, row, first, rows, width, whole):
    """Read factor, term and gate, those of them that have a fragment."""
    load_factor(tensors[0], fragments[0], row, first, rows, width, whole)
    load_factor(tensors[1], fragments[1], row, first, rows, width, whole)
    load_factor(tensors[2], fragments[2], row, first, rows, width, whole)


@T.macro
def center_rows(x, e, middle, mean, n, rows, width):
    """``e = x - mean`` in float32 for rows of `n`, 0 beyond: each value is converted once.

    The mean is that of the distances from `middle`, see `amid`, which are rounded once.
    """
    for i, j in T.Parallel(rows, width):
        e[i, j] = T.if_then_else(j < n, T.cast(x[i, j], F32) - middle[i], 0.0)
    total = T.alloc_reducer((rows,), F32, op="sum")
    T.reducer_init(total)
    for i, j in T.Parallel(rows, width):
        T.reducer_update(total[i], e[i, j])
    T.finalize_reducer(total, mean)
    for i in T.Parallel(rows):
        mean[i] = mean[i] / n
    for i, j in T.Parallel(rows, width):
        e[i, j] = T.if_then_else(j < n, e[i, j] - mean[i], 0.0)


@T.macro
def normalize_rows(x, y, mean, scale, factors, first, rows, width, dtype):
    """``y = gate * ((x - mean) * scale * factor + term)``, with those of the four that there are."""
    for i, j in T.Parallel(rows, width):
        y[i, j] = T.cast(normalized(x, mean, scale, factors, i, j, first), dtype)


def normalized(x: Any, mean: Any, scale: Any, factors: Any, i: Any, j: Any, first: Any) -> Any:
    """One element of `normalize_rows`; factors are tiles, tensors of the size of a row, or False."""
    y = T.cast(x[i, j], F32)
    y = (y if mean is None else y - mean[i]) * scale[i]
    for n, f in enumerate(factors):
        if f is not False:
            value = T.cast(f[first + j] if len(f.shape) == 1 else f[i, j], F32)
            y = y + value if n == 1 else y * value
    return y


def loaded(tensors: tuple[Any, ...], tiles: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tile of each tensor, or the tensor itself where it has none."""
    return tuple(tensor if tile is None else tile for tensor, tile in zip(tensors, tiles, strict=True))


def fragment(shape: Any, dtype: str, given: bool) -> Any:
    """Registers for a tensor that not every key has."""
    return T.alloc_fragment(shape, dtype) if given else None
