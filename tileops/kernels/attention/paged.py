"""Attention over a paged cache to which the new keys and values of each request are appended first.

Rotated queries and keys, the place of every new row and the list of tiles are small passes of their own. Then
a tile of keys is a run of pages, or a piece of one: the loading warp looks its page up and copies it whole.
"""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import tilelang.language as T
import torch
from torch import Tensor

from tileops.kernel import Kernel, Key
from tileops.kernels.attention.core import Plan, attend, claims, exponents, plan, reach, span
from tileops.kernels.attention.macros import F32, Mask, Scale, normalize, packed_rows
from tileops.kernels.attention.packed import FIELDS, I32, slots_of, tiling
from tileops.kernels.elements import FLUSH
from tileops.kernels.rope import angles_of, turns_of

PANEL = 64  # columns of a shared tile that lie together
ROWS, THREADS = 16, 128  # of a block of the passes
LIMIT = 448.0  # the largest float8_e4m3fn


def pool_row(Table: Any, request: Any, n: Any, size: int) -> Any:
    """Row of the pool that holds token `n` of a request; pages beyond the table's end are not looked up.

    What is no page of the pool leads to a row that is none of it: entries are held inside 32 bits.
    """
    page = Table[request, T.max(0, T.min(n // size, Table.shape[1] - 1))]
    return T.max(-1, T.min(page, (2**31 - 1) // size - 1)) * size + n % size


@T.macro
def paged_rows(X, s, at, n0, rows, width, tma):
    """Rows from token `n0` of a request into shared memory, page by page; zeros where there is no page."""
    Table, request, head, size = at
    chunk = min(size, rows)
    if tma:
        for g, w in product(range(rows // chunk), range(width // PANEL)):
            T.copy(
                X[
                    pool_row(Table, request, n0 + g * chunk, size) : pool_row(
                        Table, request, n0 + g * chunk, size
                    )
                    + chunk,
                    head,
                    w * PANEL : (w + 1) * PANEL,
                ],
                s[g * chunk : (g + 1) * chunk, w * PANEL : (w + 1) * PANEL],
                prefer_instruction="tma",
            )
    else:
        for i, j in T.Parallel(rows, width):
            row = pool_row(Table, request, T.max(n0 + i, 0), size)
            s[i, j] = T.if_then_else(
                (row >= 0) and (row < X.shape[0]), X[T.max(row, 0), head, j], T.cast(0, s.dtype)
            )


@T.macro
def mixed_rows(X, s, at, n0, rows, width, tma):
    """The same of a float8 cache: tokens of the cache times their scale, new ones as they were given."""
    gather(X[0], X[1], X[2], s, at[0], at[1], at[2], at[3], at[4], at[5], n0, rows, width)


@T.macro
def gather(Pages, New, Unit, s, Table, request, head, size, first, cached, n0, rows, width):
    """Element by element."""
    for i, j in T.Parallel(rows, width):
        n = T.max(n0 + i, 0)
        row = pool_row(Table, request, n, size)
        inside = (row >= 0) and (row < Pages.shape[0])
        old = T.cast(T.cast(Pages[T.max(row, 0), head, j], F32) * Unit[0], s.dtype)
        given = New[T.max(first + n - cached, 0), head, j]
        s[i, j] = T.if_then_else(n < cached, T.if_then_else(inside, old, T.cast(0, s.dtype)), given)


def places(size: int) -> Any:
    """For each new row its position in its request, and its row of the pool, or -1."""
    slots, t, b, pages = (T.dynamic(name) for name in ("slots", "t", "b", "pages"))

    @T.prim_func
    def main(
        Tiles: T.Tensor((slots, FIELDS), I32), Table: T.Tensor((b, pages), I32), Place: T.Tensor((t, 2), I32),
        pool: T.int32, rows: T.int32,
    ):  # fmt: skip
        with T.Kernel(slots, T.ceildiv(rows, THREADS), threads=THREADS) as (slot, part):
            for i in T.Parallel(THREADS):
                r = part * THREADS + i
                if r < Tiles[slot, 1]:
                    n = Tiles[slot, 4] + r
                    row = pool_row(Table, Tiles[slot, 5], n, size)
                    real = (Tiles[slot, 3] > 0) and (n // size < pages) and (row >= 0) and (row < pool)
                    Place[Tiles[slot, 0] + r, 0] = n
                    Place[Tiles[slot, 0] + r, 1] = T.if_then_else(real, row, -1)

    return main


def turned(d: int, half: int, dtype: str) -> Any:
    """Rows of heads, the first `2 * half` elements rotated by their position, rounded once."""
    t, h, pairs = T.dynamic("t"), T.dynamic("h"), 1 << (half - 1).bit_length()

    @T.prim_func
    def main(
        X: T.Tensor((t, h, d), dtype),
        Place: T.Tensor((t, 2), I32),
        Y: T.Tensor((t, h, d), dtype),
        rate: T.float64,
    ):
        with T.Kernel(T.ceildiv(t, ROWS), threads=THREADS) as bx:
            turns, place = T.alloc_shared((pairs,), "uint64"), T.alloc_shared((ROWS,), "int64")
            cosine, sine = T.alloc_shared((ROWS, pairs), F32), T.alloc_shared((ROWS, pairs), F32)
            for i in T.Parallel(ROWS):
                place[i] = T.cast(Place[T.min(bx * ROWS + i, t - 1), 0], "int64")
            turns_of(turns, False, half, pairs, False, rate, 1.0, 0.0, 0.0, 1.0)
            angles_of(cosine, sine, turns, place, ROWS, pairs, 1.0)
            for head in T.serial(h):
                for i, j in T.Parallel(ROWS, d):
                    r = bx * ROWS + i
                    if r < t:
                        m = T.min(T.if_then_else(j < half, j, T.max(j - half, 0)), half - 1)
                        other = T.min(T.if_then_else(j < half, j + half, T.max(j - half, 0)), d - 1)
                        x, y = T.cast(X[r, head, j], F32), T.cast(X[r, head, other], F32)
                        sign = T.if_then_else(j < half, -1.0, 1.0)
                        moved = x * cosine[i, m] + sign * y * sine[i, m]
                        Y[r, head, j] = T.cast(T.if_then_else(j < 2 * half, moved, x), dtype)

    return main


def append(d: int, dtype: str, kept: str) -> Any:
    """New rows into the pool; as float8 divided by their scale and held inside its range."""
    t, h, pool = T.dynamic("t"), T.dynamic("h"), T.dynamic("pool")

    @T.prim_func
    def main(
        X: T.Tensor((t, h, d), dtype), Place: T.Tensor((t, 2), I32), Pages: T.Tensor((pool, h, d), kept),
        Unit: T.Tensor((1,), F32) if kept != dtype else False,
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(t, ROWS), h, threads=THREADS) as (bx, head):
            for i, j in T.Parallel(ROWS, d):
                r = bx * ROWS + i
                if r < t:
                    if Place[r, 1] >= 0:
                        if kept == dtype:
                            Pages[Place[r, 1], head, j] = X[r, head, j]
                        else:
                            x = T.cast(X[r, head, j], F32) / Unit[0]
                            held = T.if_then_else(x != x, x, T.max(-LIMIT, T.min(x, LIMIT)))
                            Pages[Place[r, 1], head, j] = T.cast(held, kept)

    return main


@T.macro
def paged_tile(Q, K, V, Tiles, Table, O, fetch, size, hq, y, window, scale, plan, mixed):
    """A tile of queries of one head of a request; late ones start first."""
    bm, width, d, tma = plan.rows, plan.width, Q.shape[2], plan.stages > 0
    heads = K[0].shape[1] if mixed else K.shape[1]
    sq = T.alloc_shared((bm, width), plan.types[0])
    o = T.alloc_fragment((bm, width), F32)
    top, total = T.alloc_fragment((bm,), F32), T.alloc_fragment((bm,), F32)
    hk = T.truncdiv(hq, T.truncdiv(Q.shape[1], heads))
    slot = Tiles.shape[0] - 1 - y
    row, rows, keys, place = Tiles[slot, 0], Tiles[slot, 1], Tiles[slot, 3], Tiles[slot, 4]
    request, first, cached = Tiles[slot, 5], Tiles[slot, 6], Tiles[slot, 7]
    mask = Mask(place, 0, 1, keys, window[0], window[1])
    begin, steps = span(mask, plan.keys, T.max(rows, 1))
    packed_rows(Q, sq, (row, hq), 0, bm, width, tma)
    at = (Table, request, hk, size, first, cached) if mixed else (Table, request, hk, size)
    attend(fetch, K, V, at, sq, o, top, total, mask, scale, plan, begin, steps)
    normalize(o, top, total, scale.factor, 1.0, bm, width)
    for i, j in T.Parallel(bm, width):
        if (i < rows) and (j < d):
            O[row + i, hq, j] = o[i, j]


def flash(d: int, size: int, plan: Plan, kept: str) -> Any:
    """Flash attention of packed queries over the pages of their requests."""
    t, h, h_kv, pool, b, pages, slots = (
        T.dynamic(name) for name in ("t", "h", "h_kv", "pool", "b", "pages", "slots")
    )
    dtype, mixed = plan.types[0], kept != plan.types[0]
    new_k, new_v = (T.Tensor((t, h_kv, d), dtype) if mixed else False for _ in range(2))
    unit_k, unit_v = (T.Tensor((1,), F32) if mixed else False for _ in range(2))

    @T.prim_func
    def main(
        Q: T.Tensor((t, h, d), dtype), K: T.Tensor((pool, h_kv, d), kept), V: T.Tensor((pool, h_kv, d), kept),
        NewK: new_k, NewV: new_v, UnitK: unit_k, UnitV: unit_v,
        Tiles: T.Tensor((slots, FIELDS), I32), Table: T.Tensor((b, pages), I32),
        O: T.Tensor((t, h, d), dtype),
        left: T.int32, right: T.int32, inner: T.float32, factor: T.float32, cap: T.float32,
    ):  # fmt: skip
        with T.Kernel(h, slots, threads=plan.threads) as (hq, y):
            window, scale = (left, right), Scale(inner, factor, cap)
            if mixed:
                paged_tile(
                    Q, (K, NewK, UnitK), (V, NewV, UnitV), Tiles, Table, O, mixed_rows, size, hq, y, window,
                    scale, plan, True,
                )  # fmt: skip
            else:
                paged_tile(
                    Q, K, V, Tiles, Table, O, paged_rows, size, hq, y, window, scale, plan, False
                )  # fmt: skip

    return main


def grouped_query_attention_prefill_paged(key: Key) -> Kernel:
    """Rotate, append, attend. Pages of fewer than 8 rows, and a float8 cache, are gathered by elements."""
    dtype, kept, mixed = key.dtype("q"), key.dtype("k_pages"), key.dtype("q") != key.dtype("k_pages")
    how = plan(key.D, (dtype, dtype), key.target, adjusted=key.adjusted, foreign=True)
    how = how._replace(keys=1 << (how.keys.bit_length() - 1))  # a tile is whole pages, or part of one
    if mixed or key.page_size < 8:
        how = how._replace(stages=0, turns=False)
    programs = [tiling(cached=True), places(key.page_size), append(key.D, dtype, kept)]
    programs += [flash(key.D, key.page_size, how, kept)]
    programs += [turned(key.D, key.half, dtype)] if key.half else []

    def launch(
        run, q, k_new, v_new, k_pages, v_pages, cu_q, cached, table, k_scale, v_scale, o,
        scale, cap, base, causal,
    ):  # fmt: skip
        if k_pages.shape[0] == 0 or table.numel() == 0:
            o.zero_()
            return
        capacity = table.shape[1] * key.page_size
        slots = slots_of(q.shape[0], cu_q.shape[0], how.rows)
        tiles = torch.empty((slots, FIELDS), dtype=torch.int32, device=q.device)
        place = torch.empty((q.shape[0], 2), dtype=torch.int32, device=q.device)
        run[0](cu_q, cached, tiles, q.shape[0], capacity, how.rows)
        run[1](tiles, table, place, k_pages.shape[0], how.rows)
        if key.half:
            rate = math.log(base) / key.half
            q, k_new = (rotated(run[4], x, place, rate) for x in (q, k_new))
        units = ((k_scale,), (v_scale,)) if mixed else ((), ())
        run[2](k_new, place, k_pages, *units[0])
        run[2](v_new, place, v_pages, *units[1])
        fresh = (k_new, v_new, k_scale, v_scale) if mixed else ()
        window = reach(causal, -1, -1, q.shape[0] + capacity)
        run[3](q, k_pages, v_pages, *fresh, tiles, table, o, *window, *exponents(how.adjusted, scale, cap))

    return Kernel(*programs, launch=launch, claims=claims(how), pass_configs=FLUSH)


def rotated(run: Callable[..., None], x: Tensor, place: Tensor, rate: float) -> Tensor:
    """`x` rotated by the position of each row."""
    out = torch.empty_like(x)
    run(x, place, out, rate)
    return out
