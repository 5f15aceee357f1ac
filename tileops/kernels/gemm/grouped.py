"""One product for each group of packed rows; which rows a group owns is known on the device only."""

from typing import Any

import tilelang.language as T
import torch

from tileops.kernel import Kernel, Key
from tileops.kernels.gemm import schedules
from tileops.kernels.gemm.tiles import Operands, Tile, allocate, load, load_guarded, multiply
from tileops.kernels.gemm.turning import turned

I32 = "int32"
THREADS = 128

ROWS = {
    "256x128": Tile(256, 128, 4, 256),
    "128x128": Tile(128, 128, 4, 256),
    "64x128": Tile(64, 128, 4, 128, blocks=2),
}
"""Output tiles of products that share rows, by the name that the manifest chooses from the mean group."""

COLUMNS = Tile(128, 256, 4, 256)
GENERAL = Tile(64, 64, 0, 128)


def listed_tiles(dtype: str, rows: int) -> Any:
    """Lists the tiles of all groups: group, first row, and the end of the group; -1 behind the last.

    Rows of no group become zero. A thread goes through all groups, for one entry of the list and one row.
    """
    total, groups, count, n = T.dynamic("total"), T.dynamic("groups"), T.dynamic("count"), T.dynamic("n")

    @T.prim_func
    def main(
        Sizes: T.Tensor((groups,), I32),
        Offsets: T.Tensor((groups,), I32),
        List: T.Tensor((count, 4), I32),
        D: T.Tensor((total, n), dtype),
    ):
        with T.Kernel(T.ceildiv(T.max(count, total), THREADS), threads=THREADS) as bx:
            for t in T.Parallel(THREADS):
                i = bx * THREADS + t
                group, first, stop = T.alloc_var(I32), T.alloc_var(I32), T.alloc_var(I32)
                seen, owned = T.alloc_var(I32), T.alloc_var(I32)
                group, first, stop, seen, owned = -1, 0, 0, 0, 0
                for e in T.serial(groups):
                    begin = T.min(T.max(Offsets[e], 0), total)
                    end = begin + T.min(T.max(Sizes[e], 0), total - begin)
                    tiles = T.ceildiv(end - begin, rows)
                    if i >= seen and i < seen + tiles:
                        group = e
                        first = begin + (i - seen) * rows
                        stop = end
                    if i >= begin and i < end:
                        owned = 1
                    seen = seen + tiles
                if i < count:
                    List[i, 0] = group
                    List[i, 1] = first
                    List[i, 2] = stop
                if i < total and owned == 0:
                    for j in T.serial(n):
                        D[i, j] = T.cast(0, dtype)

    return main


def row_products(kind: Operands, tile: Tile, guarded: bool = False) -> Any:
    """``D[rows of e] = A[rows of e] @ op(B[e])``, a listed tile a block."""
    total, groups, k = T.dynamic("total"), T.dynamic("groups"), T.dynamic("k")
    n = T.dynamic("n") if guarded else T.dynamic("n8") * 8
    count, dtype, bm, bn = T.dynamic("count"), kind.dtype, tile.rows, tile.cols
    b_shape = (groups, n, k) if kind.trans_b else (groups, k, n)

    @T.prim_func
    def main(
        A: T.Tensor((total, k), dtype),
        B: T.Tensor(b_shape, dtype),
        List: T.Tensor((count, 4), I32),
        D: T.Tensor((total, n), dtype),
    ):
        with T.Kernel(T.ceildiv(n, bn), count, threads=tile.threads) as (bx, by):
            chip, out = allocate(kind, tile), T.alloc_shared((bm, bn), dtype)
            schedules.share_chip(tile)
            T.use_swizzle(schedules.PANEL)
            row, end = List[by, 1], List[by, 2]
            T.clear(chip.acc)
            steps = T.if_then_else(List[by, 0] >= 0, T.ceildiv(k, tile.depth), 0)
            at = ((), (T.max(List[by, 0], 0),))
            multiply(A, B, (), chip, at, row, bx * bn, 0, steps, kind, tile, guarded)
            T.copy(chip.acc, out)
            if row + bm <= end and not guarded:
                T.copy(out, D[row : row + bm, bx * bn : (bx + 1) * bn])
            else:
                for i, j in T.Parallel(bm, bn):
                    if row + i < end and bx * bn + j < n:
                        D[row + i, bx * bn + j] = out[i, j]

    return main


@T.macro
def clear_behind(s, left, rows, depth, transposed):
    """Elements of an operand tile from the ``left``-th of K on become zero."""
    if transposed:
        for i, j in T.Parallel(depth, rows):
            s[i, j] = T.if_then_else(i < left, s[i, j], T.cast(0, s.dtype))
    else:
        for i, j in T.Parallel(rows, depth):
            s[i, j] = T.if_then_else(j < left, s[i, j], T.cast(0, s.dtype))


