"""Softmax along the last axis or along any other.

Weights are taken in base 2, from differences to the row's maximum: `exp2((x - max) * log2(e))`, in float32.
A row of which every element is -inf gives NaN, as in PyTorch, and a NaN spreads over its row. Bound: bytes
of both tensors.
"""

import math
from typing import Any

import tilelang.language as T
import torch

from tileops.kernel import Kernel, Key
from tileops.kernels.rows import F32, ITEM_SIZE, row_tile, wide_access

LOG2E = math.log2(math.e)
PIECE, PARTS = (
    4096,
    128,
)  # elements a block takes of a long row; pieces whose partial results are merged at a time
COLUMN_TILE = 4096


@T.macro
def finite_or_zero(x, out, size):
    """A maximum to subtract: -inf (nothing seen yet) would give NaN."""
    for i in T.Parallel(size):
        out[i] = T.if_then_else(x[i] == -T.infinity(F32), 0.0, x[i])


@T.macro
def widen(x, e, n, first, rows, width):
    """``e = x`` in float32, with -inf beyond the row's end."""
    for i, j in T.Parallel(rows, width):
        e[i, j] = T.if_then_else(first + j < n, T.cast(x[i, j], F32), -T.infinity(F32))


def row_length(name: str, aligned: bool) -> Any:
    """A dynamic row length, written as a multiple of 8 where it is one: accesses stay 16 bytes wide."""
    return T.dynamic(name + "8") * 8 if aligned else T.dynamic(name)


def softmax(key: Key) -> Kernel:
    """Softmax of rows that fit on chip: one read, one write.

    A block owns one row (several when rows are short) in registers, about 16 elements a thread. The row
    length is dynamic below a power-of-two bucket `block`, so a growing length compiles nothing new within
    it.
    """
    dtype = key.dtype("input")
    rows, width, threads = row_tile(key.block, dtype)
    m, n = T.dynamic("m", "int64"), row_length("n", key.aligned)

    @T.prim_func
    def main(X: T.Tensor((m, n), dtype), Y: T.Tensor((m, n), dtype)):
        with T.Kernel(T.ceildiv(m, rows), threads=threads) as bx:
            x, e = T.alloc_fragment((rows, width), dtype), T.alloc_fragment((rows, width), F32)
            top, total = T.alloc_fragment((rows,), F32), T.alloc_fragment((rows,), F32)
            T.copy(X[bx * rows, 0], x)
            widen(x, e, n, 0, rows, width)
            T.reduce_max(e, top, dim=1)
            for i, j in T.Parallel(rows, width):
                e[i, j] = T.exp2((e[i, j] - top[i]) * LOG2E)
            T.reduce_sum(e, total, dim=1)
            for i in T.Parallel(rows):
                total[i] = 1.0 / total[i]
            for i, j in T.Parallel(rows, width):
                x[i, j] = T.cast(e[i, j] * total[i], dtype)
            T.copy(x, Y[bx * rows, 0])

    def launch(run, x, y, n):
        run(x.view(-1, n), y.view(-1, n))

    return Kernel(main, launch=launch, claims=wide_access(8 if key.aligned else 1, dtype))


