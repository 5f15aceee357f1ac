"""Products with few rows, or few columns: reading the other operand, the weights, takes the time.

Both programs multiply rows of the weights by the few rows of the other operand, over the whole of K in one
block: one kernel, and no sums between blocks.
"""

from functools import reduce
from operator import add
from typing import Any

import tilelang.language as T

from tileops.kernel import Kernel, Key
from tileops.kernels.gemm import schedules
from tileops.kernels.gemm.tiles import F32, Operands, Tile, allocate, multiply

THREADS, WIDE = 128, 8  # a thread of a dot product loads 8 elements of each row at a time
ROWS = 4  # rows of the weights of a block of dot products, each of which all threads read together

SWAPPED = {
    "64x16": Tile(64, 16, 4, 128, 128, blocks=2),
    "64x32": Tile(64, 32, 4, 128, 128, blocks=2),
    "64x64": Tile(64, 64, 3, 128, 128, blocks=2),
    "64x64 alone": Tile(64, 64, 6, 128, 128),
}
"""Rows of weights by rows of the other operand; a block alone on its multiprocessor loads further ahead."""


def dots(dtype: str, few: int, turned: bool) -> Any:
    """Dot products of ``ROWS`` rows of the weights with up to ``few`` rows, on the ordinary cores."""
    n, m, k8 = T.dynamic("n"), T.dynamic("m"), T.dynamic("k8")
    w_shape, x_shape, d_shape = (n, k8, WIDE), (m, k8, WIDE), (m, n) if turned else (n, m)

    @T.prim_func
    def main(W: T.Tensor(w_shape, dtype), X: T.Tensor(x_shape, dtype), D: T.Tensor(d_shape, dtype)):
        with T.Kernel(T.ceildiv(n, ROWS), threads=THREADS) as bx:
            w = T.alloc_fragment((ROWS, THREADS, WIDE), dtype)
            x = T.alloc_fragment((few, THREADS, WIDE), dtype)
            acc = T.alloc_fragment((few, ROWS, THREADS), F32)
            sums = T.alloc_shared((few * ROWS, THREADS), F32)
            parts, out = T.alloc_fragment((few * ROWS, THREADS), F32), T.alloc_fragment((few * ROWS,), F32)
            T.clear(acc)
            for ko in T.serial(T.ceildiv(k8, THREADS)):
                T.copy(W[bx * ROWS : (bx + 1) * ROWS, ko * THREADS : (ko + 1) * THREADS, 0:WIDE], w)
                T.copy(X[0:few, ko * THREADS : (ko + 1) * THREADS, 0:WIDE], x)
                for j, i, t in T.Parallel(few, ROWS, THREADS):
                    for v in T.unroll(WIDE):
                        acc[j, i, t] += T.cast(w[i, t, v], F32) * T.cast(x[j, t, v], F32)
            for j, i, t in T.Parallel(few, ROWS, THREADS):
                sums[j * ROWS + i, t] = acc[j, i, t]
            T.copy(sums, parts)
            T.reduce_sum(parts, out, dim=1)
            for r in T.Parallel(few * ROWS):
                j, i = r // ROWS, bx * ROWS + r % ROWS
                if j < m and i < n:
                    if turned:
                        D[j, i] = out[r]
                    else:
                        D[i, j] = out[r]

    return main


def folded(sums: Any, i: Any, j: Any, fold: int) -> Any:
    """The product of two rows, of which each is stored as ``fold`` rows: equal parts of K."""
    return reduce(add, (sums[i * fold + part, j * fold + part] for part in range(fold)))


