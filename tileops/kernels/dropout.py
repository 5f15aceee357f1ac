"""Dropout. The random numbers are a function of seed and place, so that every launch draws the same ones.

A counter-based generator, Philox4x32 with 10 rounds: 20 products of 32 bits give four numbers. That hides
behind the bytes of both tensors, which are the bound; no mask is written or read.
"""

import math

import tilelang.language as T

from tileops.kernel import Kernel, Key
from tileops.kernels.elements import ITEM_SIZE, wide
from tileops.kernels.rows import F32

U32, U64 = "uint32", "uint64"
THREADS, LANE = 256, 8  # of a block; elements of a thread, two draws of the generator
MULTIPLIERS, WEYL, ROUNDS = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85), 10


@T.macro
def philox(c, low, high):
    """``c``, a counter of 4 x 32 bits, becomes four random numbers under the key (low, high)."""
    for r in T.unroll(ROUNDS):
        a = T.cast(c[0], U64) * T.cast(MULTIPLIERS[0], U64)
        b = T.cast(c[2], U64) * T.cast(MULTIPLIERS[1], U64)
        first = T.bitwise_xor(T.cast(T.shift_right(b, T.cast(32, U64)), U32), c[1])
        third = T.bitwise_xor(T.cast(T.shift_right(a, T.cast(32, U64)), U32), c[3])
        c[1] = T.cast(b, U32)
        c[3] = T.cast(a, U32)
        c[0] = T.bitwise_xor(first, low + T.cast(r, U32) * T.cast(WEYL[0], U32))
        c[2] = T.bitwise_xor(third, high + T.cast(r, U32) * T.cast(WEYL[1], U32))


def dropout(key: Key) -> Kernel:
    """One read, one write, in 16-byte accesses. Four neighbours share a counter, their index over 4.

    A number's 24 upper bits are compared with `limit`, p in the same units, so the comparison is exact.
    float32 is divided by `keep`; for the 16-bit types the product with its inverse rounds to the same but
    for values in the middle between two, at a third of the work.
    """
    dtype = key.dtype("input")
    divide = ITEM_SIZE[dtype] == 4
    n = T.dynamic("n8", "int64") * 8 if key.aligned else T.dynamic("n", "int64")

    @T.prim_func
    def main(
        X: T.Tensor((n,), dtype),
        Y: T.Tensor((n,), dtype),
        limit: T.float32,
        keep: T.float32,
        low: T.uint32,
        high: T.uint32,
    ):
        with T.Kernel(T.ceildiv(n, THREADS * LANE), threads=THREADS) as bx:
            x = T.alloc_fragment((THREADS, LANE), dtype)
            for t, j in T.Parallel(THREADS, LANE):
                x[t, j] = X[T.cast(bx, "int64") * THREADS * LANE + t * LANE + j]
            for t in T.Parallel(THREADS):
                c = T.alloc_local((4,), U32)
                for q in T.unroll(LANE // 4):
                    counter = T.cast(T.cast(bx, "int64") * (THREADS * LANE // 4) + t * (LANE // 4) + q, U64)
                    c[0] = T.cast(counter, U32)
                    c[1] = T.cast(T.shift_right(counter, T.cast(32, U64)), U32)
                    c[2] = T.cast(0, U32)
                    c[3] = T.cast(0, U32)
                    philox(c, low, high)
                    for i in T.unroll(4):
                        drawn = T.cast(T.shift_right(c[i], T.cast(8, U32)), F32)
                        value = T.cast(x[t, q * 4 + i], F32)
                        scaled = value / keep if divide else value * (1.0 / keep)
                        x[t, q * 4 + i] = T.if_then_else(
                            drawn >= limit, T.cast(scaled, dtype), T.cast(0.0, dtype)
                        )
            for t, j in T.Parallel(THREADS, LANE):
                Y[T.cast(bx, "int64") * THREADS * LANE + t * LANE + j] = x[t, j]

    def launch(run, x, y, p, training, seed):
        p = p if training else 0.0
        run(x.view(-1), y.view(-1), math.ceil(p * 2**24), 1.0 - p, seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF)

    return Kernel(main, launch=launch, claims=wide(dtype, key.aligned))
