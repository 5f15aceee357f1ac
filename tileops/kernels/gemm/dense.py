"""Matrix products of 16-bit operands, alone and in batches, accumulated in float32 over the whole of K.

M, N, K and the batch are dynamic: one compilation serves every size. Large products run against the matrix
rate, small M against the bytes of b.
"""

from typing import Any

import tilelang.language as T
import torch

from tileops.kernel import Kernel, Key
from tileops.kernels.gemm.tiles import F32, Operands, Tile, multiply, multiply_guarded

SMS = 132
SUM, LOADS = 512, 8  # elements of a block that adds partial products, and how many it loads at a time

TILES = {
    "256x128": Tile(256, 128, 4, 256),
    "128x192": Tile(128, 192, 4, 256),
    "128x128": Tile(128, 128, 4, 256),
    "64x128": Tile(64, 128, 6, 128),
}
"""Output tiles by the name that the manifest chooses from their number."""


def operands(key: Key) -> Operands:
    """What the key's operator multiplies; a batched one has a leading dimension and no switches."""
    if key.op.startswith("Bmm"):
        return Operands(key.dtype("a"), False, False, (T.dynamic("batch"),))
    return Operands(key.dtype("a"), key.trans_a, key.trans_b)


def tiled(kind: Operands, tile: Tile) -> Any:
    """One output tile a block: TMA loads run ahead of wgmma, the result leaves through shared memory."""
    m, n, k = T.dynamic("m"), T.dynamic("n"), T.dynamic("k")
    (a_shape, b_shape), (sa_shape, sb_shape) = kind.stored(m, n, k), kind.on_chip(tile)
    dtype, bm, bn, batch = kind.dtype, tile.rows, tile.cols, kind.lead[0] if kind.lead else 1

    @T.prim_func
    def main(
        A: T.Tensor(a_shape, dtype), B: T.Tensor(b_shape, dtype), D: T.Tensor((*kind.lead, m, n), dtype)
    ):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), batch, threads=tile.threads) as (bx, by, bz):
            sa, sb = T.alloc_shared(sa_shape, dtype), T.alloc_shared(sb_shape, dtype)
            acc, out = T.alloc_fragment((bm, bn), F32), T.alloc_shared((bm, bn), dtype)
            at = (bz,) * len(kind.lead)
            T.use_swizzle(8)
            T.clear(acc)
            multiply(A, B, sa, sb, acc, at, by * bm, bx * bn, 0, T.ceildiv(k, tile.depth), kind, tile)
            T.copy(acc, out)
            T.copy(out, D[(*at, slice(by * bm, (by + 1) * bm), slice(bx * bn, (bx + 1) * bn))])

    return main


def launch_product(run: Any, a: torch.Tensor, b: torch.Tensor, d: torch.Tensor) -> None:
    """Launch, unless K is 0: a sum of no terms."""
    if a.numel() == 0:
        d.zero_()
        return
    run(a, b, d)


def gemm_tma(key: Key) -> Kernel:
    """One output tile a block: TMA loads run four to six steps ahead, one or two warp groups multiply.

    A computing group owns 64 or 128 rows and the whole width of the tile in registers. Blocks walk the
    output in panels of eight tiles, so that what they load is shared through the L2 cache. Bound: matrix
    rate. The largest tile reaches it; the others are for products with too few of those, or an unlucky
    number, for the chip.
    """
    program = tiled(operands(key), TILES[key.tile])
    return Kernel(program, launch=launch_product, claims=("tma_load", "wgmma", "tma_store"))