@T.macro
def leave(acc, sums, D, at, first, n, m, kind, tile, fold, turned, scales, bias):
    """The sums leave through shared memory: rows are weights from the ``first`` on, columns the few rows."""
    T.copy(acc, sums[:, 0 : tile.cols])
    for j, i in T.Parallel(tile.cols // fold, tile.rows // fold):
        if j < m and first + i < n:
            value = folded(sums, i, j, fold)
            if kind.whole:
                value = value * (scales[0][0] * scales[1][0])
            if bias is not None:
                value = value + T.cast(bias[first + i], F32)
            if turned:
                D[(*at, j, first + i)] = value
            else:
                D[(*at, first + i, j)] = value


@T.macro
def product(W, X, scales, bias, D, steps, at, bx, n, m, kind, tile, fold, turned):
    """One tile of weights with all of the few rows, hardly fewer of them than the tile has columns.

    What a tile has beyond the tensor is not free: on an H200, times of tiles of 64 rows that held 1, 16 or 64
    rows say that TMA takes longer for a row of zeros than for one of memory.
    ``turned``: the few rows are those of the output, not its columns.
    """
    chip, sums = allocate(kind, tile), T.alloc_shared((tile.rows, tile.cols + 1), F32)
    schedules.share_chip(tile)
    T.clear(chip.acc)
    multiply(W, X, scales, chip, (at, at), bx * tile.rows, 0, 0, steps, kind, tile)
    leave(chip.acc, sums, D, at, bx * (tile.rows // fold), n, m, kind, tile, fold, turned, scales, bias)


def swapped(kind: Operands, tile: Tile, fold: int, turned: bool) -> Any:
    """Weights are the rows of a tile, the few rows of the other operand its columns."""
    n, m, k = T.dynamic("n"), T.dynamic("m"), T.dynamic("k")
    (w_shape, x_shape), dtype = kind.stored(n * fold, m * fold, k), kind.dtype
    d_shape, batch = (*kind.lead, *((m, n) if turned else (n, m))), kind.lead[0] if kind.lead else 1

    @T.prim_func
    def main(W: T.Tensor(w_shape, dtype), X: T.Tensor(x_shape, dtype), D: T.Tensor(d_shape, dtype)):
        with T.Kernel(T.ceildiv(n * fold, tile.rows), batch, threads=tile.threads) as (bx, bz):
            at, steps = (bz,) * len(kind.lead), T.ceildiv(k, tile.depth)
            product(W, X, (), None, D, steps, at, bx, n, m, kind, tile, fold, turned)

    return main


def gemm_gemv(key: Key) -> Kernel:
    """One to four rows, or columns: dot products on the ordinary cores.

    A block of four warps takes four rows of the weights; its threads share K and each loads 16 bytes of every
    row at a time, so that the loads in flight fill the way from memory. Their sums meet in shared memory in a
    fixed order. Bound: bytes of the weights.
    """
    turned = key.turned

    def launch(run, a, b, d):
        if a.numel() == 0:
            schedules.empty_sum(d)
            return
        m, n = d.shape  # K is innermost in memory, also where an operand of one row is stored transposed
        a, b = a.view(m, -1, WIDE), b.view(n, -1, WIDE)
        if turned and n == 1:  # one column is as one row
            a, b, d = b, a, d.view(1, m)
        run(*((b, a) if turned else (a, b)), d)

    return Kernel(dots(key.dtype("a"), key.rows, turned), launch=launch, claims=("uint4",))


def gemm_swapped(key: Key) -> Kernel:
    """Up to 64 rows, or columns: they are the columns of a tile whose rows are 64 rows of the weights.

    TMA loads three to six steps of 128 elements of K ahead. Where that makes few tiles, each row of both
    operands is read as two or four rows, equal parts of K, and a block adds the products of equal parts: more
    blocks, without partial sums in memory. Bound: bytes of the weights.
    """
    tile, fold, turned = SWAPPED[key.tile], key.fold, key.turned
    trans = (not key.trans_b, not key.trans_a) if turned else (key.trans_a, key.trans_b)

    def launch(run, a, b, d):
        if a.numel() == 0:
            schedules.empty_sum(d)
            return
        if fold > 1:  # K is innermost in both
            a, b = a.view(a.shape[0] * fold, -1), b.view(b.shape[0] * fold, -1)
        run(*((b, a) if turned else (a, b)), d)

    program = swapped(Operands(key.dtype("a"), *trans), tile, fold, turned)
    return Kernel(program, launch=launch, claims=("tma_load", "wgmma"))


def bmm_swapped(key: Key) -> Kernel:
    """The schedule of `gemm_swapped` for every matrix of a batch of few rows each."""
    kind = Operands(key.dtype("a"), True, True, (T.dynamic("batch"),))

    def launch(run, a, b, d):
        if a.numel() == 0:
            schedules.empty_sum(d)
            return
        run(b, a, d)

    program = swapped(kind, SWAPPED[key.tile], 1, True)
    return Kernel(program, launch=launch, claims=("tma_load", "wgmma"))
