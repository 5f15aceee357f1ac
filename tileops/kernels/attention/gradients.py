"""The inner loops of the gradients of attention, as macros: `backward` has the passes that they are part of.

Both walk over tiles of the other side and compute the weights again. What a warp group waits for is only what
it needs next: exponentials run beside the second product of scores, gradients of scores beside what comes
after it. Where a head is narrow, exponentials take as long as products; there a step has two tiles, `a` and
`b`, and the products of one run beside the exponentials of the other.
"""

from typing import Any, NamedTuple

import tilelang.language as T

from tileops.kernels.attention.core import ROWS
from tileops.kernels.attention.macros import F32, LOG2E, dense_rows


class Tiles(NamedTuple):
    """What shapes a pass.

    Attributes:
        queries: Queries of a tile.
        keys: Keys of a tile.
        width: Head dimension, padded to whole swizzles.
        stages: Steps in flight; 0 without TMA.
        dtype: Of the tensors and of what enters a product.
        pair: Whether a step has two tiles of the side that a block walks over.
        parts: What of "k" and "v" the pass over keys computes.
    """

    queries: int
    keys: int
    width: int
    stages: int
    dtype: str
    pair: bool = False
    parts: str = "kv"


class Owned(NamedTuple):
    """What a block owns: its first row, of batch and head; how far keys after a query are seen; the scale."""

    first: Any
    at: Any
    right: Any
    scale: Any


@T.macro
def keep(x, tile, never, rows):
    """Keep `tile` from being overwritten before this point (see `macros.hold`)."""
    if never:
        for i in T.Parallel(rows):
            x[i] = T.cast(tile[i % tile.shape[0], 0], F32)


@T.macro
def product(x, y, s):
    """Scores of rows of `x` and rows of `y`, not waited for."""
    T.wgmma_gemm(x, y, s, transpose_B=True, clear_accum=True, policy=ROWS)


@T.macro
def key_weights(s, row, m0, mine, tiles):
    """Scores, keys by queries, to weights; queries beyond the end have an infinite log-sum-exp.

    What is hidden is erased after the exponentials: the branch keeps the assembler from moving them behind
    the wait that follows, where they would no longer run beside a product.
    """
    for i, j in T.Parallel(tiles.keys, tiles.queries):
        s[i, j] = T.exp2(s[i, j] * (mine.scale * LOG2E) - row[0, j])
    if mine.first + tiles.keys - 1 > m0 + mine.right:
        for i, j in T.Parallel(tiles.keys, tiles.queries):
            s[i, j] = T.if_then_else(mine.first + i <= m0 + j + mine.right, s[i, j], 0.0)


@T.macro
def add_values(s, p, sg, dv):
    """The gradient of values from weights."""
    T.copy(s, p)
    T.wgmma_gemm(p, sg, dv, policy=ROWS)


@T.macro
def add_keys(s, g, w, row, sq, dk, tiles):
    """The gradient of keys from weights and the products of values and gradients."""
    for i, j in T.Parallel(tiles.keys, tiles.queries):
        g[i, j] = s[i, j] * (g[i, j] - row[1, j])
    T.copy(g, w)
    T.wgmma_gemm(w, sq, dk, policy=ROWS)


@T.macro
def key_fetch(Q, G, ROW, sq, sg, row, hq, m0, mine, tiles):
    """A tile of queries, of gradients, and of what `backward.rows` keeps of them."""
    dense_rows(Q, sq, (mine.at[0], hq), m0, tiles.queries, tiles.width, tiles.stages > 0)
    dense_rows(G, sg, (mine.at[0], hq), m0, tiles.queries, tiles.width, tiles.stages > 0)
    T.copy(ROW[mine.at[0], hq, 0:2, m0 : m0 + tiles.queries], row)