def gemm_split(key: Key) -> Kernel:
    """Few rows and a long K: the blocks that share an output tile split K and leave float32 partial products.

    The second kernel adds them in a fixed order, so two runs are bitwise equal. Bound: bytes of b.
    """
    kind, tile = operands(key), Tile(key.rows, 128, *((6, 128) if key.rows == 64 else (4, 256)))
    dtype, bm, bn = kind.dtype, tile.rows, tile.cols
    m, n, k = T.dynamic("m"), T.dynamic("n"), T.dynamic("k")
    (a_shape, b_shape), (sa_shape, sb_shape) = kind.stored(m, n, k), kind.on_chip(tile)
    splits, size = T.dynamic("splits"), T.dynamic("size8") * 8

    @T.prim_func
    def partial(
        A: T.Tensor(a_shape, dtype),
        B: T.Tensor(b_shape, dtype),
        P: T.Tensor((splits, m, n), F32),
        per: T.int32,
    ):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), splits, threads=tile.threads) as (bx, by, bz):
            sa, sb = T.alloc_shared(sa_shape, dtype), T.alloc_shared(sb_shape, dtype)
            acc, out = T.alloc_fragment((bm, bn), F32), T.alloc_shared((bm, bn), F32)
            T.clear(acc)
            steps = T.max(0, T.min(per, T.ceildiv(k, tile.depth) - bz * per))
            multiply(A, B, sa, sb, acc, (), by * bm, bx * bn, bz * per, steps, kind, tile)
            T.copy(acc, out)
            T.copy(out, P[bz, by * bm : (by + 1) * bm, bx * bn : (bx + 1) * bn])

    @T.prim_func
    def total(P: T.Tensor((splits, size), F32), D: T.Tensor((size,), dtype)):
        with T.Kernel(T.ceildiv(size, SUM), threads=128) as bx:
            parts, acc = T.alloc_fragment((LOADS, SUM), F32), T.alloc_fragment((SUM,), F32)
            T.clear(acc)
            for s in T.serial(T.ceildiv(splits, LOADS)):
                T.copy(P[s * LOADS : (s + 1) * LOADS, bx * SUM : (bx + 1) * SUM], parts)
                T.reduce_sum(parts, acc, dim=0, clear=False)
            T.copy(acc, D[bx * SUM])

    def launch(run, a, b, d):
        depth, (m, n) = a.shape[0 if key.trans_a else 1], d.shape
        tiles, steps = -(-m // bm) * -(-n // bn), -(-depth // tile.depth)
        per = max(4, -(-steps // max(1, SMS // tiles)))  # K tiles of a block: one block a multiprocessor
        parts = -(-steps // per)
        workspace = torch.empty((parts, m, n), dtype=torch.float32, device=d.device)
        run[0](a, b, workspace, per)
        run[1](workspace.view(parts, -1), d.view(-1))

    return Kernel(partial, total, launch=launch, claims=("wgmma", "tma_load", "float4"))


def gemm_general(key: Key) -> Kernel:
    """Any sizes: tiles are loaded element by element under a guard; TMA wants rows of whole 16 bytes."""
    kind, tile = operands(key), Tile(64, 128, 2, 128)
    m, n, k = T.dynamic("m"), T.dynamic("n"), T.dynamic("k")
    (a_shape, b_shape), (sa_shape, sb_shape) = kind.stored(m, n, k), kind.on_chip(tile)
    dtype, bm, bn, batch = kind.dtype, tile.rows, tile.cols, kind.lead[0] if kind.lead else 1

    @T.prim_func
    def main(
        A: T.Tensor(a_shape, dtype), B: T.Tensor(b_shape, dtype), D: T.Tensor((*kind.lead, m, n), dtype)
    ):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), batch, threads=tile.threads) as (bx, by, bz):
            sa, sb = T.alloc_shared(sa_shape, dtype), T.alloc_shared(sb_shape, dtype)
            acc = T.alloc_fragment((bm, bn), F32)
            at = (bz,) * len(kind.lead)
            T.clear(acc)
            multiply_guarded(A, B, sa, sb, acc, at, by * bm, bx * bn, T.ceildiv(k, tile.depth), kind, tile)
            T.copy(
                acc,
                D[(*at, slice(by * bm, (by + 1) * bm), slice(bx * bn, (bx + 1) * bn))],
                disable_tma=True,
            )

    return Kernel(main, launch=launch_product, claims=("wgmma",))
