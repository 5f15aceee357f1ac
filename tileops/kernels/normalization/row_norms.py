"""Row normalization: RMSNorm and LayerNorm, both fused with a residual add, and adaptive LayerNorm.

Every program works in float32 and rounds once, at the store. A row is read once into registers, its moments
are taken there, and the result is written once: the bound is the bytes of the tensors. Rows that do not fit
on chip are walked twice in pieces; the second read mostly hits the L2 cache.

Operators differ in what else they read. `residual` is added first, and the rounded sum is written too: its
statistics are taken. `weight` and `bias` have the size of a row; `scale`, `shift` and `gate` that of `x`. A
tensor that the key does not have is no argument of the program.
"""

from collections.abc import Callable
from typing import Any

import tilelang.language as T

from tileops.kernel import Kernel, Key
from tileops.kernels.elements import ITEM_SIZE, vector_of, wide
from tileops.kernels.rows import (
    F32,
    add_residual,
    center_rows,
    fragment,
    load_factors,
    loaded,
    merge_moments,
    middles,
    normalize_rows,
    row_tile,
    sum_rows,
    sum_squares,
)

LONG_THREADS, LONG_BLOCK = 512, 8192


def rms_norm(key: Key) -> Kernel:
    """RMSNorm of rows that fit on chip: one read, one write, and one reduction between them.

    A block owns one row (several when rows are short), 16 elements or more a thread, in their own dtype.
    """
    return _rows(key, False)


def layer_norm(key: Key) -> Kernel:
    """LayerNorm of rows that fit on chip, also fused and adaptive: one read, one write.

    The variance is a second pass over registers, about the mean, so that a mean which is large beside the
    spread loses nothing to cancellation. Two reductions are to be waited for: so few threads, 32 elements
    each, room for other blocks meanwhile, and the factors are under way before.
    """
    return _rows(key, True)


def rms_norm_long(key: Key) -> Kernel:
    """`rms_norm` for rows of any length: a block owns a row and walks it twice in pieces of 8192."""
    return _pieces(key, False)


def layer_norm_long(key: Key) -> Kernel:
    """`layer_norm` for rows of any length: mean and squared deviation of pieces are merged one by one."""
    return _pieces(key, True)


_VECTORS = "weight", "bias"
_FACTORS = ("weight", "scale"), ("bias", "shift"), ("gate",)


def _arguments(key: Key, m: Any) -> Callable[..., Any]:
    """The argument for whichever of some slots there is, or a constant, which is no argument."""

    def tensor(*slots: str) -> Any:
        found = [slot for slot in slots if key.given(slot)]
        return T.Tensor((key.N,) if found[0] in _VECTORS else (m, key.N), key.dtype("x")) if found else False

    return tensor


def _kernel(key: Key, program: Any) -> Kernel:
    """With a launch that passes every tensor as rows, or as one row."""
    n, vectors = key.N, [i for i, (slot, _) in enumerate(key.dtypes) if slot in _VECTORS]

    def launch(run, x, *others):
        given, shape = [x, *(t for t in others if t is not None)], x.shape
        if len(shape) != 2 or shape[1] != n:  # a view costs the host a microsecond
            given[:-1] = [t if i in vectors else t.view(-1, n) for i, t in enumerate(given[:-1])]
        for i in vectors:
            if given[i].dim() != 1:
                given[i] = given[i].view(-1)
        run(*given)

    return Kernel(program, launch=launch, claims=wide(key.dtype("x"), n % vector_of(key.dtype("x")) == 0))


