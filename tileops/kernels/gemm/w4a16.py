"""Products of float16 rows with weights of four bits, two in a byte, with a scale and a zero point a group.

A weight minus its zero point is an integer that float16 holds, so tensor cores sum exact products; the sum of
each step is scaled in float32. The output is computed transposed: weights are the left operand, which comes
from registers, where they are unpacked.
"""

from typing import Any

import tilelang.language as T
import torch

from tileops.kernel import Kernel, Key
from tileops.kernels.elements import UNCHECKED
from tileops.kernels.gemm import schedules
from tileops.kernels.gemm.dense import total_sums
from tileops.kernels.gemm.nibbles import F16, MAGICS, U8, depth_of, multiply, multiply_guarded
from tileops.kernels.gemm.tiles import F32, Tile

# Rows are weights, columns are rows of the activation.
FEW = {
    "16": Tile(64, 16, 6, 128, blocks=4),
    "32": Tile(64, 32, 4, 128, blocks=3),
    "64": Tile(64, 64, 4, 128, blocks=2),
}
MANY = Tile(128, 128, 3, 256)
GENERAL = Tile(64, 16, 0, 128, depth=32)

THREADS, WORDS, WIDE = 128, 4, 32  # a thread of a dot product loads 16 bytes of each row, 32 weights
ROWS = 4  # rows of the weights of a block of dot products
WHOLE = 0x4B000000  # 2**23 in float32, whose last bits count in ones


@T.macro
def store(acc, out, D, at, row, col, tile):
    """The transposed sums, through shared memory."""
    for i, j in T.Parallel(tile.rows, tile.cols):
        out[j, i] = acc[i, j]
    T.copy(out, D[(*at, slice(col, col + tile.cols), slice(row, row + tile.rows))])


