"""Softmax and its logarithm along the last axis or along any other.

Weights are taken in base 2, from differences to the row's maximum: `exp2((x - max) * log2(e))`, in float32.
A row of which every element is -inf gives NaN, as in PyTorch, and a NaN spreads over its row. Bound: bytes
of both tensors.
"""

from typing import Any

import tilelang.language as T
import torch

from tileops.kernel import Kernel, Key
from tileops.kernels.elements import FLUSH, vector_of, wide
from tileops.kernels.reduction.exponentials import merge_lanes, online_step, read_piece, widen
from tileops.kernels.reduction.lanes import along, fragments, inside, join_columns
from tileops.kernels.reduction.operators import LOG2E, OPERATORS
from tileops.kernels.reduction.program import Walk, read, take_all
from tileops.kernels.rows import F32, row_tile

LOG = "LogSoftmaxFwdOp"
NAN = T.float32(float("nan"))
THREADS, PIECE = 256, 4096  # of a block, and the elements of a long row that it holds at a time


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


def _kernel(key: Key, program: Any, launch: Any, configs: Any = FLUSH) -> Kernel:
    claims = ("exp2f", *wide(key.dtype("input"), key.aligned))
    return Kernel(program, launch=launch, claims=claims, pass_configs=configs)


def _launch_rows(run, x, y, n):
    run(x.view(-1, n), y.view(-1, n))


def softmax(key: Key) -> Kernel:
    """Softmax of rows that fit on chip: one read, one write.

    A block owns one row (several when rows are short) in registers, 16 to 64 elements a thread; a long one of
    16 bits lies in shared memory. The row length is dynamic below a power-of-two bucket `block`: a growing
    length compiles nothing new within it.
    """
    dtype = key.dtype("input")
    if key.aligned and key.block == 32768 and dtype != F32:
        return _softmax_shared(key)
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

    return _kernel(key, main, _launch_rows)


def _softmax_shared(key: Key) -> Kernel:
    """`softmax` of rows that would fill the registers in float32: a row lies in shared memory in its dtype.

    So three blocks share a multiprocessor, and one reads while others compute. Exponentials are taken twice.
    """
    dtype, width = key.dtype("input"), 2 * THREADS * vector_of(key.dtype("input"))
    m, n = T.dynamic("m", "int64"), row_length("n", key.aligned)

    @T.prim_func
    def main(X: T.Tensor((m, n), dtype), Y: T.Tensor((m, n), dtype)):
        with T.Kernel(m, threads=2 * THREADS) as row:
            T.annotate_min_blocks_per_sm(3)
            x, y = T.alloc_shared((key.block,), dtype), T.alloc_fragment((width,), dtype)
            high, norm = T.alloc_reducer((1,), F32, op="max"), T.alloc_reducer((1,), F32, op="sum")
            top, total = T.alloc_fragment((1,), F32), T.alloc_fragment((1,), F32)
            for j in T.Parallel(key.block):
                x[j] = T.if_then_else(j < n, X[row, j], -T.infinity(dtype))
            T.reducer_init(high)
            for b in T.serial(key.block // width):
                T.copy(x[b * width], y)
                for j in T.Parallel(width):
                    T.reducer_update(high[0], T.cast(y[j], F32))
            T.finalize_reducer(high, top)
            T.reducer_init(norm)
            for b in T.serial(key.block // width):
                T.copy(x[b * width], y)
                for j in T.Parallel(width):
                    T.reducer_update(norm[0], T.exp2((T.cast(y[j], F32) - top[0]) * LOG2E))
            T.finalize_reducer(norm, total)
            total[0] = scale_of(key, total[0])
            for b in T.serial(key.block // width):
                T.copy(x[b * width], y)
                for j in T.Parallel(width):
                    y[j] = T.cast(result_of(key, y[j], top[0], total[0]), dtype)
                T.copy(y, Y[row, b * width])

    return _kernel(key, main, _launch_rows)


def softmax_long(key: Key) -> Kernel:
    """Softmax of rows of any length: a block walks its row twice, in pieces of 4096.

    In the first walk every thread keeps the maximum and the sum of what it reads itself; they are merged
    once, at its end. The second walk reads from the L2 cache, which holds the rows that are in flight, and
    writes.
    """
    dtype = key.dtype("input")
    vector = vector_of(dtype, key.aligned)
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

    return _kernel(key, main, _launch_rows)


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

    return _kernel(key, main, launch)


def softmax_columns(key: Key) -> Kernel:
    """Softmax along an axis that is not the last: a block owns up to 128 neighbouring columns.

    A first walk finds the maximum and the sum of each column, as `LogSumExpFwdOp` does; a second one writes.
    A column with an infinite maximum is NaN.
    """
    dtype, op = key.dtype("input"), OPERATORS["LogSumExpFwdOp"](key.dtype("input"))
    vector = vector_of(dtype, key.aligned)
    across = max(vector, key.cols) // vector
    shape = (min(THREADS // across, 32), across, vector)
    outer, n, inner = T.dynamic("outer", "int64"), T.dynamic("n"), row_length("inner", key.aligned)
    k = Walk(False, outer, n, inner, shape, 4 if key.aligned else 16)

    @T.prim_func
    def main(X: T.Tensor((outer, n, inner), dtype), Y: T.Tensor((outer, n, inner), dtype)):
        with T.Kernel(outer * T.ceildiv(inner, k.across), threads=shape[0] * across) as bx:
            x = T.alloc_fragment((k.batch, *shape), dtype)
            states, whole = fragments(op, shape), fragments(op, shape)
            o, c = k.origin(bx, T.cast(T.ceildiv(inner, k.across), "int64"))
            take_all(op, X, x, states, k, o, c, 0, n)
            join_columns(op, states, whole, shape)
            top, total = whole
            for a, b, j in T.Parallel(*shape):
                sum = T.if_then_else(T.abs(top[a, b, j]) == T.infinity(F32), NAN, total[a, b, j])
                total[a, b, j] = scale_of(key, sum)
            for i in T.serial(T.ceildiv(n, k.span)):
                read(X, x, k, o, c, i * k.span, n)
                for u, a, b, j in T.Parallel(k.batch, *shape):
                    x[u, a, b, j] = T.cast(result_of(key, x[u, a, b, j], top[a, b, j], total[a, b, j]), dtype)
                for u, a, b, j in T.Parallel(k.batch, *shape):
                    row, column = along(i * k.span, k.step, u, a, b, j), k.place(o, c, a, b, j)[1]
                    if inside(i * k.span, k.step, n, u, a, b) & k.known(o, c, a, b):
                        Y[o, row, column] = x[u, a, b, j]

    def launch(run, x, y, n, inner):
        run(x.view(-1, n, inner), y.view(-1, n, inner))

    return _kernel(key, main, launch, op.configs)
