"""Matrix product of 16-bit operands, accumulated in float32 over the whole of K.

M, N and K are dynamic: one compilation serves every size. Large products run against the matrix rate, small
M against the bytes of b.
"""

from typing import Any

import tilelang.language as T
import torch

from tileops.kernel import Kernel, Key

F32 = "float32"
SMS = 132
SUM, LOADS = 512, 8  # elements of a block that adds partial products, and how many it loads at a time
DEPTH = 64  # the K extent of a tile: 128 bytes, one swizzled row of shared memory


@T.macro
def load_tile(X, s, row, k, rows, depth, transposed):
    """A (rows, depth) operand tile, or (depth, rows) where the operand is stored transposed."""
    if transposed:
        T.copy(X[k : k + depth, row : row + rows], s)
    else:
        T.copy(X[row : row + rows, k : k + depth], s)


@T.macro
def multiply(A, B, sa, sb, acc, row, col, first, steps, bm, bn, stages, trans_a, trans_b):
    """``acc += a[row:, k] @ b[k, col:]`` over ``steps`` tiles of K from tile ``first``."""
    for ko in T.Pipelined(steps, num_stages=stages):
        load_tile(A, sa, row, (first + ko) * DEPTH, bm, DEPTH, trans_a)
        load_tile(B, sb, col, (first + ko) * DEPTH, bn, DEPTH, not trans_b)
        T.gemm(sa, sb, acc, transpose_A=trans_a, transpose_B=trans_b, policy=T.GemmWarpPolicy.FullRow)


def operands(key: Key, bm: int, bn: int) -> tuple[Any, ...]:
    """Global and shared shapes of a and b, and the dynamic sizes."""
    m, n, k = T.dynamic("m"), T.dynamic("n"), T.dynamic("k")
    a, sa = ((k, m), (DEPTH, bm)) if key.trans_a else ((m, k), (bm, DEPTH))
    b, sb = ((n, k), (bn, DEPTH)) if key.trans_b else ((k, n), (DEPTH, bn))
    return a, b, sa, sb, m, n, k


def tiled(key: Key, bm: int, bn: int, stages: int, threads: int) -> Any:
    """One output tile a block: TMA loads run ahead of wgmma, the result leaves through shared memory."""
    dtype = key.dtype("a")
    a_shape, b_shape, sa_shape, sb_shape, m, n, k = operands(key, bm, bn)

    @T.prim_func
    def main(A: T.Tensor(a_shape, dtype), B: T.Tensor(b_shape, dtype), D: T.Tensor((m, n), dtype)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=threads) as (bx, by):
            sa, sb = T.alloc_shared(sa_shape, dtype), T.alloc_shared(sb_shape, dtype)
            acc, out = T.alloc_fragment((bm, bn), F32), T.alloc_shared((bm, bn), dtype)
            T.use_swizzle(8)
            T.clear(acc)
            steps = T.ceildiv(k, DEPTH)
            multiply(A, B, sa, sb, acc, by * bm, bx * bn, 0, steps, bm, bn, stages, key.trans_a, key.trans_b)
            T.copy(acc, out)
            T.copy(out, D[by * bm, bx * bn])

    return main


def launch_product(run: Any, a: torch.Tensor, b: torch.Tensor, d: torch.Tensor) -> None:
    """Launch, unless K is 0: a sum of no terms."""
    if a.numel() == 0:
        d.zero_()
        return
    run(a, b, d)


# Rows, columns, stages and threads of a block, by the name that the manifest chooses from the tile count.
TILES = {
    "256x128": (256, 128, 4, 256),
    "128x192": (128, 192, 4, 256),
    "128x128": (128, 128, 4, 256),
    "64x128": (64, 128, 6, 128),
}