def column_products(kind: Operands, tile: Tile, guarded: bool = False) -> Any:
    """``D[e] = A[rows of e].T @ B[rows of e]``, one output tile a block; the rows are what is summed over.

    The last step of a group also loads rows of the next one, which become zero before they are multiplied.
    """
    total, groups, m, n = T.dynamic("total"), T.dynamic("groups"), T.dynamic("m"), T.dynamic("n")
    dtype, bm, bn, depth = kind.dtype, tile.rows, tile.cols, tile.depth
    a_shape, b_shape = kind.stored(m, n, total)

    @T.prim_func
    def main(
        A: T.Tensor(a_shape, dtype),
        B: T.Tensor(b_shape, dtype),
        Sizes: T.Tensor((groups,), I32),
        Offsets: T.Tensor((groups,), I32),
        D: T.Tensor((groups, m, n), dtype),
    ):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), groups, threads=tile.threads) as (bx, by, bz):
            chip, out = allocate(kind, tile), T.alloc_shared((bm, bn), dtype)
            begin = T.min(T.max(Offsets[bz], 0), total)
            size = T.min(T.max(Sizes[bz], 0), total - begin)
            T.clear(chip.acc)
            for ko in T.Pipelined(T.ceildiv(size, depth), num_stages=tile.stages):
                if guarded:
                    load_guarded(A, chip.a, (), by * bm, bm, begin + ko * depth, depth, True)
                    load_guarded(B, chip.b, (), bx * bn, bn, begin + ko * depth, depth, not kind.trans_b)
                else:
                    load(A, chip.a, (), by * bm, bm, begin + ko * depth, depth, True)
                    load(B, chip.b, (), bx * bn, bn, begin + ko * depth, depth, not kind.trans_b)
                left = size - ko * depth
                if left < depth:
                    clear_behind(chip.a, left, bm, depth, True)
                    clear_behind(chip.b, left, bn, depth, not kind.trans_b)
                    T.fence_proxy_async()
                T.gemm(
                    chip.a,
                    chip.b,
                    chip.acc,
                    transpose_A=True,
                    transpose_B=kind.trans_b,
                    policy=T.GemmWarpPolicy.FullRow,
                )
            if guarded:
                T.copy(
                    chip.acc,
                    D[bz, by * bm : (by + 1) * bm, bx * bn : (bx + 1) * bn],
                    disable_tma=True,
                )
            else:
                T.copy(chip.acc, out)
                T.copy(out, D[bz, by * bm : (by + 1) * bm, bx * bn : (bx + 1) * bn])

    return main


def by_rows(kind: Operands, tile: Tile, claims: tuple[str, ...]) -> Kernel:
    """The list of tiles, and the products of the tiles in it."""

    def launch(run, a, b, sizes, offsets, _, d):
        if a.numel() == 0 or b.numel() == 0:
            schedules.empty_sum(d)
            return
        count = d.shape[0] // tile.rows + sizes.shape[0]
        listed = torch.empty((count, 4), dtype=torch.int32, device=d.device)
        run[0](sizes, offsets, listed, d)
        run[1](a, b, listed, d)

    programs = listed_tiles(kind.dtype, tile.rows), row_products(kind, tile, tile is GENERAL)
    return Kernel(*programs, launch=launch, claims=claims)


def by_columns(kind: Operands, tile: Tile, claims: tuple[str, ...], turning: bool = False) -> Kernel:
    """The products that sum over the rows of their group; with ``turning``, b is transposed first."""
    products = column_products(kind, tile, tile is GENERAL)

    def launch(run, a, b, sizes, offsets, _, d):
        if a.numel() == 0 or b.numel() == 0:
            schedules.empty_sum(d)
            return
        if turning:
            rows = b.new_empty(b.shape[1], b.shape[0])
            run[1](b[None], rows[None])
            run, b = run[0], rows
        run(a, b, sizes, offsets, d)

    programs = (products, turned(kind.dtype)) if turning else (products,)
    return Kernel(*programs, launch=launch, claims=claims)


def grouped_gemm_rows(key: Key) -> Kernel:
    """Groups share the rows of a and of the output, each with its own b.

    A first program lists the output tiles of all groups on the device: no group's tile holds rows of another
    one, and the host knows only how many there can be. Then one listed tile a block; TMA starts at any row,
    and a tile that the group does not fill is stored row by row. Bound: matrix rate, for small groups the
    bytes of b.
    """
    kind = Operands(key.dtype("a"), False, key.transpose_b)
    return by_rows(kind, ROWS[key.tile], ("tma_load", "wgmma", "tma_store"))


def grouped_gemm_columns(key: Key) -> Kernel:
    """Groups share the rows of a and of b, over which they sum; each has its own output.

    One output tile of one group a block; the last step of K clears what belongs to the next group. A group
    without rows writes zeros. A b whose rows are innermost is transposed first, by its own program: a group
    begins anywhere, and TMA faults where it begins within 16 bytes of the innermost dimension. Bound: matrix
    rate.
    """
    kind = Operands(key.dtype("a"), True, False)
    return by_columns(kind, COLUMNS, ("tma_load", "wgmma", "tma_store"), turning=key.transpose_b)


def grouped_gemm_general(key: Key) -> Kernel:
    """Any sizes: operands are loaded element by element under a guard."""
    kind = Operands(key.dtype("a"), key.transpose_a, key.transpose_b)
    return (by_columns if key.transpose_a else by_rows)(kind, GENERAL, ("wgmma",))