@T.macro
def key_loop(Q, G, ROW, sk, sv, dk, dv, heads, last, count, mine, tiles):
    """`dk` and `dv` of a tile of keys over the queries of all `heads` of a group, the last ones first."""
    bn, bm, width = tiles.keys, tiles.queries, tiles.width
    sq, sg = T.alloc_shared((bm, width), tiles.dtype), T.alloc_shared((bm, width), tiles.dtype)
    row = T.alloc_shared((2, bm), F32)
    s, p = T.alloc_fragment((bn, bm), F32), T.alloc_fragment((bn, bm), tiles.dtype)
    g, w = T.alloc_fragment((bn, bm), F32), T.alloc_fragment((bn, bm), tiles.dtype)
    low = T.alloc_fragment((bn,), F32)
    for t in T.Pipelined(count * heads[1], num_stages=tiles.stages):
        m0 = (last - T.truncmod(t, count)) * bm
        key_fetch(Q, G, ROW, sq, sg, row, heads[0] + T.truncdiv(t, count), m0, mine, tiles)
        product(sk, sq, s)
        if "k" in tiles.parts:
            product(sv, sg, g)
            T.wait_wgmma(1)
        else:
            T.wait_wgmma(0)
        key_weights(s, row, m0, mine, tiles)
        if "v" in tiles.parts:
            add_values(s, p, sg, dv)
        if tiles.parts == "kv":
            T.wait_wgmma(1)
        if tiles.parts == "k":
            T.wait_wgmma(0)
        if "k" in tiles.parts:
            add_keys(s, g, w, row, sq, dk, tiles)
        T.wait_wgmma(0)
        keep(low, sq, mine.scale < 0.0, bn)
        keep(low, sg, mine.scale < 0.0, bn)


@T.macro
def key_loop_of_pairs(Q, G, ROW, sk, sv, dk, dv, heads, last, count, mine, tiles):
    """The same with two tiles a step. Three of the four products that are under way are never waited for."""
    bn, bm, width = tiles.keys, tiles.queries, tiles.width
    sqa, sga = T.alloc_shared((bm, width), tiles.dtype), T.alloc_shared((bm, width), tiles.dtype)
    sqb, sgb = T.alloc_shared((bm, width), tiles.dtype), T.alloc_shared((bm, width), tiles.dtype)
    rowa, rowb = T.alloc_shared((2, bm), F32), T.alloc_shared((2, bm), F32)
    sa, ga = T.alloc_fragment((bn, bm), F32), T.alloc_fragment((bn, bm), F32)
    sb, gb = T.alloc_fragment((bn, bm), F32), T.alloc_fragment((bn, bm), F32)
    pa, wa = T.alloc_fragment((bn, bm), tiles.dtype), T.alloc_fragment((bn, bm), tiles.dtype)
    pb, wb = T.alloc_fragment((bn, bm), tiles.dtype), T.alloc_fragment((bn, bm), tiles.dtype)
    low = T.alloc_fragment((bn,), F32)
    for t in T.Pipelined(count * heads[1], num_stages=tiles.stages):
        hq = heads[0] + T.truncdiv(t, count)
        m0 = (last - T.truncmod(t, count)) * (2 * bm)
        key_fetch(Q, G, ROW, sqa, sga, rowa, hq, m0, mine, tiles)
        key_fetch(Q, G, ROW, sqb, sgb, rowb, hq, m0 + bm, mine, tiles)
        product(sk, sqa, sa)
        product(sv, sga, ga)
        product(sk, sqb, sb)
        product(sv, sgb, gb)
        T.wait_wgmma(3)
        key_weights(sa, rowa, m0, mine, tiles)
        add_values(sa, pa, sga, dv)
        T.wait_wgmma(3)
        add_keys(sa, ga, wa, rowa, sqa, dk, tiles)
        T.wait_wgmma(3)
        key_weights(sb, rowb, m0 + bm, mine, tiles)
        add_values(sb, pb, sgb, dv)
        T.wait_wgmma(3)
        add_keys(sb, gb, wb, rowb, sqb, dk, tiles)
        T.wait_wgmma(0)
        keep(low, sqa, mine.scale < 0.0, bn)
        keep(low, sga, mine.scale < 0.0, bn)
        keep(low, sqb, mine.scale < 0.0, bn)
        keep(low, sgb, mine.scale < 0.0, bn)


@T.macro
def query_weights(s, lse, mine, tiles):
    """Scores, queries by keys, to weights; see `erase` for those that are hidden."""
    for i, j in T.Parallel(tiles.queries, tiles.keys):
        s[i, j] = T.exp2(s[i, j] * (mine.scale * LOG2E) - lse[i])


@T.macro
def erase(s, n0, at, columns, keys, mine, tiles):
    """Zeros for hidden keys in some columns; keys beyond the end score 0, maybe far above all others."""
    if n0 + at + columns > T.min(keys, mine.first + mine.right + 1):
        for i, j in T.Parallel(tiles.queries, columns):
            seen = (n0 + at + j < keys) and (n0 + at + j <= mine.first + i + mine.right)
            s[i, at + j] = T.if_then_else(seen, s[i, at + j], 0.0)


