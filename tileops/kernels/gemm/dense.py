"""Matrix products of 16-bit operands, alone and in batches, accumulated in float32 over the whole of K.

M, N, K and the batch are dynamic: one compilation serves every size. Large products run against the matrix
rate, small M against the bytes of b.
"""

from typing import Any

import tilelang.language as T
import torch

from tileops.kernel import Kernel, Key
from tileops.kernels.gemm import schedules
from tileops.kernels.gemm.tiles import F32, Operands, Tile, allocate, multiply

TILES = {
    "256x128": Tile(256, 128, 4, 256),
    "128x192": Tile(128, 192, 4, 256),
    "64x128": Tile(64, 128, 4, 128, blocks=2),
    "64x64": Tile(64, 64, 6, 128, blocks=2),
}
"""Output tiles by the name that the manifest chooses from their number."""

PERSISTENT = {
    "128x256": Tile(128, 256, 4, 256, pieces=2),
    "256x128": Tile(256, 128, 4, 256, pieces=2),
    "128x192": Tile(128, 192, 4, 256),
}
"""Output tiles of blocks that stay: a result leaves while the next tile's operands come in."""

SPLIT = {
    "64x128": Tile(64, 128, 6, 128),
    "128x64": Tile(128, 64, 4, 256, depth=128),
    "128x128": Tile(128, 128, 4, 256),
}
"""Output tiles of which several blocks each sum a part of K."""


def operands(key: Key) -> Operands:
    """What the key's operator multiplies; a batched one has a leading dimension and no switches."""
    if key.op.startswith("Bmm"):
        return Operands(key.dtype("a"), False, False, (T.dynamic("batch"),))
    return Operands(key.dtype("a"), key.trans_a, key.trans_b)


def tiled(kind: Operands, tile: Tile) -> Any:
    """One output tile a block: TMA loads run ahead of wgmma, the result leaves through shared memory."""
    m, n, k = T.dynamic("m"), T.dynamic("n"), T.dynamic("k")
    a_shape, b_shape = kind.stored(m, n, k)
    dtype, bm, bn, batch = kind.dtype, tile.rows, tile.cols, kind.lead[0] if kind.lead else 1
    d_shape = (*kind.lead, m, n)

    @T.prim_func
    def main(A: T.Tensor(a_shape, dtype), B: T.Tensor(b_shape, dtype), D: T.Tensor(d_shape, dtype)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), batch, threads=tile.threads) as (bx, by, bz):
            chip, out = allocate(kind, tile), T.alloc_shared((bm, bn), dtype)
            at = (bz,) * len(kind.lead)
            schedules.share_chip(tile)
            T.use_swizzle(schedules.PANEL)
            T.clear(chip.acc)
            steps = T.ceildiv(k, tile.depth)
            multiply(A, B, (), chip, (at, at), by * bm, bx * bn, 0, steps, kind, tile)
            schedules.store(chip.acc, out, D, at, by * bm, bx * bn, tile)

    return main


def persistent(kind: Operands, tile: Tile) -> Any:
    """Blocks that walk over the output: the loads of the next tile begin while a result leaves."""
    m, n, k = T.dynamic("m"), T.dynamic("n"), T.dynamic("k")
    a_shape, b_shape = kind.stored(m, n, k)
    dtype, batch = kind.dtype, kind.lead[0] if kind.lead else 1
    d_shape = (*kind.lead, m, n)

    @T.prim_func
    def main(
        A: T.Tensor(a_shape, dtype),
        B: T.Tensor(b_shape, dtype),
        D: T.Tensor(d_shape, dtype),
        workers: T.int32,
    ):
        with T.Kernel(workers, threads=tile.threads) as worker:
            schedules.walk(A, B, (), None, D, T.ceildiv(k, tile.depth), batch, kind, tile, worker, workers)

    return main


def launch_product(run: Any, a: torch.Tensor, b: torch.Tensor, d: torch.Tensor) -> None:
    """Launch, unless K is 0."""
    if a.numel() == 0:
        schedules.empty_sum(d)
        return
    run(a, b, d)


def gemm_persistent(key: Key) -> Kernel:
    """More output tiles than multiprocessors: one block for each, that walks over tiles.

    Two groups of warps multiply, each 64 or 128 rows of the tile with its whole width in registers; a third
    one loads, up to four steps ahead and across the end of a tile, so that its result leaves while the next
    one begins. Tiles are walked in panels of eight rows. Bound: matrix rate.
    """
    kind, tile = operands(key), PERSISTENT[key.tile]

    def launch(run, a, b, d):
        if a.numel() == 0:
            schedules.empty_sum(d)
            return
        count = schedules.tiles(d.shape[-2], d.shape[-1], tile.rows, tile.cols)
        run(a, b, d, min(schedules.SMS, count * (d.shape[0] if kind.lead else 1)))

    return Kernel(persistent(kind, tile), launch=launch, claims=("tma_load", "wgmma", "tma_store"))


