"""What is done to queries, keys and values ahead of attention: rotary positions, float8 to 16 bits."""

from typing import Any

import tilelang.language as T

from tileops.kernels.attention.macros import F32

ROWS, THREADS, BLOCK = 16, 128, 2048


def rotate(d: int, source: str, table: str, interleaved: bool) -> Any:
    """Rows of heads, rotated where they stand, rounded once to the dtype of the tables.

    Row r is position `start + r // heads` of its batch. Elements from `2 * half` on pass through.
    """
    b, n, length, half = (T.dynamic(name) for name in ("b", "n", "length", "half"))

    @T.prim_func
    def main(
        X: T.Tensor((b, n, d), source),
        C: T.Tensor((length, half), table),
        S: T.Tensor((length, half), table),
        Y: T.Tensor((b, n, d), table),
        heads: T.int32,
        start: T.int32,
    ):
        with T.Kernel(T.ceildiv(n, ROWS), b, threads=THREADS) as (bx, by):
            for i, j in T.Parallel(ROWS, d):
                r = bx * ROWS + i
                if r < n:
                    pos = start + r // heads
                    if interleaved:
                        m = T.min(j // 2, half - 1)
                        other = T.min(j + 1 - 2 * (j % 2), d - 1)
                        sign = T.cast(2 * (j % 2) - 1, F32)
                    else:
                        m = T.max(T.if_then_else(j < half, j, T.min(j - half, half - 1)), 0)
                        other = T.min(T.if_then_else(j < half, j + half, T.max(j - half, 0)), d - 1)
                        sign = T.if_then_else(j < half, -1.0, 1.0)
                    x, y = T.cast(X[by, r, j], F32), T.cast(X[by, r, other], F32)
                    turned = x * T.cast(C[pos, m], F32) + sign * y * T.cast(S[pos, m], F32)
                    Y[by, r, j] = T.cast(T.if_then_else(j < 2 * half, turned, x), table)

    return main


def convert(source: str, target: str) -> Any:
    """The same numbers in a wider dtype."""
    n = T.dynamic("n", "int64")

    @T.prim_func
    def main(X: T.Tensor((n,), source), Y: T.Tensor((n,), target)):
        with T.Kernel(T.ceildiv(n, BLOCK), threads=THREADS) as bx:
            for i in T.Parallel(BLOCK):
                Y[bx * BLOCK + i] = T.cast(X[bx * BLOCK + i], target)

    return main
