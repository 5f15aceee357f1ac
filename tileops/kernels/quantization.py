"""Row-wise quantization to e4m3: bound by one read of the input and one write of a byte an element.

The largest magnitude of a row is found among the bits of the magnitudes, as integers: for floats without
their sign the order is the same, and a NaN is above everything, where a maximum of floats would lose it.
"""

import tilelang.language as T

from tileops.kernel import Kernel, Key
from tileops.kernels.elements import wide
from tileops.kernels.rows import F32, row_tile

E4M3, E4M3_MAX, FLOOR = "float8_e4m3fn", 448.0, 1e-4
MAGNITUDE = 0x7FFFFFFF  # all bits of a float32 but its sign
LONG_THREADS, LONG_BLOCK = 512, 8192


@T.macro
def largest_bits(x, bits, top, rows, width):
    """Bits of the largest magnitude of each row; columns past a row's end were read as 0."""
    for i, j in T.Parallel(rows, width):
        bits[i, j] = T.bitwise_and(T.reinterpret(T.cast(x[i, j], F32), "int32"), MAGNITUDE)
    T.reduce_max(bits, top, dim=1)


@T.macro
def scale_of(top, scale, rows):
    """The scale of each row: a NaN passes the comparison with the floor."""
    for i in T.Parallel(rows):
        amax = T.reinterpret(top[i], F32)
        scale[i] = T.if_then_else(amax < FLOOR, FLOOR, amax) / E4M3_MAX


@T.macro
def quantize(x, scale, y, rows, width):
    """``y = x / scale`` in float32, rounded to e4m3: no quotient is beyond 448 by more than a rounding."""
    for i, j in T.Parallel(rows, width):
        y[i, j] = T.cast(T.cast(x[i, j], F32) / scale[i], E4M3)


def fp8_quant(key: Key) -> Kernel:
    """Rows that fit on chip: a block owns one (several when they are short) in registers.

    The row length is dynamic below a power-of-two bucket `block`; 16 elements or more a thread.
    """
    dtype = key.dtype("input_tensor")
    rows, width, threads = row_tile(key.block, dtype)
    m, n = T.dynamic("m", "int64"), T.dynamic("n8") * 8 if key.aligned else T.dynamic("n")

    @T.prim_func
    def main(X: T.Tensor((m, n), dtype), S: T.Tensor((m,), F32), Y: T.Tensor((m, n), E4M3)):
        with T.Kernel(T.ceildiv(m, rows), threads=threads) as bx:
            x, y = T.alloc_fragment((rows, width), dtype), T.alloc_fragment((rows, width), E4M3)
            bits, top = T.alloc_fragment((rows, width), "int32"), T.alloc_fragment((rows,), "int32")
            scale = T.alloc_fragment((rows,), F32)
            T.copy(X[bx * rows, 0], x)
            largest_bits(x, bits, top, rows, width)
            scale_of(top, scale, rows)
            T.copy(scale, S[bx * rows])
            quantize(x, scale, y, rows, width)
            T.copy(y, Y[bx * rows, 0])

    def launch(run, x, scale, y, n):
        run(x.view(-1, n), scale.view(-1), y.view(-1, n))

    return Kernel(main, launch=launch, claims=wide(dtype, key.aligned))


def fp8_quant_long(key: Key) -> Kernel:
    """Rows of any length: a block walks its row twice in pieces of 8192, then from the L2 cache."""
    dtype, block = key.dtype("input_tensor"), LONG_BLOCK
    m, n = T.dynamic("m", "int64"), T.dynamic("n8") * 8 if key.aligned else T.dynamic("n")

    @T.prim_func
    def main(X: T.Tensor((m, n), dtype), S: T.Tensor((m,), F32), Y: T.Tensor((m, n), E4M3)):
        with T.Kernel(m, threads=LONG_THREADS) as row:
            x, y = T.alloc_fragment((1, block), dtype), T.alloc_fragment((1, block), E4M3)
            bits, part = T.alloc_fragment((1, block), "int32"), T.alloc_fragment((1,), "int32")
            top, scale = T.alloc_fragment((1,), "int32"), T.alloc_fragment((1,), F32)
            T.clear(top)
            for b in T.serial(T.ceildiv(n, block)):
                T.copy(X[row, b * block], x)
                largest_bits(x, bits, part, 1, block)
                for i in T.Parallel(1):
                    top[i] = T.max(top[i], part[i])
            scale_of(top, scale, 1)
            T.copy(scale, S[row])
            for b in T.serial(T.ceildiv(n, block)):
                T.copy(X[row, b * block], x)
                quantize(x, scale, y, 1, block)
                T.copy(y, Y[row, b * block])

    def launch(run, x, scale, y, n):
        run(x.view(-1, n), scale.view(-1), y.view(-1, n))

    return Kernel(main, launch=launch, claims=wide(dtype, key.aligned))
