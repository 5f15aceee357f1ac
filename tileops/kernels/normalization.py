"""Row normalization: RMSNorm, LayerNorm, and the residual add in front of RMSNorm.

Every program works in float32 and rounds once, at the store. A row is read once into registers, its moments
are taken there, and the result is written once: the bound is the bytes of the tensors. Rows that do not fit
on chip are walked twice in pieces; the second read mostly hits the L2 cache.
"""

import tilelang.language as T

from tileops.kernel import Kernel, Key
from tileops.kernels.rows import (
    F32,
    ITEM_SIZE,
    add_rows,
    center_rows,
    rms_rows,
    row_tile,
    scale_rows,
    sum_rows,
    sum_squares,
    wide_access,
)

LONG_THREADS, LONG_BLOCK = 512, 8192


def rms_norm(key: Key) -> Kernel:
    """RMSNorm of rows that fit on chip: one read, one write.

    A block owns one row (several when rows are short), 16 elements or more a thread. The row stays in
    registers in its own dtype; the sum of squares is one block reduction. Bound: bytes of x and y.
    """
    n, dtype, weight = key.N, key.dtype("x"), key.given("weight")
    rows, width, threads = row_tile(n, dtype)
    m = T.dynamic("m", "int64")
    w_shape = (n,) if weight else (m, n)  # an absent tensor is stood in for by x, and never read

    @T.prim_func
    def main(
        X: T.Tensor((m, n), dtype),
        W: T.Tensor(w_shape, dtype),
        Y: T.Tensor((m, n), dtype),
        eps: T.float32,
    ):
        with T.Kernel(T.ceildiv(m, rows), threads=threads) as bx:
            x, scale = T.alloc_fragment((rows, width), dtype), T.alloc_fragment((rows,), F32)
            T.copy(X[bx * rows, 0], x)
            rms_rows(x, W, scale, n, eps, rows, width, dtype, weight)
            T.copy(x, Y[bx * rows, 0])

    def launch(run, x, weight, y, eps):
        x, y = x.view(-1, n), y.view(-1, n)
        run(x, x if weight is None else weight.view(-1), y, eps)

    return Kernel(main, launch=launch, claims=wide_access(n, dtype))


def fused_add_rms_norm(key: Key) -> Kernel:
    """``residual_out = x + residual`` and RMSNorm of it, on chip: two reads, two writes.

    The sum is rounded to the dtype before its statistics are taken. Tile and bound as `rms_norm`.
    """
    n, dtype = key.N, key.dtype("x")
    rows, width, threads = row_tile(n, dtype)
    m = T.dynamic("m", "int64")

    @T.prim_func
    def main(
        X: T.Tensor((m, n), dtype),
        R: T.Tensor((m, n), dtype),
        W: T.Tensor((n,), dtype),
        Y: T.Tensor((m, n), dtype),
        S: T.Tensor((m, n), dtype),
        eps: T.float32,
    ):
        with T.Kernel(T.ceildiv(m, rows), threads=threads) as bx:
            x, r = T.alloc_fragment((rows, width), dtype), T.alloc_fragment((rows, width), dtype)
            scale = T.alloc_fragment((rows,), F32)
            T.copy(X[bx * rows, 0], x)
            T.copy(R[bx * rows, 0], r)
            add_rows(x, r, rows, width, dtype)
            T.copy(x, S[bx * rows, 0])
            rms_rows(x, W, scale, n, eps, rows, width, dtype, True)
            T.copy(x, Y[bx * rows, 0])

    def launch(run, x, residual, weight, y, residual_out, eps):
        run(x.view(-1, n), residual.view(-1, n), weight, y.view(-1, n), residual_out.view(-1, n), eps)

    return Kernel(main, launch=launch, claims=wide_access(n, dtype))