def _rows(key: Key, centered: bool) -> Kernel:
    n, dtype, residual, whole = key.N, key.dtype("x"), key.given("residual"), key.given("scale")
    rows, width, threads = row_tile(n, dtype, 32 if centered and not (residual or whole) else 16)
    blocks = max(1, 2048 // ITEM_SIZE[dtype] // threads) if centered else 1  # on a multiprocessor at least
    m, tile = T.dynamic("m", "int64"), (rows, width)
    tensor, factors = _arguments(key, m), [any(map(key.given, slots)) for slots in _FACTORS]

    @T.prim_func
    def main(
        X: tensor("x"), R: tensor("residual"),
        W: tensor("weight", "scale"), B: tensor("bias", "shift"), G: tensor("gate"),
        Y: tensor("x"), S: tensor("residual"), eps: T.float32,
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(m, rows), threads=threads) as bx:
            T.annotate_min_blocks_per_sm(blocks)
            x, r = T.alloc_fragment(tile, dtype), fragment(tile, dtype, residual)
            e = fragment(tile, F32, centered)
            mean, middle = fragment((rows,), F32, centered), fragment((rows,), F32, centered)
            scale = T.alloc_fragment((rows,), F32)
            w, b, g = (fragment(tile, dtype, centered and given) for given in factors)
            if centered:
                middles(X, R, middle, bx * rows, n, rows, dtype)
            T.copy(X[bx * rows, 0], x)
            add_residual(x, R, r, S, bx * rows, 0, rows, width, dtype, residual)
            load_factors((W, B, G), (w, b, g), bx * rows, 0, rows, width, whole)
            if centered:
                center_rows(x, e, middle, mean, n, rows, width)
                sum_squares(e, scale, rows, width)
            else:
                sum_squares(x, scale, rows, width)
            for i in T.Parallel(rows):
                scale[i] = T.rsqrt(scale[i] / n + eps)
            normalize_rows(
                e if centered else x, x, None, scale, loaded((W, B, G), (w, b, g)), 0, rows, width, dtype
            )
            T.copy(x, Y[bx * rows, 0])

    return _kernel(key, main)


def _pieces(key: Key, centered: bool) -> Kernel:
    n, dtype, residual, whole = key.N, key.dtype("x"), key.given("residual"), key.given("scale")
    block, m = LONG_BLOCK, T.dynamic("m", "int64")
    tensor, factors = _arguments(key, m), [any(map(key.given, slots)) for slots in _FACTORS]

    @T.prim_func
    def main(
        X: tensor("x"), R: tensor("residual"),
        W: tensor("weight", "scale"), B: tensor("bias", "shift"), G: tensor("gate"),
        Y: tensor("x"), S: tensor("residual"), eps: T.float32,
    ):  # fmt: skip
        with T.Kernel(m, threads=LONG_THREADS) as row:
            x, r = T.alloc_fragment((1, block), dtype), fragment((1, block), dtype, residual)
            scale, part = T.alloc_fragment((1,), F32), T.alloc_fragment((1,), F32)
            mean, part_mean, middle = (fragment((1,), F32, centered) for _ in range(3))
            w, b, g = (fragment((1, block), dtype, whole and given) for given in factors)
            T.clear(scale)
            if centered:
                T.clear(mean)
                middles(X, R, middle, row, n, 1, dtype)
            for p in T.serial(T.ceildiv(n, block)):
                T.copy(X[row, p * block], x)
                add_residual(x, R, r, S, row, p * block, 1, block, dtype, residual)
                if centered:
                    size, seen = T.cast(T.min(block, n - p * block), F32), T.cast(p * block, F32)
                    sum_rows(x, middle, part_mean, p * block, n, 1, block, False)
                    part_mean[0] = middle[0] + part_mean[0] / size
                    sum_rows(x, part_mean, part, p * block, n, 1, block, True)
                    merge_moments(mean, scale, part_mean, part, seen, size, 1)
                else:
                    sum_squares(x, part, 1, block)
                    scale[0] = scale[0] + part[0]
            scale[0] = T.rsqrt(scale[0] / n + eps)
            for p in T.serial(T.ceildiv(n, block)):
                if residual:
                    T.copy(S[row, p * block], x)  # each thread reads what it wrote: x has one layout
                else:
                    T.copy(X[row, p * block], x)
                load_factors((W, B, G), (w, b, g), row, p * block, 1, block, whole)
                normalize_rows(x, x, mean, scale, loaded((W, B, G), (w, b, g)), p * block, 1, block, dtype)
                T.copy(x, Y[row, p * block])

    return _kernel(key, main)
