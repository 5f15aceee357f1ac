"""Products of float8 operands: scales of whole operands, or of every row and 128 elements of K.

Tensor cores keep about 14 bits of a sum of float8 products, so each step of 128 elements of K is summed apart
and added in float32. There block scales apply; scales of whole operands apply once, before the bias.
"""

from typing import Any

import tilelang.language as T
import torch

from tileops.kernel import Kernel, Key
from tileops.kernels.gemm import few, schedules
from tileops.kernels.gemm.tiles import F32, Operands, Tile
from tileops.kernels.gemm.turning import turn, turned, turned_scales

DEPTH = 128
GENERAL = Tile(64, 64, 0, 128, DEPTH)  # what is converted on the way cannot be loaded ahead
GENERAL_BATCH = Tile(64, 32, 0, 128, DEPTH)  # a third index leaves registers for fewer columns

PERSISTENT = {
    "128x192": Tile(128, 192, 4, 256, DEPTH),
    "128x128": Tile(128, 128, 5, 256, DEPTH),
    "64x128": Tile(64, 128, 4, 128, DEPTH, blocks=2),
    "64x64": Tile(64, 64, 6, 128, DEPTH, blocks=2),
    "64x32": Tile(64, 32, 6, 128, DEPTH, blocks=2),
}
"""Output tiles by the name that the manifest chooses from their number."""

WHOLE = PERSISTENT | {"64x32": Tile(64, 32, 4, 128, DEPTH, blocks=2, group=2)}
BLOCKS = PERSISTENT | {"128x128": Tile(128, 128, 2, 256, DEPTH, group=2, turns=True)}
"""Those of single products with scales of whole operands, and of blocks. Two steps in flight together are
faster on an H200 where a block has little to do in a step, or much to do with its sums."""

SWAPPED = {
    "64x16": Tile(64, 16, 8, 128, DEPTH, blocks=2),
    "64x32": Tile(64, 32, 8, 128, DEPTH, blocks=2),
    "64x64": Tile(64, 64, 6, 128, DEPTH, blocks=2),
}
"""Rows of weights by rows of the other operand, by the name that the manifest chooses from their number."""


def operands(key: Key) -> Operands:
    """What the key's operator multiplies; a batched one has a leading dimension and whole scales."""
    if key.op.startswith("Bmm"):
        return Operands("float8_e4m3fn", False, key.op == "BmmFp8NKFwdOp", (T.dynamic("batch"),))
    return Operands("float8_e4m3fn", blocks=key.blocks)