def product(group: int, tile: Tile, split: bool) -> Any:
    """One output tile a block, or where blocks share K a tile of their float32 sums."""
    m, n, k, groups = T.dynamic("m"), T.dynamic("n"), T.dynamic("k32") * 32, T.dynamic("groups")
    depth, rows, cols, splits = depth_of(group), tile.rows, tile.cols, T.dynamic("splits") if split else 1
    d_shape, d_dtype = ((splits, m, n), F32) if split else ((m, n), F16)

    @T.prim_func
    def main(
        X: T.Tensor((m, k), F16),
        W: T.Tensor((n, k // 2), U8),
        S: T.Tensor((n, groups), F32),
        Z: T.Tensor((n, groups), U8),
        D: T.Tensor(d_shape, d_dtype),
        per: T.int32,
        magic: T.uint32,
    ):
        with T.Kernel(T.ceildiv(n, rows), T.ceildiv(m, cols), splits, threads=tile.threads) as (bx, by, bz):
            acc, out = T.alloc_fragment((rows, cols), F32), T.alloc_shared((cols, rows), d_dtype)
            schedules.share_chip(tile)
            if split:
                T.pdl_trigger()
            T.clear(acc)
            steps = T.max(0, T.min(per, T.ceildiv(k, depth) - bz * per))
            multiply(
                X, W, S, Z, acc, bx * rows, by * cols, bz * per, steps, group // depth, tile, depth, magic
            )
            store(acc, out, D, (bz,) * split, bx * rows, by * cols, tile)

    return main


def general(group: int, tile: Tile) -> Any:
    """Any sizes and groups, element by element under a guard."""
    m, n, k, k2, groups = (T.dynamic(name) for name in ("m", "n", "k", "k2", "groups"))
    rows, cols = tile.rows, tile.cols

    @T.prim_func
    def main(
        X: T.Tensor((m, k), F16),
        W: T.Tensor((n, k2), U8),
        S: T.Tensor((n, groups), F32),
        Z: T.Tensor((n, groups), U8),
        D: T.Tensor((m, n), F16),
    ):
        with T.Kernel(T.ceildiv(n, rows), T.ceildiv(m, cols), threads=tile.threads) as (bx, by):
            acc = T.alloc_fragment((rows, cols), F32)
            T.clear(acc)
            multiply_guarded(X, W, S, Z, acc, bx * rows, by * cols, group, groups, tile)
            for i, j in T.Parallel(rows, cols):
                if by * cols + j < m and bx * rows + i < n:
                    D[by * cols + j, bx * rows + i] = acc[i, j]

    return main


@T.macro
def weigh(w, x, scale, zero, acc, whole):
    """``acc += x * (w - zero) * scale``: a nibble stays where it lies in its half of a word.

    As the last bits of 2**23 the i-th is 16**i times too large, and so is the zero point that is subtracted,
    both exactly; ``x`` is 16**i times smaller. ``whole`` is 2**23 by its bits: nvcc makes one instruction of
    "and" and "or" only where one operand is no constant.
    """
    part, base = T.alloc_fragment((ROWS, THREADS), F32), T.alloc_fragment((ROWS, THREADS, 4), F32)
    T.clear(part)
    for i, t in T.Parallel(ROWS, THREADS):
        for v in T.unroll(4):
            base[i, t, v] = 8388608.0 + T.cast(zero[i, t], F32) * T.cast(T.shift_left(1, 4 * v), F32)
    for i, t in T.Parallel(ROWS, THREADS):
        for word in T.unroll(WORDS):
            for half in T.unroll(2):
                for v in T.unroll(4):
                    bits = (w[i, t, word] >> (16 * half)) & T.shift_left(15, 4 * v)
                    value = T.reinterpret(bits | whole, F32) - base[i, t, v]
                    part[i, t] += value * x[t, word * 8 + half * 4 + v]
    for i, t in T.Parallel(ROWS, THREADS):
        acc[i, t] += part[i, t] * scale[i, t]


def dots(group: int) -> Any:
    """Dot products of ``ROWS`` rows of the weights with one row, on the ordinary cores."""
    m, n, chunks, groups = (T.dynamic(name) for name in ("m", "n", "chunks", "groups"))

    @T.prim_func
    def main(
        X: T.Tensor((m, chunks, WIDE), F16),
        W: T.Tensor((n, chunks, WORDS), "int32"),
        S: T.Tensor((n, groups), F32),
        Z: T.Tensor((n, groups), U8),
        D: T.Tensor((m, n), F16),
        whole: T.int32,
    ):
        with T.Kernel(T.ceildiv(n, ROWS), threads=THREADS) as bx:
            w, half = (
                T.alloc_fragment((ROWS, THREADS, WORDS), "int32"),
                T.alloc_fragment((THREADS, WIDE), F16),
            )
            x = T.alloc_fragment((THREADS, WIDE), F32)
            scale, zero = T.alloc_fragment((ROWS, THREADS), F32), T.alloc_fragment((ROWS, THREADS), U8)
            acc, sums = T.alloc_fragment((ROWS, THREADS), F32), T.alloc_shared((ROWS, THREADS), F32)
            parts, out = T.alloc_fragment((ROWS, THREADS), F32), T.alloc_fragment((ROWS,), F32)
            T.clear(acc)
            for ko in T.serial(T.ceildiv(chunks, THREADS)):
                first = ko * THREADS
                T.copy(W[bx * ROWS : (bx + 1) * ROWS, first : first + THREADS, 0:WORDS], w)
                T.copy(X[0, first : first + THREADS, 0:WIDE], half)
                for i, t in T.Parallel(ROWS, THREADS):
                    scale[i, t] = S[bx * ROWS + i, T.truncdiv(first + t, group // WIDE)]
                    zero[i, t] = Z[bx * ROWS + i, T.truncdiv(first + t, group // WIDE)]
                for t in T.Parallel(THREADS):
                    for v in T.unroll(WIDE):
                        x[t, v] = T.cast(half[t, v], F32) * (1.0 / T.cast(T.shift_left(1, 4 * (v % 4)), F32))
                weigh(w, x, scale, zero, acc, whole)
            for i, t in T.Parallel(ROWS, THREADS):
                sums[i, t] = acc[i, t]
            T.copy(sums, parts)
            T.reduce_sum(parts, out, dim=1)
            for i in T.Parallel(ROWS):
                if bx * ROWS + i < n:
                    D[0, bx * ROWS + i] = out[i]

    return main


def gemm_w4a16_gemv(key: Key) -> Kernel:
    """One row: dot products on the ordinary cores.

    A block of four warps takes four rows of the weights; its threads share K and each loads 16 bytes of every
    row at a time, 32 weights of one group, whose sum is scaled in float32. Two instructions make a nibble a
    float32. Bound: instructions, about four and a half a weight.
    """

    def launch(run, x, w, scale, zero, d):
        if x.numel() == 0:
            schedules.empty_sum(d)
            return
        m, n = d.shape
        run(x.view(m, -1, WIDE), w.view(torch.int32).view(n, -1, WORDS), scale, zero, d, WHOLE)

    return Kernel(dots(key.group_size), launch=launch, claims=("uint4",))


def gemm_w4a16_few(key: Key) -> Kernel:
    """Few rows: blocks of 64 weights' rows split K, four blocks a multiprocessor.

    Packed bytes come in by TMA and are unpacked into registers, two weights by four instructions; the float32
    sums of the blocks are added by a second program, in a fixed order. Bound: bytes of the packed weight, and
    close to it the instructions of a step, about four a weight.
    """
    tile, depth = FEW[key.tile], depth_of(key.group_size)

    def launch(run, x, w, scale, zero, d):
        if x.numel() == 0:
            schedules.empty_sum(d)
            return
        (m, n), steps = d.shape, -(-x.shape[1] // depth)
        places = schedules.SMS * tile.blocks // schedules.tiles(n, m, tile.rows, tile.cols)
        per = max(4, -(-steps // max(1, places)))
        parts = -(-steps // per)
        workspace = torch.empty((parts, m, n), dtype=torch.float32, device=d.device)
        run[0](x, w, scale, zero, workspace, per, MAGICS)
        run[1](workspace.view(parts, -1), d.view(-1))

    programs = product(key.group_size, tile, True), total_sums(F16)
    claims = "tma_load", "wgmma_rs", "tl::sub2", "float4"
    return Kernel(*programs, launch=launch, claims=claims, pass_configs=UNCHECKED)


def gemm_w4a16_many(key: Key) -> Kernel:
    """One output tile a block: packed bytes come in by TMA and are unpacked, once for 128 rows, in registers.

    Bound: matrix rate; unpacking and the sums of each group take a part of it.
    """

    def launch(run, x, w, scale, zero, d):
        if x.numel() == 0:
            schedules.empty_sum(d)
            return
        run(x, w, scale, zero, d, -(-x.shape[1] // depth_of(key.group_size)), MAGICS)

    program = product(key.group_size, MANY, False)
    claims = "tma_load", "wgmma_rs", "tl::sub2", "tma_store"
    return Kernel(program, launch=launch, claims=claims, pass_configs=UNCHECKED)


def gemm_w4a16_general(key: Key) -> Kernel:
    """Any sizes and groups: operands are loaded and unpacked element by element under a guard."""

    def launch(run, x, w, scale, zero, d):
        if x.numel() == 0:
            schedules.empty_sum(d)
            return
        run(x, w, scale, zero, d)

    return Kernel(general(key.group_size, GENERAL), launch=launch, claims=("wgmma",))
