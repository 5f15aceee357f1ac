"""Softmax and its logarithm along the last axis or along any other.

Weights are taken in base 2, from differences to the row's maximum: `exp2((x - max) * log2(e))`, in float32.
A row of which every element is -inf gives NaN, as in PyTorch, and a NaN spreads over its row. Bound: bytes
of both tensors.
"""

import math
from typing import Any

import tilelang.language as T
import torch

from tileops.kernel import Kernel, Key
from tileops.kernels.rows import F32, FLUSH, ITEM_SIZE, row_tile, wide_access

LOG2E = math.log2(math.e)
LOG = "LogSoftmaxFwdOp"
THREADS, PIECE = 256, 4096  # of a block, and the elements of a long row that it holds at a time


@T.macro
def online_step(e, high, best, low, top, total, batch, lanes, width):
    """Take scores `e` (batch, lanes, width) into the running maximum and sum that each lane has of its own.

    A lane is what one thread reads, so nothing is exchanged. A lane that saw only -inf subtracts 0 instead.
    """
    T.reduce_max(e, high, dim=2)
    T.reduce_max(high, best, dim=0)
    for t in T.Parallel(lanes):
        best[t] = T.max(best[t], top[t])
        low[t] = T.if_then_else(best[t] == -T.infinity(F32), 0.0, best[t])
        total[t] = total[t] * T.exp2((top[t] - low[t]) * LOG2E)
        top[t] = best[t]
    for u, t, j in T.Parallel(batch, lanes, width):
        e[u, t, j] = T.exp2((e[u, t, j] - low[t]) * LOG2E)
    T.reduce_sum(e, high, dim=2)
    T.reduce_sum(high, best, dim=0)
    for t in T.Parallel(lanes):
        total[t] = total[t] + best[t]


@T.macro
def merge_lanes(top, total, peak, norm, lanes):
    """The maximum and the sum of a whole row from those of its lanes, in a fixed order."""
    T.reduce_max(top, peak, dim=0)
    for t in T.Parallel(lanes):
        total[t] = total[t] * T.exp2(
            (top[t] - T.if_then_else(peak[0] == -T.infinity(F32), 0.0, peak[0])) * LOG2E
        )
    T.reduce_sum(total, norm, dim=0)


@T.macro
def widen(x, e, n, first, rows, width):
    """``e = x`` in float32, with -inf beyond the row's end."""
    for i, j in T.Parallel(rows, width):
        e[i, j] = T.if_then_else(first + j < n, T.cast(x[i, j], F32), -T.infinity(F32))


@T.macro
def read_piece(X, x, e, row, first, n, batch, lanes, width):
    """One piece of a row, `width` neighbours a lane: as it is, and in float32 with -inf past the end."""
    for u, t, j in T.Parallel(batch, lanes, width):
        x[u, t, j] = X[row, first + (u * lanes + t) * width + j]
    for u, t, j in T.Parallel(batch, lanes, width):
        e[u, t, j] = T.if_then_else(
            first + (u * lanes + t) * width + j < n, T.cast(x[u, t, j], F32), -T.infinity(F32)
        )


def scale_of(key: Key, total: Any) -> Any:
    """What an element is divided by, or less by in the logarithm, from the sum of exponentials."""
    return T.log(total) if key.op == LOG else 1.0 / total


def result_of(key: Key, x: Any, top: Any, scale: Any) -> Any:
    """An element of the result from one of the input, the maximum and `scale_of` the sum."""
    x = T.cast(x, F32) - top
    return x - scale if key.op == LOG else T.exp2(x * LOG2E) * scale


def row_length(name: str, aligned: bool) -> Any:
    """A dynamic row length, written as a multiple of 8 where it is one: accesses stay 16 bytes wide."""
    return T.dynamic(name + "8") * 8 if aligned else T.dynamic(name)


