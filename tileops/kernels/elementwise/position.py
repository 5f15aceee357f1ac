"""Tables of positions: nothing is read, so the bound is the bytes of the output."""

import math

import tilelang.language as T

from tileops.kernel import Kernel, Key
from tileops.kernels.elements import ITEM_SIZE, vector_of, wide
from tileops.kernels.elementwise.unary import F32, THREADS

ROWS, COLUMNS = 32, 256


def alibi(key: Key) -> Kernel:
    """Tiles of several rows of one head, written 16 bytes at a time."""
    dtype = key.dtype("output")
    rows, block = 4, THREADS * vector_of(dtype)
    heads, s = T.dynamic("heads"), T.dynamic("s8") * 8 if key.aligned else T.dynamic("s")

    @T.prim_func
    def main(Y: T.Tensor((heads, s, s), dtype)):
        with T.Kernel(T.ceildiv(s, rows), T.ceildiv(s, block), heads, threads=THREADS) as (bi, bj, head):
            y = T.alloc_fragment((1, rows, block), dtype)
            T.annotate_layout({y: _wide_rows(y)})
            for h, i, j in T.Parallel(1, rows, block):
                slope = T.exp2(T.cast(-8 * (head + 1), F32) / T.cast(heads, F32))
                distance = T.cast((bi * rows + i) - (bj * block + j), F32)
                y[h, i, j] = T.cast(-slope * T.abs(distance), dtype)
            T.copy(y, Y[head, bi * rows, bj * block])

    return Kernel(main, launch=lambda run, y: run(y), claims=wide(dtype, key.aligned))


def sinusoidal(key: Key) -> Kernel:
    """Tiles of 32 positions and 128 frequencies, written 16 bytes at a time.

    A frequency, in turns a position, is a double, made once in a block and kept as the sum of two float32
    numbers. A fused multiplication drops the whole turns from the product with the position before anything
    is rounded, so that the angle at position 100000 is as exact as at 1.
    """
    dtype = key.dtype("output")
    s, d = T.dynamic("s"), T.dynamic("d8") * 8 if key.aligned else T.dynamic("d2") * 2
    sine, cosine = (T.__sin, T.__cos) if ITEM_SIZE[dtype] < 4 else (T.sin, T.cos)

    @T.prim_func
    def main(Y: T.Tensor((s, d), dtype)):
        with T.Kernel(T.ceildiv(s, ROWS), T.ceildiv(d, COLUMNS), threads=THREADS) as (bt, bc):
            high, low = T.alloc_shared((COLUMNS // 2,), F32), T.alloc_shared((COLUMNS // 2,), F32)
            y = T.alloc_fragment((ROWS, COLUMNS), dtype)
            T.annotate_layout({y: _wide_rows(y)})
            for m in T.Parallel(COLUMNS // 2):
                part = T.cast(bc * COLUMNS + 2 * m, "float64") / T.cast(d, "float64")
                frequency = T.exp2(-part * math.log2(10000.0) - math.log2(2 * math.pi))
                high[m] = T.cast(frequency, F32)
                low[m] = T.cast(frequency - T.cast(T.cast(frequency, F32), "float64"), F32)
            for i, j in T.Parallel(ROWS, COLUMNS):
                t = T.cast(bt * ROWS + i, F32)
                turns = T.nearbyint(t * high[j // 2])
                angle = (T.ieee_fmaf(t, high[j // 2], -turns) + t * low[j // 2]) * (2 * math.pi)
                y[i, j] = T.cast(T.if_then_else(j % 2 == 0, sine(angle), cosine(angle)), dtype)
            T.copy(y, Y[bt * ROWS, bc * COLUMNS])

    return Kernel(main, launch=lambda run, y: run(y), claims=wide(dtype, key.aligned))


def _wide_rows(tile: T.Buffer) -> T.Fragment:
    """Each thread holds pieces of 16 bytes of the tile, one after another thread's."""
    columns, width = tile.shape[-1], vector_of(str(tile.dtype))

    def place(*index):
        at = index[-2] * columns + index[-1]
        return at // width % THREADS, at // width // THREADS * width + at % width

    return T.Fragment(tile.shape, forward_fn=place)