@T.macro
def add_queries(s, g, w, at, columns, delta, sk, dq, tiles):
    """The gradient of queries from these columns of weights and of products of gradients and values."""
    for i, j in T.Parallel(tiles.queries, columns):
        w[i, j] = T.cast(s[i, at + j] * (g[i, at + j] - delta[i]), tiles.dtype)
    T.wgmma_gemm(w, sk[at : at + columns, 0 : tiles.width], dq, policy=ROWS)


@T.macro
def query_loop(K, V, sq, sg, dq, lse, delta, steps, mine, tiles):
    """`dq` of a tile of queries over the keys that they see.

    The last product is in halves, so that gradients of the second half of scores run beside the product of
    the first. Erasing that half once more changes nothing; the branch keeps the assembler from moving what
    comes after it in front of the product.
    """
    bn, bm, width, tma, half = tiles.keys, tiles.queries, tiles.width, tiles.stages > 0, tiles.keys // 2
    sk, sv = T.alloc_shared((bn, width), tiles.dtype), T.alloc_shared((bn, width), tiles.dtype)
    s, g = T.alloc_fragment((bm, bn), F32), T.alloc_fragment((bm, bn), F32)
    wa, wb = T.alloc_fragment((bm, half), tiles.dtype), T.alloc_fragment((bm, half), tiles.dtype)
    low = T.alloc_fragment((bm,), F32)
    for t in T.Pipelined(steps, num_stages=tiles.stages):
        n0 = t * bn
        dense_rows(K, sk, mine.at, n0, bn, width, tma)
        product(sq, sk, s)
        dense_rows(V, sv, mine.at, n0, bn, width, tma)
        product(sg, sv, g)
        T.wait_wgmma(1)
        query_weights(s, lse, mine, tiles)
        erase(s, n0, 0, bn, K.shape[1], mine, tiles)
        T.wait_wgmma(0)
        add_queries(s, g, wa, 0, half, delta, sk, dq, tiles)
        erase(s, n0, half, half, K.shape[1], mine, tiles)
        add_queries(s, g, wb, half, half, delta, sk, dq, tiles)
        T.wait_wgmma(0)
        keep(low, sk, mine.scale < 0.0, bm)
        keep(low, sv, mine.scale < 0.0, bm)


@T.macro
def query_loop_of_pairs(K, V, sq, sg, dq, lse, delta, steps, mine, tiles):
    """The same with two tiles a step."""
    bn, bm, width, tma = tiles.keys, tiles.queries, tiles.width, tiles.stages > 0
    ska, sva = T.alloc_shared((bn, width), tiles.dtype), T.alloc_shared((bn, width), tiles.dtype)
    skb, svb = T.alloc_shared((bn, width), tiles.dtype), T.alloc_shared((bn, width), tiles.dtype)
    sa, ga = T.alloc_fragment((bm, bn), F32), T.alloc_fragment((bm, bn), F32)
    sb, gb = T.alloc_fragment((bm, bn), F32), T.alloc_fragment((bm, bn), F32)
    wa, wb = T.alloc_fragment((bm, bn), tiles.dtype), T.alloc_fragment((bm, bn), tiles.dtype)
    low = T.alloc_fragment((bm,), F32)
    for t in T.Pipelined(steps, num_stages=tiles.stages):
        n0 = t * (2 * bn)
        dense_rows(K, ska, mine.at, n0, bn, width, tma)
        product(sq, ska, sa)
        dense_rows(V, sva, mine.at, n0, bn, width, tma)
        product(sg, sva, ga)
        dense_rows(K, skb, mine.at, n0 + bn, bn, width, tma)
        product(sq, skb, sb)
        dense_rows(V, svb, mine.at, n0 + bn, bn, width, tma)
        product(sg, svb, gb)
        T.wait_wgmma(3)
        query_weights(sa, lse, mine, tiles)
        erase(sa, n0, 0, bn, K.shape[1], mine, tiles)
        T.wait_wgmma(2)
        add_queries(sa, ga, wa, 0, bn, delta, ska, dq, tiles)
        T.wait_wgmma(2)
        query_weights(sb, lse, mine, tiles)
        erase(sb, n0 + bn, 0, bn, K.shape[1], mine, tiles)
        T.wait_wgmma(1)
        add_queries(sb, gb, wb, 0, bn, delta, skb, dq, tiles)
        T.wait_wgmma(0)
        keep(low, ska, mine.scale < 0.0, bm)
        keep(low, sva, mine.scale < 0.0, bm)
        keep(low, skb, mine.scale < 0.0, bm)
        keep(low, svb, mine.scale < 0.0, bm)