def softmax_long(key: Key) -> Kernel:
    """Softmax of rows of any length, each spread over many blocks.

    The first kernel leaves the maximum and the sum of every piece of 4096 in a workspace; the second merges
    those of its row, in a fixed order, and writes a piece. Few long rows still fill the chip; x is read
    twice, the second time from the L2 cache unless it is large.
    """
    dtype = key.dtype("input")
    m, splits, n = T.dynamic("m", "int64"), T.dynamic("splits"), row_length("n", key.aligned)

    @T.prim_func
    def main(X: T.Tensor((m, n), dtype), P: T.Tensor((2, m, splits), F32), Y: T.Tensor((m, n), dtype)):
        with T.Kernel(m * splits, threads=256) as bx:
            x, e = T.alloc_fragment((1, PIECE), dtype), T.alloc_fragment((1, PIECE), F32)
            top, low, total = (T.alloc_fragment((1,), F32) for _ in range(3))
            pieces = T.cast(splits, "int64")
            row, part = T.truncdiv(bx, pieces), T.cast(T.truncmod(bx, pieces), "int32")
            T.copy(X[row, part * PIECE], x)
            widen(x, e, n, part * PIECE, 1, PIECE)
            T.reduce_max(e, top, dim=1)
            finite_or_zero(top, low, 1)
            for i, j in T.Parallel(1, PIECE):
                e[i, j] = T.exp2((e[i, j] - low[i]) * LOG2E)
            T.reduce_sum(e, total, dim=1)
            P[0, row, part] = top[0]
            P[1, row, part] = total[0]

        with T.Kernel(m * splits, threads=256) as bx:
            x = T.alloc_fragment((1, PIECE), dtype)
            t, s = T.alloc_fragment((1, PARTS), F32), T.alloc_fragment((1, PARTS), F32)
            top, low, total = (T.alloc_fragment((1,), F32) for _ in range(3))
            pieces = T.cast(splits, "int64")
            row, part = T.truncdiv(bx, pieces), T.cast(T.truncmod(bx, pieces), "int32")
            T.copy(X[row, part * PIECE], x)
            T.fill(top, -T.infinity(F32))
            T.clear(total)
            for b in T.serial(T.ceildiv(splits, PARTS)):
                for i, j in T.Parallel(1, PARTS):
                    t[i, j] = T.if_then_else(
                        b * PARTS + j < splits, P[0, row, b * PARTS + j], -T.infinity(F32)
                    )
                T.reduce_max(t, top, dim=1, clear=False)
            finite_or_zero(top, low, 1)
            for b in T.serial(T.ceildiv(splits, PARTS)):
                for i, j in T.Parallel(1, PARTS):
                    s[i, j] = T.if_then_else(
                        b * PARTS + j < splits,
                        P[1, row, b * PARTS + j] * T.exp2((P[0, row, b * PARTS + j] - low[i]) * LOG2E),
                        0.0,
                    )
                T.reduce_sum(s, total, dim=1, clear=False)
            for i, j in T.Parallel(1, PIECE):
                x[i, j] = T.cast(T.exp2((T.cast(x[i, j], F32) - top[i]) * LOG2E) / total[i], dtype)
            T.copy(x, Y[row, part * PIECE])

    def launch(run, x, y, n):
        x, y = x.view(-1, n), y.view(-1, n)
        run(x, torch.empty((2, x.shape[0], -(-n // PIECE)), dtype=torch.float32, device=x.device), y)

    return Kernel(main, launch=launch, claims=wide_access(8 if key.aligned else 1, dtype))


def softmax_columns(key: Key) -> Kernel:
    """Softmax along an axis that is not the last: a block owns up to 128 neighbouring columns.

    Rows of the tile are contiguous in memory. Every thread keeps a running maximum and sum for each element
    of the tile, without a word to the others; they are merged once, after the first walk. The second walk
    writes.
    """
    dtype, cols = key.dtype("input"), max(16 // ITEM_SIZE[key.dtype("input")], key.cols)
    depth = COLUMN_TILE // cols
    outer, n, inner = T.dynamic("outer", "int64"), T.dynamic("n"), row_length("inner", key.aligned)

    @T.prim_func
    def main(X: T.Tensor((outer, n, inner), dtype), Y: T.Tensor((outer, n, inner), dtype)):
        with T.Kernel(outer * T.ceildiv(inner, cols), threads=256) as bx:
            x = T.alloc_fragment((depth, cols), dtype)
            top, total = T.alloc_fragment((depth, cols), F32), T.alloc_fragment((depth, cols), F32)
            peak, low, norm = (T.alloc_fragment((cols,), F32) for _ in range(3))
            across = T.cast(T.ceildiv(inner, cols), "int64")
            o, c = T.truncdiv(bx, across), T.cast(T.truncmod(bx, across), "int32") * cols
            T.fill(top, -T.infinity(F32))
            T.clear(total)
            for b in T.serial(T.ceildiv(n, depth)):
                T.copy(X[o, b * depth : (b + 1) * depth, c : c + cols], x)
                for i, j in T.Parallel(depth, cols):
                    v = T.if_then_else(b * depth + i < n, T.cast(x[i, j], F32), -T.infinity(F32))
                    high = T.max(top[i, j], v)
                    ref = T.if_then_else(high == -T.infinity(F32), 0.0, high)
                    total[i, j] = total[i, j] * T.exp2((top[i, j] - ref) * LOG2E) + T.exp2((v - ref) * LOG2E)
                    top[i, j] = high
            T.reduce_max(top, peak, dim=0)
            finite_or_zero(peak, low, cols)
            for i, j in T.Parallel(depth, cols):
                total[i, j] = total[i, j] * T.exp2((top[i, j] - low[j]) * LOG2E)
            T.reduce_sum(total, norm, dim=0)
            for b in T.serial(T.ceildiv(n, depth)):
                T.copy(X[o, b * depth : (b + 1) * depth, c : c + cols], x)
                for i, j in T.Parallel(depth, cols):
                    x[i, j] = T.cast(T.exp2((T.cast(x[i, j], F32) - peak[j]) * LOG2E) / norm[j], dtype)
                T.copy(x, Y[o, b * depth : (b + 1) * depth, c : c + cols])

    def launch(run, x, y, n, inner):
        run(x.view(-1, n, inner), y.view(-1, n, inner))

    return Kernel(main, launch=launch, claims=("uint2",) if key.aligned and dtype != F32 else ())