def layer_norm(key: Key) -> Kernel:
    """LayerNorm of rows that fit on chip: one read, one write.

    The variance is a second pass over registers, about the mean, so that a mean which is large beside the
    spread loses nothing to cancellation. Tile and bound as `rms_norm`, with 32 elements a thread: two
    reductions are to be waited for, so few threads, and room for other blocks meanwhile.
    """
    n, dtype, weight, bias = key.N, key.dtype("x"), key.given("weight"), key.given("bias")
    rows, width, threads = row_tile(n, dtype, 32)
    blocks = min(8, max(1, 65536 // (rows * width * ITEM_SIZE[dtype])))  # on a multiprocessor at least
    m = T.dynamic("m", "int64")
    w_shape, b_shape = ((n,) if weight else (m, n)), ((n,) if bias else (m, n))

    @T.prim_func
    def main(
        X: T.Tensor((m, n), dtype),
        W: T.Tensor(w_shape, dtype),
        B: T.Tensor(b_shape, dtype),
        Y: T.Tensor((m, n), dtype),
        eps: T.float32,
    ):
        with T.Kernel(T.ceildiv(m, rows), threads=threads) as bx:
            T.annotate_min_blocks_per_sm(blocks)
            x = T.alloc_fragment((rows, width), dtype)
            mean, scale = T.alloc_fragment((rows,), F32), T.alloc_fragment((rows,), F32)
            T.copy(X[bx * rows, 0], x)
            sum_rows(x, mean, mean, 0, n, rows, width, False)
            for i in T.Parallel(rows):
                mean[i] = mean[i] / n
            sum_rows(x, mean, scale, 0, n, rows, width, True)
            for i in T.Parallel(rows):
                scale[i] = T.rsqrt(scale[i] / n + eps)
            center_rows(x, W, B, mean, scale, 0, rows, width, dtype, weight, bias)
            T.copy(x, Y[bx * rows, 0])

    def launch(run, x, weight, bias, y, eps):
        x, y = x.view(-1, n), y.view(-1, n)
        run(x, x if weight is None else weight.view(-1), x if bias is None else bias.view(-1), y, eps)

    return Kernel(main, launch=launch, claims=wide_access(n, dtype))


def rms_norm_long(key: Key) -> Kernel:
    """RMSNorm of rows of any length: a block owns a row and walks it twice in pieces of 8192."""
    n, dtype, weight = key.N, key.dtype("x"), key.given("weight")
    block, m = LONG_BLOCK, T.dynamic("m", "int64")
    w_shape = (n,) if weight else (m, n)

    @T.prim_func
    def main(
        X: T.Tensor((m, n), dtype),
        W: T.Tensor(w_shape, dtype),
        Y: T.Tensor((m, n), dtype),
        eps: T.float32,
    ):
        with T.Kernel(m, threads=LONG_THREADS) as row:
            x = T.alloc_fragment((1, block), dtype)
            scale, part = T.alloc_fragment((1,), F32), T.alloc_fragment((1,), F32)
            T.clear(scale)
            for b in T.serial(T.ceildiv(n, block)):
                T.copy(X[row, b * block], x)
                sum_squares(x, part, 1, block)
                for i in T.Parallel(1):
                    scale[i] = scale[i] + part[i]
            for i in T.Parallel(1):
                scale[i] = T.rsqrt(scale[i] / n + eps)
            for b in T.serial(T.ceildiv(n, block)):
                T.copy(X[row, b * block], x)
                scale_rows(x, W, scale, b * block, 1, block, dtype, weight)
                T.copy(x, Y[row, b * block])

    def launch(run, x, weight, y, eps):
        x, y = x.view(-1, n), y.view(-1, n)
        run(x, x if weight is None else weight.view(-1), y, eps)

    return Kernel(main, launch=launch, claims=wide_access(n, dtype))


def fused_add_rms_norm_long(key: Key) -> Kernel:
    """`fused_add_rms_norm` for rows of any length: one walk writes the sum, the next reads it."""
    n, dtype = key.N, key.dtype("x")
    block, m = LONG_BLOCK, T.dynamic("m", "int64")

    @T.prim_func
    def main(
        X: T.Tensor((m, n), dtype),
        R: T.Tensor((m, n), dtype),
        W: T.Tensor((n,), dtype),
        Y: T.Tensor((m, n), dtype),
        S: T.Tensor((m, n), dtype),
        eps: T.float32,
    ):
        with T.Kernel(m, threads=LONG_THREADS) as row:
            x, r = T.alloc_fragment((1, block), dtype), T.alloc_fragment((1, block), dtype)
            scale, part = T.alloc_fragment((1,), F32), T.alloc_fragment((1,), F32)
            T.clear(scale)
            for b in T.serial(T.ceildiv(n, block)):
                T.copy(X[row, b * block], x)
                T.copy(R[row, b * block], r)
                add_rows(x, r, 1, block, dtype)
                T.copy(x, S[row, b * block])
                sum_squares(x, part, 1, block)
                for i in T.Parallel(1):
                    scale[i] = scale[i] + part[i]
            for i in T.Parallel(1):
                scale[i] = T.rsqrt(scale[i] / n + eps)
            for b in T.serial(T.ceildiv(n, block)):
                T.copy(S[row, b * block], x)  # each thread reads what it wrote: x has one layout
                scale_rows(x, W, scale, b * block, 1, block, dtype, True)
                T.copy(x, Y[row, b * block])

    def launch(run, x, residual, weight, y, residual_out, eps):
        run(x.view(-1, n), residual.view(-1, n), weight, y.view(-1, n), residual_out.view(-1, n), eps)

    return Kernel(main, launch=launch, claims=wide_access(n, dtype))


def layer_norm_long(key: Key) -> Kernel:
    """LayerNorm of rows of any length: mean and squared deviation of pieces of 8192 are merged one by one.

    The merge is Chan's: with a count, mean and deviation on both sides no difference of large sums is
    formed.
    """
    n, dtype, weight, bias = key.N, key.dtype("x"), key.given("weight"), key.given("bias")
    block, m = LONG_BLOCK, T.dynamic("m", "int64")
    w_shape, b_shape = ((n,) if weight else (m, n)), ((n,) if bias else (m, n))

    @T.prim_func
    def main(
        X: T.Tensor((m, n), dtype),
        W: T.Tensor(w_shape, dtype),
        B: T.Tensor(b_shape, dtype),
        Y: T.Tensor((m, n), dtype),
        eps: T.float32,
    ):
        with T.Kernel(m, threads=LONG_THREADS) as row:
            x = T.alloc_fragment((1, block), dtype)
            mean, scale = T.alloc_fragment((1,), F32), T.alloc_fragment((1,), F32)
            part_mean, part = T.alloc_fragment((1,), F32), T.alloc_fragment((1,), F32)
            T.clear(mean)
            T.clear(scale)
            for b in T.serial(T.ceildiv(n, block)):
                size = T.cast(T.min(block, n - b * block), F32)
                seen = T.cast(b * block, F32)
                T.copy(X[row, b * block], x)
                sum_rows(x, mean, part_mean, b * block, n, 1, block, False)
                for i in T.Parallel(1):
                    part_mean[i] = part_mean[i] / size
                sum_rows(x, part_mean, part, b * block, n, 1, block, True)
                for i in T.Parallel(1):
                    delta = part_mean[i] - mean[i]
                    scale[i] = scale[i] + part[i] + delta * delta * (seen * size / (seen + size))
                    mean[i] = mean[i] + delta * (size / (seen + size))
            for i in T.Parallel(1):
                scale[i] = T.rsqrt(scale[i] / n + eps)
            for b in T.serial(T.ceildiv(n, block)):
                T.copy(X[row, b * block], x)
                center_rows(x, W, B, mean, scale, b * block, 1, block, dtype, weight, bias)
                T.copy(x, Y[row, b * block])

    def launch(run, x, weight, bias, y, eps):
        x, y = x.view(-1, n), y.view(-1, n)
        run(x, x if weight is None else weight.view(-1), x if bias is None else bias.view(-1), y, eps)

    return Kernel(main, launch=launch, claims=wide_access(n, dtype))