def gemm_tma(key: Key) -> Kernel:
    """One output tile a block: TMA loads run four to six steps ahead, one or two warp groups multiply.

    A computing group owns 64 or 128 rows and the whole width of the tile in registers. Blocks walk the
    output in panels of eight tiles, so that what they load is shared through the L2 cache. Bound: matrix
    rate. The largest tile reaches it; the others are for products with too few of those, or an unlucky
    number, for the chip.
    """
    return Kernel(
        tiled(key, *TILES[key.tile]), launch=launch_product, claims=("tma_load", "wgmma", "tma_store")
    )


def gemm_split(key: Key) -> Kernel:
    """Few rows and a long K: the blocks that share an output tile split K and leave float32 partial products.

    The second kernel adds them in a fixed order, so two runs are bitwise equal. Bound: bytes of b.
    """
    dtype, bm, bn = key.dtype("a"), key.rows, 128
    stages, threads = (6, 128) if bm == 64 else (4, 256)
    a_shape, b_shape, sa_shape, sb_shape, m, n, k = operands(key, bm, bn)
    splits, size = T.dynamic("splits"), T.dynamic("size8") * 8

    @T.prim_func
    def partial(
        A: T.Tensor(a_shape, dtype),
        B: T.Tensor(b_shape, dtype),
        P: T.Tensor((splits, m, n), F32),
        per: T.int32,
    ):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), splits, threads=threads) as (bx, by, bz):
            sa, sb = T.alloc_shared(sa_shape, dtype), T.alloc_shared(sb_shape, dtype)
            acc, out = T.alloc_fragment((bm, bn), F32), T.alloc_shared((bm, bn), F32)
            T.clear(acc)
            steps = T.max(0, T.min(per, T.ceildiv(k, DEPTH) - bz * per))
            multiply(
                A, B, sa, sb, acc, by * bm, bx * bn, bz * per, steps, bm, bn, stages, key.trans_a, key.trans_b
            )
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
        k, (m, n) = a.shape[0 if key.trans_a else 1], d.shape
        tiles, steps = -(-m // bm) * -(-n // bn), -(-k // DEPTH)
        per = max(4, -(-steps // max(1, SMS // tiles)))  # K tiles of a block: one block a multiprocessor
        parts = -(-steps // per)
        workspace = torch.empty((parts, m, n), dtype=torch.float32, device=d.device)
        run[0](a, b, workspace, per)
        run[1](workspace.view(parts, -1), d.view(-1))

    return Kernel(partial, total, launch=launch, claims=("wgmma", "tma_load", "float4"))


def gemm_general(key: Key) -> Kernel:
    """Any sizes: tiles are loaded element by element under a guard; TMA wants rows of whole 16 bytes."""
    dtype, bm, bn = key.dtype("a"), 64, 128
    a_shape, b_shape, sa_shape, sb_shape, m, n, k = operands(key, bm, bn)

    @T.prim_func
    def main(A: T.Tensor(a_shape, dtype), B: T.Tensor(b_shape, dtype), D: T.Tensor((m, n), dtype)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            sa, sb = T.alloc_shared(sa_shape, dtype), T.alloc_shared(sb_shape, dtype)
            acc = T.alloc_fragment((bm, bn), F32)
            T.clear(acc)
            for ko in T.Pipelined(T.ceildiv(k, DEPTH), num_stages=2):
                if key.trans_a:
                    for i, j in T.Parallel(DEPTH, bm):
                        sa[i, j] = A[ko * DEPTH + i, by * bm + j]
                else:
                    for i, j in T.Parallel(bm, DEPTH):
                        sa[i, j] = A[by * bm + i, ko * DEPTH + j]
                if key.trans_b:
                    for i, j in T.Parallel(bn, DEPTH):
                        sb[i, j] = B[bx * bn + i, ko * DEPTH + j]
                else:
                    for i, j in T.Parallel(DEPTH, bn):
                        sb[i, j] = B[ko * DEPTH + i, bx * bn + j]
                T.gemm(sa, sb, acc, transpose_A=key.trans_a, transpose_B=key.trans_b)
            T.copy(acc, D[by * bm, bx * bn], disable_tma=True)

    return Kernel(main, launch=launch_product, claims=("wgmma",))