def scale_shapes(kind: Operands) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Shapes of the scales: block scales are transposed, in rows of whole 16 bytes."""
    if not kind.blocks:
        return (1,), (1,)
    steps = T.dynamic("steps")
    return (steps, T.dynamic("m4") * 4), (steps, T.dynamic("n4") * 4)


def persistent(kind: Operands, tile: Tile, out_dtype: str, biased: bool) -> Any:
    """Blocks that walk over the output: the loads of the next tile begin while a result leaves."""
    m, n, k = T.dynamic("m"), T.dynamic("n"), T.dynamic("k")
    (a_shape, b_shape), (sa_shape, sb_shape) = kind.stored(m, n, k), scale_shapes(kind)
    dtype, batch = kind.dtype, kind.lead[0] if kind.lead else 1
    c_shape = (n,) if biased else (1,)  # without a bias, any tensor

    @T.prim_func
    def main(
        A: T.Tensor(a_shape, dtype),
        B: T.Tensor(b_shape, dtype),
        SA: T.Tensor(sa_shape, F32),
        SB: T.Tensor(sb_shape, F32),
        C: T.Tensor(c_shape, out_dtype),
        D: T.Tensor((*kind.lead, m, n), out_dtype),
        workers: T.int32,
    ):
        with T.Kernel(workers, threads=tile.threads) as worker:
            steps, bias = T.ceildiv(k, tile.depth), C if biased else None
            schedules.walk(A, B, (SA, SB), bias, D, steps, batch, kind, tile, worker, workers)

    return main


def swapped(kind: Operands, tile: Tile, fold: int, out_dtype: str, biased: bool) -> Any:
    """Rows of b are the rows of a tile, the few rows of a its columns."""
    m, n, k = T.dynamic("m"), T.dynamic("n"), T.dynamic("k")
    (w_shape, x_shape), (sw_shape, sx_shape) = kind.stored(n * fold, m * fold, k), scale_shapes(kind)
    dtype, c_shape, batch = kind.dtype, (n,) if biased else (1,), kind.lead[0] if kind.lead else 1

    @T.prim_func
    def main(
        W: T.Tensor(w_shape, dtype),
        X: T.Tensor(x_shape, dtype),
        SW: T.Tensor(sw_shape, F32),
        SX: T.Tensor(sx_shape, F32),
        C: T.Tensor(c_shape, out_dtype),
        D: T.Tensor((*kind.lead, m, n), out_dtype),
    ):
        with T.Kernel(T.ceildiv(n * fold, tile.rows), batch, threads=tile.threads) as (bx, bz):
            at, steps, bias = (bz,) * len(kind.lead), T.ceildiv(k, tile.depth), C if biased else None
            few.product(W, X, (SW, SX), bias, D, steps, at, bx, n, m, kind, tile, fold, True)

    return main


def general(kind: Operands, tile: Tile, out_dtype: str, biased: bool) -> Any:
    """Any sizes: guarded loads, converted to float16, which holds every float8 value and all layouts."""
    m, n, k, steps = T.dynamic("m"), T.dynamic("n"), T.dynamic("k"), T.dynamic("steps")
    a_shape, b_shape = kind.stored(m, n, k)
    sa_shape, sb_shape = ((m, steps), (n, steps)) if kind.blocks else ((1,), (1,))
    dtype, bm, bn, batch = kind.dtype, tile.rows, tile.cols, kind.lead[0] if kind.lead else 1
    c_shape = (n,) if biased else (1,)

    @T.prim_func
    def main(
        A: T.Tensor(a_shape, dtype),
        B: T.Tensor(b_shape, dtype),
        SA: T.Tensor(sa_shape, F32),
        SB: T.Tensor(sb_shape, F32),
        C: T.Tensor(c_shape, out_dtype),
        D: T.Tensor((*kind.lead, m, n), out_dtype),
    ):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), batch, threads=tile.threads) as (bx, by, bz):
            at, steps, bias = (bz,) * len(kind.lead), T.ceildiv(k, tile.depth), C if biased else None
            row, col = by * bm, bx * bn
            schedules.guarded(A, B, (SA, SB), bias, D, steps, at, row, col, kind, tile, "float16")

    return main


def workers(d: torch.Tensor, tile: Tile) -> int:
    """Blocks that walk over the tiles of an output."""
    matrices = d.shape[0] if d.dim() == 3 else 1
    count = schedules.tiles(d.shape[-2], d.shape[-1], tile.rows, tile.cols) * matrices
    return min(schedules.SMS * tile.blocks, count)


def stays(key: Key) -> Tile:
    """The tile of blocks that stay; only on a GPU there are warps to take turns."""
    tile = (PERSISTENT if key.op.startswith("Bmm") else BLOCKS if key.blocks else WHOLE)[key.tile]
    return tile if key.target == "hopper" else tile._replace(turns=False)


def gemm_fp8_persistent(key: Key) -> Kernel:
    """One block for each multiprocessor, or two, that walks over output tiles.

    Two groups of warps multiply, each 64 rows of the tile; while one adds its step to its sums, the other
    one's step is in the tensor cores. A third group loads across the end of a tile. Block scales come
    in with their step, after a small program has put K outermost. Bound: matrix rate, for few rows the bytes
    of b.
    """
    kind, tile, biased = operands(key), stays(key), key.given("bias")
    program = persistent(kind, tile, key.dtype("d"), biased)

    def launch(run, a, b, scale_a, scale_b, bias, d):
        if a.numel() == 0:
            schedules.empty_sum(d, bias)
            return
        c = bias if biased else d.view(-1)[:1]
        if not kind.blocks:
            run(a, b, scale_a.view(1), scale_b.view(1), c, d, workers(d, tile))
            return
        turned_a, turned_b = turn(run[1], scale_a, scale_b)
        run[0](a, b, turned_a, turned_b, c, d, workers(d, tile))

    programs = (program, turned_scales()) if kind.blocks else (program,)
    return Kernel(*programs, launch=launch, claims=("tma_load", "wgmma", "tma_store"))


def gemm_fp8_swapped(key: Key) -> Kernel:
    """Up to 64 rows of a: they are the columns of a tile whose rows are 64 rows of b.

    TMA loads six to eight steps of 128 elements of K ahead. Where that makes few tiles, each row is read as
    two or four, equal parts of K, and a block adds the products of equal parts. Bound: bytes of b.
    """
    kind, tile, fold, biased = operands(key), SWAPPED[key.tile], key.fold, key.given("bias")

    def launch(run, a, b, scale_a, scale_b, bias, d):
        if a.numel() == 0:
            schedules.empty_sum(d, bias)
            return
        (m, n), c = d.shape, bias if biased else d.view(-1)[:1]
        a, b = a.view(m * fold, -1), b.view(n * fold, -1)
        if not kind.blocks:
            run(b, a, scale_b.view(1), scale_a.view(1), c, d)
            return
        turned_a, turned_b = turn(run[1], scale_a.view(m * fold, -1), scale_b.view(n * fold, -1))
        run[0](b, a, turned_b, turned_a, c, d)

    program = swapped(kind, tile, fold, key.dtype("d"), biased)
    programs = (program, turned_scales()) if kind.blocks else (program,)
    return Kernel(*programs, launch=launch, claims=("tma_load", "wgmma"))


def gemm_fp8_general(key: Key) -> Kernel:
    """Any sizes: tiles are loaded element by element under a guard and multiplied in float16."""
    kind, biased = operands(key), key.given("bias")

    def launch(run, a, b, scale_a, scale_b, bias, d):
        if a.numel() == 0:
            schedules.empty_sum(d, bias)
            return
        scales = (scale_a, scale_b) if kind.blocks else (scale_a.view(1), scale_b.view(1))
        run(a, b, *scales, bias if biased else d.view(-1)[:1], d)

    program = general(kind, GENERAL, key.dtype("d"), biased)
    return Kernel(program, launch=launch, claims=("wgmma",))


def over_batch(kind: Operands, program: Any, tile: Tile | None, claims: tuple[str, ...]) -> Kernel:
    """The products of a batch by a program that wants K innermost; `tile` is that of one whose blocks stay.

    A b that is stored (K, N) is transposed first, by its own program.
    """
    programs = (program,) if kind.trans_b else (program, turned("uint8"))

    def launch(run, a, b, scale_a, scale_b, d):
        if a.numel() == 0:
            schedules.empty_sum(d)
            return
        if not kind.trans_b:
            turned_b = b.new_empty(b.shape[0], b.shape[2], b.shape[1])
            run[1](b.view(torch.uint8), turned_b.view(torch.uint8))
            run, b = run[0], turned_b
        scale_a, scale_b, c = scale_a.view(1), scale_b.view(1), d.view(-1)[:1]
        if tile is None:
            run(b, a, scale_b, scale_a, c, d)
        else:
            run(a, b, scale_a, scale_b, c, d, workers(d, tile))

    return Kernel(*programs, launch=launch, claims=claims)


def bmm_fp8_persistent(key: Key) -> Kernel:
    """The schedule of `gemm_fp8_persistent` over a batch; b is transposed where it has to be."""
    kind, tile = operands(key), stays(key)
    program = persistent(kind._replace(trans_b=True), tile, key.dtype("d"), False)
    return over_batch(kind, program, tile, ("tma_load", "wgmma", "tma_store"))


def bmm_fp8_swapped(key: Key) -> Kernel:
    """The schedule of `gemm_fp8_swapped` for each matrix of a batch; b is transposed where it has to be."""
    kind = operands(key)
    program = swapped(kind._replace(trans_b=True), SWAPPED[key.tile], 1, key.dtype("d"), False)
    return over_batch(kind, program, None, ("tma_load", "wgmma"))


def bmm_fp8_general(key: Key) -> Kernel:
    """Any sizes: tiles are loaded element by element under a guard and multiplied in float16."""
    program = general(operands(key), GENERAL_BATCH, key.dtype("d"), False)

    def launch(run, a, b, scale_a, scale_b, d):
        if a.numel() == 0:
            schedules.empty_sum(d)
            return
        run(a, b, scale_a.view(1), scale_b.view(1), d.view(-1)[:1], d)

    return Kernel(program, launch=launch, claims=("wgmma",))