def gemm_tma(key: Key) -> Kernel:
    """One output tile a block: TMA loads run four to six steps ahead, one or two warp groups multiply.

    A computing group owns 64 or 128 rows and the whole width of the tile in registers. Blocks walk the
    output in panels of eight tiles, so that what they load is shared through the L2 cache. Bound: matrix
    rate, and for few rows the bytes of b.
    """
    program = tiled(operands(key), TILES[key.tile])
    return Kernel(program, launch=launch_product, claims=("tma_load", "wgmma", "tma_store"))


def partial_sums(kind: Operands, tile: Tile) -> Any:
    """The blocks that share an output tile split K and leave float32 sums in a workspace.

    The program that adds them may be brought onto the chip while this one runs.
    """
    m, n, k = T.dynamic("m"), T.dynamic("n"), T.dynamic("k")
    a_shape, b_shape = kind.stored(m, n, k)
    dtype, bm, bn, splits = kind.dtype, tile.rows, tile.cols, T.dynamic("splits")
    p_shape = (splits, m, n)

    @T.prim_func
    def main(
        A: T.Tensor(a_shape, dtype), B: T.Tensor(b_shape, dtype), P: T.Tensor(p_shape, F32), per: T.int32
    ):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), splits, threads=tile.threads) as (bx, by, bz):
            chip, out = allocate(kind, tile), T.alloc_shared((bm, bn), F32)
            T.pdl_trigger()
            T.clear(chip.acc)
            steps = T.max(0, T.min(per, T.ceildiv(k, tile.depth) - bz * per))
            multiply(A, B, (), chip, ((), ()), by * bm, bx * bn, bz * per, steps, kind, tile)
            schedules.store(chip.acc, out, P, (bz,), by * bm, bx * bn, tile)

    return main


def total_sums(dtype: str) -> Any:
    """Adds the sums of a workspace in a fixed order."""
    splits, size = T.dynamic("splits"), T.dynamic("size8") * 8
    SUM, LOADS = schedules.SUM, schedules.LOADS

    @T.prim_func
    def main(P: T.Tensor((splits, size), F32), D: T.Tensor((size,), dtype)):
        with T.Kernel(T.ceildiv(size, SUM), threads=128) as bx:
            parts, acc = T.alloc_fragment((LOADS, SUM), F32), T.alloc_fragment((SUM,), F32)
            T.clear(acc)
            T.pdl_sync()
            for s in T.serial(T.ceildiv(splits, LOADS)):
                T.copy(P[s * LOADS : (s + 1) * LOADS, bx * SUM : (bx + 1) * SUM], parts)
                T.reduce_sum(parts, acc, dim=0, clear=False)
            T.copy(acc, D[bx * SUM])

    return main


def gemm_split(key: Key) -> Kernel:
    """Few rows and a long K: the blocks that share an output tile split K and leave float32 partial products.

    The second kernel adds them in a fixed order, so two runs are bitwise equal. Bound: bytes of b.
    """
    kind, tile = operands(key), SPLIT[key.tile]

    def launch(run, a, b, d):
        depth, (m, n) = a.shape[0 if kind.trans_a else 1], d.shape
        steps = -(-depth // tile.depth)
        per = schedules.share(steps, schedules.tiles(m, n, tile.rows, tile.cols))
        parts = -(-steps // per)
        workspace = torch.empty((parts, m, n), dtype=torch.float32, device=d.device)
        run[0](a, b, workspace, per)
        run[1](workspace.view(parts, -1), d.view(-1))

    programs = partial_sums(kind, tile), total_sums(kind.dtype)
    return Kernel(*programs, launch=launch, claims=("wgmma", "tma_load", "float4"))


def gemm_general(key: Key) -> Kernel:
    """Any sizes: tiles are loaded element by element under a guard; TMA wants rows of whole 16 bytes."""
    kind, tile = operands(key), Tile(64, 128, 2, 128)
    m, n, k = T.dynamic("m"), T.dynamic("n"), T.dynamic("k")
    a_shape, b_shape = kind.stored(m, n, k)
    dtype, bm, bn, batch = kind.dtype, tile.rows, tile.cols, kind.lead[0] if kind.lead else 1
    d_shape = (*kind.lead, m, n)

    @T.prim_func
    def main(A: T.Tensor(a_shape, dtype), B: T.Tensor(b_shape, dtype), D: T.Tensor(d_shape, dtype)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), batch, threads=tile.threads) as (bx, by, bz):
            at, steps = (bz,) * len(kind.lead), T.ceildiv(k, tile.depth)
            schedules.guarded(A, B, (), None, D, steps, at, by * bm, bx * bn, kind, tile, dtype)

    return Kernel(main, launch=launch_product, claims=("wgmma",))
