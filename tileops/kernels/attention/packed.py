"""Attention over packed sequences: each request is a run of rows, found through its prefix sums.

A small program lists the tiles of all requests, so that the grid depends on sizes alone and no block has to
search: a row of the list is the first query row, how many of its rows are of the request, first key row,
keys, the key at which the first query stands, the request, its first query row, its keys less its queries.
Rows of no request are tiles without keys.
"""

from collections.abc import Callable
from typing import Any

import tilelang.language as T
import torch
from torch import Tensor

from tileops.kernel import Kernel, Key
from tileops.kernels.attention.core import Plan, attend, claims, exponents, plan, reach, span, units
from tileops.kernels.attention.dense import widened
from tileops.kernels.attention.macros import F32, Mask, Scale, normalize, packed_rows
from tileops.kernels.attention.rotate import convert
from tileops.kernels.elements import FLUSH

I32 = "int32"
FIELDS = 8  # of a tile in the list
THREADS = 128


@T.macro
def list_tiles(Tiles, r, requests, base, start, stop, k0, keys, behind, rows, slots):
    """The tiles of segment `r`, from slot `base` on; the last segment takes all slots that remain.

    `behind` is the key at which its first query stands.
    """
    count = T.if_then_else(r == requests + 1, slots - base, T.ceildiv(stop - start, rows))
    for c in T.serial(T.ceildiv(count, THREADS)):
        for i in T.Parallel(THREADS):
            n = c * THREADS + i
            if (n < count) and (base + n < slots):
                Tiles[base + n, 0] = T.min(start + n * rows, stop)
                Tiles[base + n, 1] = T.max(0, T.min(rows, stop - start - n * rows))
                Tiles[base + n, 2] = k0
                Tiles[base + n, 3] = keys
                Tiles[base + n, 4] = n * rows + behind
                Tiles[base + n, 5] = T.max(0, T.min(r - 1, requests - 1))
                Tiles[base + n, 6] = start
                Tiles[base + n, 7] = behind


def tiling(cached: bool = False) -> Any:
    """Lists the tiles; a block a segment. Prefix sums out of order or range are clamped.

    `cached`: the keys are not packed rows but so many in a cache, with the new ones behind `t_kv` at most.
    """
    ends, slots, lengths = T.dynamic("ends"), T.dynamic("slots"), T.dynamic("lengths")

    @T.prim_func
    def main(
        CQ: T.Tensor((ends,), I32), CK: T.Tensor((lengths,), I32), Tiles: T.Tensor((slots, FIELDS), I32),
        t_q: T.int32, t_kv: T.int32, rows: T.int32,
    ):  # fmt: skip
        with T.Kernel(ends + 1, threads=THREADS) as r:
            base, start, stop = (T.alloc_var(I32, init=0) for _ in range(3))
            for n in T.serial(r + 1):
                base = base + T.ceildiv(stop - start, rows)
                start = T.if_then_else(n == 0, 0, T.max(0, T.min(CQ[T.max(n - 1, 0)], t_q)))
                stop = T.if_then_else(n == ends, t_q, T.max(start, T.min(CQ[T.min(n, ends - 1)], t_q)))
            real = (r > 0) and (r < ends)
            first = CK[T.max(0, T.min(r - 1, lengths - 1))]
            if cached:
                behind = T.max(0, T.min(first, t_kv))
                keys = T.if_then_else(real, T.min(behind + stop - start, t_kv), 0)
                list_tiles(Tiles, r, ends - 1, base, start, stop, 0, keys, behind, rows, slots)
            else:
                k0 = T.if_then_else(real, T.max(0, T.min(first, t_kv)), 0)
                k1 = T.if_then_else(real, T.max(k0, T.min(CK[T.min(r, lengths - 1)], t_kv)), k0)
                behind = k1 - k0 - (stop - start)
                list_tiles(Tiles, r, ends - 1, base, start, stop, k0, k1 - k0, behind, rows, slots)

    return main


@T.macro
def packed_tile(Q, K, V, Tiles, O, hq, y, window, scale, factors, plan):
    """A tile of queries of one head of a request; late ones start first, those without a row end at once.

    Whole tiles leave through shared memory, as those of dense sequences do.
    """
    bm, width, tma = plan.rows, plan.width, plan.stages > 0
    sq, out = T.alloc_shared((bm, width), plan.types[0]), T.alloc_shared((bm, width), O.dtype)
    o = T.alloc_fragment((bm, width), F32)
    top, total = T.alloc_fragment((bm,), F32), T.alloc_fragment((bm,), F32)
    hk = T.truncdiv(hq, T.truncdiv(Q.shape[1], K.shape[1]))
    slot = Tiles.shape[0] - 1 - y
    row, rows, request = Tiles[slot, 0], Tiles[slot, 1], Tiles[slot, 5]
    k0, keys, place = Tiles[slot, 2], Tiles[slot, 3], Tiles[slot, 4]
    if plan.turns:
        if rows == 0:
            T.thread_return()
    mask = Mask(place, 0, 1, keys, window[0], window[1])
    begin, steps = span(mask, plan.keys, T.max(rows, 1))
    inner, unit = units(scale, factors, request, hk)
    here = Scale(inner, scale.factor, scale.cap)
    packed_rows(Q, sq, (row, hq), 0, bm, width, tma)
    attend(packed_rows, K, V, (k0, hk), sq, o, top, total, mask, here, plan, begin, steps)
    normalize(o, top, total, scale.factor, unit, bm, width)
    if plan.turns:
        if rows == bm:
            T.copy(o, out)
            T.copy(out, O[row : row + bm, hq, 0:width])
        else:
            store_some(o, O, row, rows, hq, bm, width)
    else:
        store_some(o, O, row, rows, hq, bm, width)