def softmax(key: Key) -> Kernel:
    """Softmax of rows that fit on chip: one read, one write.

    A block owns one row (several when rows are short) in registers, 16 to 64 elements a thread. The row
    length is dynamic below a power-of-two bucket `block`: a growing length compiles nothing new within it.
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
            if key.op == LOG:
                norm = T.alloc_reducer((rows,), F32, op="sum")
                T.reducer_init(norm)
                for i, j in T.Parallel(rows, width):
                    e[i, j] = e[i, j] - top[i]
                    T.reducer_update(norm[i], T.exp2(e[i, j] * LOG2E))
                T.finalize_reducer(norm, total)
            else:
                for i, j in T.Parallel(rows, width):
                    e[i, j] = T.exp2((e[i, j] - top[i]) * LOG2E)
                T.reduce_sum(e, total, dim=1)
            for i in T.Parallel(rows):
                total[i] = scale_of(key, total[i])
            for i, j in T.Parallel(rows, width):
                x[i, j] = T.cast(e[i, j] - total[i] if key.op == LOG else e[i, j] * total[i], dtype)
            T.copy(x, Y[bx * rows, 0])

    def launch(run, x, y, n):
        run(x.view(-1, n), y.view(-1, n))

    claims = ("exp2f", *wide_access(8 if key.aligned else 1, dtype))
    return Kernel(main, launch=launch, claims=claims, pass_configs=FLUSH)


def softmax_long(key: Key) -> Kernel:
    """Softmax of rows of any length: a block walks its row twice, in pieces of 4096.

    In the first walk every thread keeps the maximum and the sum of what it reads itself; they are merged
    once, at its end. The second walk reads from the L2 cache, which holds the rows that are in flight, and
    writes.
    """
    dtype = key.dtype("input")
    vector = 16 // ITEM_SIZE[dtype] if key.aligned else 1
    batch = PIECE // (THREADS * vector)
    m, n = T.dynamic("m", "int64"), row_length("n", key.aligned)

    @T.prim_func
    def main(X: T.Tensor((m, n), dtype), Y: T.Tensor((m, n), dtype)):
        with T.Kernel(m, threads=THREADS) as row:
            x, e = (T.alloc_fragment((batch, THREADS, vector), t) for t in (dtype, F32))
            high = T.alloc_fragment((batch, THREADS), F32)
            best, low, top, total = (T.alloc_fragment((THREADS,), F32) for _ in range(4))
            peak, norm = T.alloc_fragment((1,), F32), T.alloc_fragment((1,), F32)
            T.fill(top, -T.infinity(F32))
            T.clear(total)
            for b in T.serial(T.ceildiv(n, PIECE)):
                read_piece(X, x, e, row, b * PIECE, n, batch, THREADS, vector)
                online_step(e, high, best, low, top, total, batch, THREADS, vector)
            merge_lanes(top, total, peak, norm, THREADS)
            norm[0] = scale_of(key, norm[0])
            for b in T.serial(T.ceildiv(n, PIECE)):
                for u, t, j in T.Parallel(batch, THREADS, vector):
                    x[u, t, j] = X[row, b * PIECE + (u * THREADS + t) * vector + j]
                for u, t, j in T.Parallel(batch, THREADS, vector):
                    x[u, t, j] = T.cast(result_of(key, x[u, t, j], peak[0], norm[0]), dtype)
                for u, t, j in T.Parallel(batch, THREADS, vector):
                    Y[row, b * PIECE + (u * THREADS + t) * vector + j] = x[u, t, j]

    def launch(run, x, y, n):
        run(x.view(-1, n), y.view(-1, n))

    claims = ("exp2f", *wide_access(8 if key.aligned else 1, dtype))
    return Kernel(main, launch=launch, claims=claims, pass_configs=FLUSH)


def softmax_split(key: Key) -> Kernel:
    """Softmax of a few long rows, each spread over many blocks, so that they fill the chip.

    The first kernel leaves the maximum and the sum of every piece of 4096 in a workspace; the second merges
    those of its row, in a fixed order, and writes a piece.
    """
    dtype = key.dtype("input")
    m, pieces, n = T.dynamic("m", "int64"), T.dynamic("pieces"), row_length("n", key.aligned)

    @T.prim_func
    def main(X: T.Tensor((m, n), dtype), P: T.Tensor((2, m, pieces), F32), Y: T.Tensor((m, n), dtype)):
        with T.Kernel(pieces, m, threads=THREADS) as (part, row):
            x, e = T.alloc_fragment((1, PIECE), dtype), T.alloc_fragment((1, PIECE), F32)
            top, low, total = (T.alloc_fragment((1,), F32) for _ in range(3))
            T.copy(X[row, part * PIECE], x)
            widen(x, e, n, part * PIECE, 1, PIECE)
            T.reduce_max(e, top, dim=1)
            low[0] = T.if_then_else(top[0] == -T.infinity(F32), 0.0, top[0])
            for i, j in T.Parallel(1, PIECE):
                e[i, j] = T.exp2((e[i, j] - low[i]) * LOG2E)
            T.reduce_sum(e, total, dim=1)
            P[0, row, part] = top[0]
            P[1, row, part] = total[0]

        with T.Kernel(pieces, m, threads=THREADS) as (part, row):
            x = T.alloc_fragment((1, PIECE), dtype)
            best, low, top, total = (T.alloc_fragment((THREADS,), F32) for _ in range(4))
            peak, norm = T.alloc_fragment((1,), F32), T.alloc_fragment((1,), F32)
            T.copy(X[row, part * PIECE], x)
            T.fill(top, -T.infinity(F32))
            T.clear(total)
            for b in T.serial(T.ceildiv(pieces, THREADS)):
                for t in T.Parallel(THREADS):
                    p = b * THREADS + t
                    best[t] = T.if_then_else(p < pieces, P[0, row, p], -T.infinity(F32))
                    low[t] = T.max(top[t], best[t])
                    low[t] = T.if_then_else(low[t] == -T.infinity(F32), 0.0, low[t])
                    total[t] = total[t] * T.exp2((top[t] - low[t]) * LOG2E)
                    total[t] += T.if_then_else(p < pieces, P[1, row, p], 0.0) * T.exp2(
                        (best[t] - low[t]) * LOG2E
                    )
                    top[t] = T.max(top[t], best[t])
            merge_lanes(top, total, peak, norm, THREADS)
            norm[0] = scale_of(key, norm[0])
            for i, j in T.Parallel(1, PIECE):
                x[i, j] = T.cast(result_of(key, x[i, j], peak[0], norm[0]), dtype)
            T.copy(x, Y[row, part * PIECE])

    def launch(run, x, y, n):
        x, y = x.view(-1, n), y.view(-1, n)
        run(x, torch.empty((2, x.shape[0], -(-n // PIECE)), dtype=torch.float32, device=x.device), y)

    claims = ("exp2f", *wide_access(8 if key.aligned else 1, dtype))
    return Kernel(main, launch=launch, claims=claims, pass_configs=FLUSH)


def softmax_columns(key: Key) -> Kernel:
    """Softmax along an axis that is not the last: a block owns up to 128 neighbouring columns.

    A thread reads 16 bytes of neighbouring columns from every `groups`-th row, and keeps the maximum and the
    sum of what it reads itself. They are merged once, through shared memory and in a fixed order, after the
    first walk; the second walk writes. A column of only -inf ends with 0 / 0.
    """
    dtype = key.dtype("input")
    vector = 16 // ITEM_SIZE[dtype] if key.aligned else 1
    cols, batch = max(vector, key.cols), 4 if key.aligned else 16
    across = cols // vector
    groups = min(THREADS // across, 32)
    outer, n, inner = T.dynamic("outer", "int64"), T.dynamic("n"), row_length("inner", key.aligned)
    tile, lanes = (batch, groups, across, vector), (groups, across, vector)

    @T.prim_func
    def main(X: T.Tensor((outer, n, inner), dtype), Y: T.Tensor((outer, n, inner), dtype)):
        with T.Kernel(outer * T.ceildiv(inner, cols), threads=groups * across) as bx:
            x, e = T.alloc_fragment(tile, dtype), T.alloc_fragment(tile, F32)
            best, low, top, total = (T.alloc_fragment(lanes, F32) for _ in range(4))
            tops, totals = T.alloc_shared(lanes, F32), T.alloc_shared(lanes, F32)
            blocks = T.cast(T.ceildiv(inner, cols), "int64")
            o, c = T.truncdiv(bx, blocks), T.cast(T.truncmod(bx, blocks), "int32") * cols
            T.fill(top, -T.infinity(F32))
            T.clear(total)
            for b in T.serial(T.ceildiv(n, batch * groups)):
                for u, g, a, j in T.Parallel(*tile):
                    x[u, g, a, j] = X[o, (b * batch + u) * groups + g, c + a * vector + j]
                for u, g, a, j in T.Parallel(*tile):
                    e[u, g, a, j] = T.if_then_else(
                        (b * batch + u) * groups + g < n, T.cast(x[u, g, a, j], F32), -T.infinity(F32)
                    )
                T.reduce_max(e, best, dim=0)
                for g, a, j in T.Parallel(*lanes):
                    best[g, a, j] = T.max(best[g, a, j], top[g, a, j])
                    low[g, a, j] = T.if_then_else(best[g, a, j] == -T.infinity(F32), 0.0, best[g, a, j])
                    total[g, a, j] = total[g, a, j] * T.exp2((top[g, a, j] - low[g, a, j]) * LOG2E)
                    top[g, a, j] = best[g, a, j]
                for u, g, a, j in T.Parallel(*tile):
                    e[u, g, a, j] = T.exp2((e[u, g, a, j] - low[g, a, j]) * LOG2E)
                T.reduce_sum(e, total, dim=0, clear=False)
            T.copy(top, tops)
            T.copy(total, totals)
            T.clear(total)
            for r in T.serial(groups):
                for g, a, j in T.Parallel(*lanes):
                    top[g, a, j] = T.max(top[g, a, j], tops[r, a, j])
            for g, a, j in T.Parallel(*lanes):
                top[g, a, j] = T.if_then_else(top[g, a, j] == -T.infinity(F32), 0.0, top[g, a, j])
            for r in T.serial(groups):
                for g, a, j in T.Parallel(*lanes):
                    total[g, a, j] += totals[r, a, j] * T.exp2((tops[r, a, j] - top[g, a, j]) * LOG2E)
            for g, a, j in T.Parallel(*lanes):
                total[g, a, j] = scale_of(key, total[g, a, j])
            for b in T.serial(T.ceildiv(n, batch * groups)):
                for u, g, a, j in T.Parallel(*tile):
                    x[u, g, a, j] = X[o, (b * batch + u) * groups + g, c + a * vector + j]
                for u, g, a, j in T.Parallel(*tile):
                    y = result_of(key, x[u, g, a, j], top[g, a, j], total[g, a, j])
                    x[u, g, a, j] = T.cast(y, dtype)
                for u, g, a, j in T.Parallel(*tile):
                    Y[o, (b * batch + u) * groups + g, c + a * vector + j] = x[u, g, a, j]

    def launch(run, x, y, n, inner):
        run(x.view(-1, n, inner), y.view(-1, n, inner))

    claims = ("exp2f", *wide_access(8 if key.aligned else 1, dtype))
    return Kernel(main, launch=launch, claims=claims, pass_configs=FLUSH)
