"""Steps of a product of float16 rows with weights of four bits, on tensor cores."""

from typing import Any

import tilelang.language as T
from tilelang import layout

from tileops.kernels.gemm.tiles import F32

F16, U8, U16, U32 = "float16", "uint8", "uint16", "uint32"
MAGIC = 0x6400  # 1024 in float16, whose last bits count in ones
MAGICS = MAGIC << 16 | MAGIC  # and in each half of a word


def depth_of(group: int) -> int:
    """The K extent of a step, which lies within a group."""
    return next(depth for depth in (128, 64, 32) if group % depth == 0)


def whole(nibble: Any) -> Any:
    """1024 and an integer below 1024, by its bits."""
    return T.reinterpret(T.cast(nibble, U16) | T.cast(MAGIC, U16), F16)


def spread(packed: Any) -> Any:
    """A layout of packed rows in which eight of them lie in different banks, as TMA can store it."""
    width = int(packed.shape[1])
    layouts = {64: layout.make_half_bank_swizzled_layout, 32: layout.make_quarter_bank_swizzled_layout}
    return layouts.get(width, layout.make_linear_layout)(packed)


@T.macro
def unpack(packed, zero, w, rows, depth, magic):
    """Weights less their zero points, the low four bits of a byte first; both numbers are 1024 too large.

    A byte and its copy 12 bits higher have a weight at the end of each half of a word. ``magic`` is two times
    1024 by its bits, an argument: nvcc makes one instruction of "and" and "or" only where one operand is no
    constant.
    """
    pairs = T.alloc_fragment((rows, depth // 2), U32)
    large = T.view(pairs, (rows, depth), F16)
    for i, j in T.Parallel(rows, depth // 2):
        both = T.cast(packed[i, j], U32) * T.cast(0x1001, U32)
        pairs[i, j] = (both & T.cast(0x000F000F, U32)) | magic
    for i, j in T.Parallel(rows, depth):
        w[i, j] = large[i, j] - zero[i]


@T.macro
def scales_of(S, Z, scale, zero, row, group, rows):
    """Scales and zero points of a group, or those of the last group and the last row where there is none."""
    for i in T.Parallel(rows):
        zero[i] = Z[T.min(row + i, S.shape[0] - 1), T.min(group, S.shape[1] - 1)]
        scale[i] = S[T.min(row + i, S.shape[0] - 1), T.min(group, S.shape[1] - 1)]


@T.macro
def multiply(X, W, S, Z, acc, row, col, first, steps, spans, tile, depth, magic):
    """``acc += w[row:, k] @ x[col:, k].T`` over ``steps`` steps of K from ``first``, ``spans`` a group.

    Scales and zero points are loaded a step ahead.
    """
    sx, sw = T.alloc_shared((tile.cols, depth), F16), T.alloc_shared((tile.rows, depth // 2), U8)
    w, part = T.alloc_fragment((tile.rows, depth), F16), T.alloc_fragment((tile.rows, tile.cols), F32)
    scale, zero = T.alloc_fragment((tile.rows,), F32), T.alloc_fragment((tile.rows,), F16)
    next_scale, next_zero = T.alloc_fragment((tile.rows,), F32), T.alloc_fragment((tile.rows,), U8)
    T.annotate_layout({sw: spread(sw)})
    scales_of(S, Z, next_scale, next_zero, row, T.truncdiv(first, spans), tile.rows)
    for ko in T.Pipelined(steps, num_stages=tile.stages):
        T.copy(X[col : col + tile.cols, (first + ko) * depth : (first + ko + 1) * depth], sx)
        T.copy(W[row : row + tile.rows, (first + ko) * (depth // 2) : (first + ko + 1) * (depth // 2)], sw)
        for i in T.Parallel(tile.rows):
            zero[i] = whole(next_zero[i])
            scale[i] = next_scale[i]
        scales_of(S, Z, next_scale, next_zero, row, T.truncdiv(first + ko + 1, spans), tile.rows)
        unpack(sw, zero, w, tile.rows, depth, magic)
        T.gemm(w, sx, part, transpose_B=True, clear_accum=True, policy=T.GemmWarpPolicy.FullRow)
        for i, j in T.Parallel(tile.rows, tile.cols):
            acc[i, j] += part[i, j] * scale[i]


@T.macro
def multiply_guarded(X, W, S, Z, acc, row, col, group, groups, tile):
    """``acc += w[row:] @ x[col:].T``, each group in short steps of which the last is filled up with zeros."""
    sx, sw = T.alloc_shared((tile.cols, tile.depth), F16), T.alloc_shared((tile.rows, tile.depth), F16)
    part = T.alloc_fragment((tile.rows, tile.cols), F32)
    spans = -(-group // tile.depth)
    for step in T.serial(groups * spans):
        g, left = T.truncdiv(step, spans), T.truncmod(step, spans) * tile.depth
        for i, j in T.Parallel(tile.cols, tile.depth):
            sx[i, j] = T.if_then_else(left + j < group, X[col + i, g * group + left + j], T.float16(0))
        for i, j in T.Parallel(tile.rows, tile.depth):
            k = g * group + left + j
            nibble = (W[row + i, k // 2] >> T.cast(4 * (k % 2), U8)) & T.cast(15, U8)
            sw[i, j] = T.if_then_else(left + j < group, whole(nibble) - whole(Z[row + i, g]), T.float16(0))
        T.gemm(sw, sx, part, transpose_B=True, clear_accum=True, policy=T.GemmWarpPolicy.FullRow)
        for i, j in T.Parallel(tile.rows, tile.cols):
            acc[i, j] += part[i, j] * S[row + i, g]