@T.macro
def store_some(o, O, row, rows, hq, bm, width):
    """The first rows of a tile alone: those behind are of another request."""
    for i, j in T.Parallel(bm, width):
        if (i < rows) and (j < O.shape[2]):
            O[row + i, hq, j] = o[i, j]


def flash(d: int, plan: Plan, float8: bool) -> Any:
    """Flash attention of packed (rows, head, d); float8 tensors have factors by request and key head."""
    t_q, t_kv, h, h_kv, b, slots = (T.dynamic(name) for name in ("t_q", "t_kv", "h", "h_kv", "b", "slots"))
    qk, pv = plan.types
    q_shape, kv_shape, factor_shape = (t_q, h, d), (t_kv, h_kv, d), (b, h_kv)

    @T.prim_func
    def plain(
        Q: T.Tensor(q_shape, qk), K: T.Tensor(kv_shape, qk), V: T.Tensor(kv_shape, pv),
        Tiles: T.Tensor((slots, FIELDS), I32), O: T.Tensor(q_shape, pv),
        left: T.int32, right: T.int32, inner: T.float32, factor: T.float32, cap: T.float32,
    ):  # fmt: skip
        with T.Kernel(h, slots, threads=plan.threads) as (hq, y):
            packed_tile(Q, K, V, Tiles, O, hq, y, (left, right), Scale(inner, factor, cap), None, plan)

    @T.prim_func
    def scaled(
        Q: T.Tensor(q_shape, qk), K: T.Tensor(kv_shape, qk), V: T.Tensor(kv_shape, pv),
        Tiles: T.Tensor((slots, FIELDS), I32),
        QS: T.Tensor(factor_shape, F32), KS: T.Tensor(factor_shape, F32), VS: T.Tensor(factor_shape, F32),
        O: T.Tensor(q_shape, pv),
        left: T.int32, right: T.int32, inner: T.float32, factor: T.float32, cap: T.float32,
    ):  # fmt: skip
        with T.Kernel(h, slots, threads=plan.threads) as (hq, y):
            scale, factors = Scale(inner, factor, cap), (QS, KS, VS)
            packed_tile(Q, K, V, Tiles, O, hq, y, (left, right), scale, factors, plan)

    return scaled if float8 else plain


def slots_of(rows: int, ends: int, tile: int) -> int:
    """Tiles that `ends + 1` segments of together `rows` rows have at most."""
    return rows // tile + ends + 1


def packed(
    run: tuple[Callable[..., None], ...], q: Tensor, k: Tensor, v: Tensor, cu_q: Tensor, cu_kv: Tensor,
    factors: tuple[Tensor, ...], o: Tensor, how: Plan, window: tuple[int, int], scale: float, cap: float,
) -> None:  # fmt: skip
    """List the tiles and launch `flash`; without keys or requests there is nothing to launch."""
    if k.shape[0] == 0 or cu_q.shape[0] < 2:
        o.zero_()
        return
    slots = slots_of(q.shape[0], cu_q.shape[0], how.rows)
    tiles = torch.empty((slots, FIELDS), dtype=torch.int32, device=q.device)
    run[0](cu_q, cu_kv, tiles, q.shape[0], k.shape[0], how.rows)
    run[1](q, k, v, tiles, *factors, o, *window, *exponents(how.adjusted, scale, cap))


def grouped_query_attention_prefill(key: Key) -> Kernel:
    """Flash attention of packed sequences; float8 values are widened to 16 bits first."""
    source, wide = key.dtype("q"), key.dtype("o")
    float8 = source != wide
    how = plan(key.D, (source, wide), key.target, adjusted=key.adjusted, foreign=True)
    programs = [tiling(), flash(key.D, how, float8), *([convert(source, wide)] if float8 else [])]

    def launch(run, q, k, v, cu_q, cu_kv, q_scale, k_scale, v_scale, o, left, right, scale, cap, causal):
        v = widened(run[2], v, o.dtype) if float8 else v
        factors = (q_scale, k_scale, v_scale) if float8 else ()
        window = reach(causal, left, right, q.shape[0] + k.shape[0])
        packed(run, q, k, v, cu_q, cu_kv, factors, o, how, window, scale, cap)

    return Kernel(*programs, launch=launch, claims=claims(how), pass_configs=FLUSH)


def grouped_query_attention_prefill_varlen(key: Key) -> Kernel:
    """Flash attention of packed sequences of 16-bit floats."""
    how = plan(key.D, (key.dtype("q"), key.dtype("q")), key.target, adjusted=key.adjusted, foreign=True)

    def launch(run, q, k, v, cu_q, cu_kv, o, scale, cap, causal):
        window = reach(causal, -1, -1, q.shape[0] + k.shape[0])
        packed(run, q, k, v, cu_q, cu_kv, (), o, how, window, scale, cap)

    return Kernel(tiling(), flash(key.D, how, False), launch=launch, claims=claims(how), pass_configs=FLUSH)


def grouped_query_attention_sliding_window_varlen(key: Key) -> Kernel:
    """Flash attention of packed sequences with a window."""
    how = plan(key.D, (key.dtype("q"), key.dtype("q")), key.target, adjusted=False, foreign=True)

    def launch(run, q, k, v, cu_q, cu_kv, o, left, right, causal):
        window = reach(causal, left, right, q.shape[0] + k.shape[0])
        packed(run, q, k, v, cu_q, cu_kv, (), o, how, window, key.D**-0.5, 0.0)

    return Kernel(tiling(), flash(key.D, how, False), launch=launch, claims=claims(how), pass_configs=FLUSH)
