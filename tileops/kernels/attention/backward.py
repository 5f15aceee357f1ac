"""Gradients of attention: three passes, each with one owner for what it writes, so no sum has an open order.

1. `rows`: for every query the inner product of its output and of its gradient, and its log-sum-exp in base 2,
   in rows padded to whole tiles.
2. `key_gradients`: a block owns a tile of keys of one key head. It walks over the queries of all heads of the
   group that see it, and keeps the gradients of keys and values in registers.
3. `query_gradients`: a block owns a tile of queries of one head and walks over the keys that they see.

The weights are computed again in 2 and in 3: seven products of 2 * S * S * D operations a head where one pass
has five, but nothing quadratic in memory, no sum through memory, and no order between blocks. Bound: matrix
rate.
"""

from typing import Any

import tilelang.language as T
import torch

from tileops.kernel import Kernel, Key
from tileops.kernels.attention.core import whole_rows
from tileops.kernels.attention.gradients import (
    Owned,
    Tiles,
    key_loop,
    key_loop_of_pairs,
    query_loop,
    query_loop_of_pairs,
)
from tileops.kernels.attention.macros import F32, LOG2E, dense_rows
from tileops.kernels.elements import FLUSH

PAD = 128  # what every step over queries divides


def key_tiles(d: int, dtype: str) -> list[Tiles]:
    """Passes over keys: two warp groups hold 64 keys each; a wide head leaves registers for one gradient."""
    width, tma = -(-d // 64) * 64, whole_rows(d, dtype)
    if width <= 128:
        return [Tiles(64, 128, width, 2 * tma, dtype, width == 64)]
    return [Tiles(64, 128, width, tma * (2 if p == "v" or width < 256 else 1), dtype, False, p) for p in "kv"]


def query_tiles(d: int, dtype: str) -> Tiles:
    """The pass over queries: two warp groups hold 64 queries each."""
    width, tma = -(-d // 64) * 64, whole_rows(d, dtype)
    return Tiles(128, 128 if width == 128 else 64, width, tma * (2 if width < 256 else 1), dtype, width == 64)


@T.macro
def store(acc, tile, X, mine, factor, tiles, rows):
    """Scale, round once, and write the rows that exist; `tile` is shared memory that is free by now."""
    n0, b, h, width = mine.first, mine.at[0], mine.at[1], tiles.width
    for i, j in T.Parallel(rows, width):
        acc[i, j] = acc[i, j] * factor
    if tiles.stages:
        T.copy(acc, tile)
        T.copy(tile, X[b, n0 : n0 + rows, h, 0:width])
    else:
        T.copy(acc, X[b, n0 : n0 + rows, h, 0:width], disable_tma=True)


@T.macro
def key_tile(Q, K, V, G, ROW, DK, DV, b, hk, y, right, scale, tiles):
    """Scores are transposed, keys by queries: weights then enter both products from registers.

    The late queries come first: blocks that run at a time then read the same ones, whatever keys they own.
    """
    bn, width, tma = tiles.keys, tiles.width, tiles.stages > 0
    step = tiles.queries * (2 if tiles.pair else 1)
    sk, sv = T.alloc_shared((bn, width), tiles.dtype), T.alloc_shared((bn, width), tiles.dtype)
    dk, dv = T.alloc_fragment((bn, width), F32), T.alloc_fragment((bn, width), F32)
    group = T.truncdiv(Q.shape[2], K.shape[2])
    mine = Owned(y * bn, (b, hk), right, scale)
    last = T.ceildiv(Q.shape[1], step) - 1
    count = last + 1 - T.truncdiv(T.max(0, mine.first - right), step)
    dense_rows(K, sk, mine.at, mine.first, bn, width, tma)
    if "k" in tiles.parts:
        dense_rows(V, sv, mine.at, mine.first, bn, width, tma)
        T.clear(dk)
    if "v" in tiles.parts:
        T.clear(dv)
    if tiles.pair:
        key_loop_of_pairs(Q, G, ROW, sk, sv, dk, dv, (hk * group, group), last, count, mine, tiles)
    else:
        key_loop(Q, G, ROW, sk, sv, dk, dv, (hk * group, group), last, count, mine, tiles)
    if "k" in tiles.parts:
        store(dk, sk, DK, mine, scale, tiles, bn)
    if "v" in tiles.parts:
        store(dv, sv, DV, mine, 1.0, tiles, bn)


@T.macro
def query_tile(Q, K, V, G, ROW, DQ, b, hq, y, right, scale, tiles):
    """Late queries, which see the most keys when causal, start first."""
    bm, width, tma = tiles.queries, tiles.width, tiles.stages > 0
    sq, sg = T.alloc_shared((bm, width), tiles.dtype), T.alloc_shared((bm, width), tiles.dtype)
    dq = T.alloc_fragment((bm, width), F32)
    lse, delta = T.alloc_fragment((bm,), F32), T.alloc_fragment((bm,), F32)
    m0 = (T.ceildiv(Q.shape[1], bm) - 1 - y) * bm
    hk = T.truncdiv(hq, T.truncdiv(Q.shape[2], K.shape[2]))
    steps = T.ceildiv(T.min(Q.shape[1], m0 + bm + right), tiles.keys * (2 if tiles.pair else 1))
    dense_rows(Q, sq, (b, hq), m0, bm, width, tma)
    dense_rows(G, sg, (b, hq), m0, bm, width, tma)
    for i in T.Parallel(bm):
        lse[i] = ROW[b, hq, 0, m0 + i]
        delta[i] = ROW[b, hq, 1, m0 + i]
    T.clear(dq)
    if tiles.pair:
        query_loop_of_pairs(K, V, sq, sg, dq, lse, delta, steps, Owned(m0, (b, hk), right, scale), tiles)
    else:
        query_loop(K, V, sq, sg, dq, lse, delta, steps, Owned(m0, (b, hk), right, scale), tiles)
    store(dq, sq, DQ, Owned(m0, (b, hq), right, scale), scale, tiles, bm)


def shapes(d: int) -> tuple[Any, Any, Any]:
    """Of queries, of keys, and of what `rows` keeps of each head: log-sum-exps, then inner products."""
    b, s, h, h_kv, tiles = (T.dynamic(name) for name in ("b", "s", "h", "h_kv", "tiles"))
    return (b, s, h, d), (b, s, h_kv, d), (b, h, 2, tiles * PAD)


def rows(d: int, dtype: str) -> Any:
    """One read of the output and its gradient; an infinite log-sum-exp makes all weights of a row zero."""
    shape, _, kept = shapes(d)
    b, s, h, _ = shape
    width, part = 1 << (d - 1).bit_length(), 32

    @T.prim_func
    def main(
        O: T.Tensor(shape, dtype), G: T.Tensor(shape, dtype), LSE: T.Tensor((b, h, s), F32),
        ROW: T.Tensor(kept, F32),
    ):  # fmt: skip
        with T.Kernel(h, kept[3] // part, b, threads=128) as (hq, y, bz):
            o, g = T.alloc_fragment((part, width), dtype), T.alloc_fragment((part, width), dtype)
            x, delta = T.alloc_fragment((part, width), F32), T.alloc_fragment((part,), F32)
            m0 = y * part
            T.copy(O[bz, m0 : m0 + part, hq, 0:width], o, disable_tma=True)
            T.copy(G[bz, m0 : m0 + part, hq, 0:width], g, disable_tma=True)
            for i, j in T.Parallel(part, width):
                x[i, j] = T.cast(o[i, j], F32) * T.cast(g[i, j], F32)
            T.reduce_sum(x, delta, dim=1)
            for i in T.Parallel(part):
                lse = T.if_then_else(m0 + i < s, LSE[bz, hq, T.min(m0 + i, s - 1)], -T.infinity(F32))
                ROW[bz, hq, 0, m0 + i] = T.if_then_else(lse == -T.infinity(F32), T.infinity(F32), lse * LOG2E)
                ROW[bz, hq, 1, m0 + i] = delta[i]

    return main


def key_gradients(d: int, tiles: Tiles) -> Any:
    """Gradients of keys and values; of both, or of one where registers do not hold more."""
    q_shape, kv_shape, kept = shapes(d)
    b, s, h_kv, _ = kv_shape
    dtype = tiles.dtype

    @T.prim_func
    def main(
        Q: T.Tensor(q_shape, dtype), K: T.Tensor(kv_shape, dtype), V: T.Tensor(kv_shape, dtype),
        G: T.Tensor(q_shape, dtype), ROW: T.Tensor(kept, F32),
        DK: T.Tensor(kv_shape, dtype), DV: T.Tensor(kv_shape, dtype), right: T.int32, scale: T.float32,
    ):  # fmt: skip
        with T.Kernel(h_kv, T.ceildiv(s, tiles.keys), b, threads=256) as (hk, y, bz):
            key_tile(Q, K, V, G, ROW, DK, DV, bz, hk, y, right, scale, tiles)

    return main


def query_gradients(d: int, tiles: Tiles) -> Any:
    """Gradients of queries."""
    q_shape, kv_shape, kept = shapes(d)
    b, s, h, _ = q_shape
    dtype = tiles.dtype

    @T.prim_func
    def main(
        Q: T.Tensor(q_shape, dtype), K: T.Tensor(kv_shape, dtype), V: T.Tensor(kv_shape, dtype),
        G: T.Tensor(q_shape, dtype), ROW: T.Tensor(kept, F32), DQ: T.Tensor(q_shape, dtype),
        right: T.int32, scale: T.float32,
    ):  # fmt: skip
        with T.Kernel(h, T.ceildiv(s, tiles.queries), b, threads=256) as (hq, y, bz):
            query_tile(Q, K, V, G, ROW, DQ, bz, hq, y, right, scale, tiles)

    return main


def grouped_query_attention_gradient(key: Key) -> Kernel:
    """The three passes over square sequences."""
    d, dtype = key.D, key.dtype("q")
    by_query = query_tiles(d, dtype)
    programs = [rows(d, dtype), query_gradients(d, by_query)]
    programs += [key_gradients(d, tiles) for tiles in key_tiles(d, dtype)]

    def launch(run, q, k, v, o, do, lse, dq, dk, dv, causal):
        if not q.numel():
            dk.zero_()
            dv.zero_()
            return
        b, s, h, _ = q.shape
        kept = torch.empty((b, h, 2, -(-s // PAD) * PAD), dtype=torch.float32, device=q.device)
        right, scale = 0 if causal else s, d**-0.5
        run[0](o, do, lse, kept)
        run[1](q, k, v, do, kept, dq, right, scale)
        for by_key in run[2:]:
            by_key(q, k, v, do, kept, dk, dv, right, scale)

    tma = ("tma_load", "warpgroup_reg_alloc") if by_query.stages else ()
    return Kernel(*programs, launch=launch, claims=("wgmma", *tma), pass_configs=FLUSH)
