"""Attention of a few queries over many keys: bound by one read of keys and values.

A block owns all queries that read one key head, as the rows of one tile, and a run of that head's tiles of
keys. Where batch and heads do not fill the device the keys are split into several such runs: each leaves its
output and its log-sum-exp in float32, and a second pass weighs them. How many runs depends on sizes alone,
where they lie on the lengths too, which stay on the device.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import tilelang.language as T
import torch
from torch import Tensor

from tileops.kernel import Kernel, Key
from tileops.kernels.attention.core import Plan, attend, claims, exponents, plan
from tileops.kernels.attention.macros import F32, LOG2E, Mask, Scale, dense_rows, normalize
from tileops.kernels.attention.paged import paged_rows
from tileops.kernels.elements import FLUSH

I32 = "int32"
FAR = 2**30  # a window without an end
BLOCKS = 132  # that run at once: a block has the shared memory of a multiprocessor
RUNS = 128  # of the keys of a head at most
LEAD, SECOND = 2, 2  # what a block's start and the second pass take, in tiles of keys
PART, THREADS = 16, 128  # of the second pass: runs at a time, threads


@lru_cache(4096)
def runs_of(blocks: int, tiles: int) -> int:
    """Into how many runs the tiles of keys are split, if there are so many blocks without a split.

    The least of: rounds of blocks times the tiles of each, and the second pass.
    """

    def time(runs: int) -> int:
        rounds, each = -(-blocks * runs // BLOCKS), -(-tiles // runs)
        return rounds * (each + LEAD) + (SECOND if runs > 1 else 0)

    return min(range(1, max(1, min(tiles, RUNS, 4 * BLOCKS // blocks)) + 1), key=time)


@T.macro
def run_of_keys(Q, K, V, O, Partial, Lse, fetch, at, place, row, run, runs, keys, causal, scale, plan):
    """Rows from `row` of head `place` against one run of keys; a run without keys is one hidden tile."""
    bm, width, d = plan.rows, plan.width, Q.shape[3]
    sq, o = T.alloc_shared((bm, width), plan.types[0]), T.alloc_fragment((bm, width), F32)
    top, total = T.alloc_fragment((bm,), F32), T.alloc_fragment((bm,), F32)
    tiles = T.ceildiv(keys, plan.keys)
    each = T.truncdiv(tiles + runs - 1, runs)
    begin = T.alloc_var(I32, init=T.if_then_else(run * each < tiles, run * each, 0))
    steps = T.alloc_var(I32, init=T.max(1, T.min(each, tiles - run * each)))
    seen = T.if_then_else((run > 0) and (begin == 0), 0, keys)
    mask = Mask(keys - Q.shape[1], row, 1, seen, FAR, 0) if causal else Mask(0, 0, 1, seen, FAR, FAR)
    dense_rows(Q, sq, place, row, bm, width, plan.stages > 0)
    attend(fetch, K, V, at, sq, o, top, total, mask, scale, plan, begin, steps)
    normalize(o, top, total, scale.factor, 1.0, bm, width)
    if runs == 1:
        for i, j in T.Parallel(bm, width):
            if (row + i < Q.shape[1]) and (j < d):
                O[place[0], row + i, place[1], j] = o[i, j]
    else:
        first = ((run * Q.shape[0] + place[0]) * Q.shape[1] + row) * Q.shape[2] + place[1]
        for i in T.Parallel(bm):
            if row + i < Q.shape[1]:
                Lse[first + i * Q.shape[2]] = top[i]
        for i, j in T.Parallel(bm, width):
            if (row + i < Q.shape[1]) and (j < d):
                Partial[first + i * Q.shape[2], j] = o[i, j]


def flash(d: int, size: int, packed: bool, causal: bool, plan: Plan) -> Any:
    """Rows of queries (outer, rows, inner, d) over keys: dense, or paged if pages have a `size`.

    `packed`: the queries of key head `hk` are `[b * h_kv + hk, :, 0]`, else `[b, :, hk]`.
    """
    names = ("outer", "rows", "inner", "b", "n", "h_kv", "pages", "parts")
    outer, rows, inner, b, n, h_kv, pages, parts = (T.dynamic(name) for name in names)
    dtype, q_shape = plan.types[0], (outer, rows, inner, d)
    kv_shape = (n, h_kv, d) if size else (b, n, h_kv, d)

    @T.prim_func
    def main(
        Q: T.Tensor(q_shape, dtype), K: T.Tensor(kv_shape, dtype), V: T.Tensor(kv_shape, dtype),
        Lengths: T.Tensor((b,), I32) if size else False, Table: T.Tensor((b, pages), I32) if size else False,
        O: T.Tensor(q_shape, dtype), Partial: T.Tensor((parts, d), F32), Lse: T.Tensor((parts,), F32),
        runs: T.int32, most: T.int32, unit: T.float32, factor: T.float32, cap: T.float32,
    ):  # fmt: skip
        with T.Kernel(h_kv, T.ceildiv(rows, plan.rows) * runs, b, threads=plan.threads) as (hk, y, bz):
            T.pdl_trigger()
            scale, place = Scale(unit, factor, cap), (bz * h_kv + hk, 0) if packed else (bz, hk)
            row, run = T.truncdiv(y, runs) * plan.rows, T.truncmod(y, runs)
            fetch, at = (paged_rows, (Table, bz, hk, size)) if size else (dense_rows, (bz, hk))
            keys = T.max(0, T.min(Lengths[bz], most)) if size else most
            run_of_keys(Q, K, V, O, Partial, Lse, fetch, at, place, row, run, runs, keys, causal, scale, plan)

    return main


def combine(d: int, dtype: str) -> Any:
    """Outputs of runs weighed by their log-sum-exp, in a fixed order; a run that saw nothing weighs 0.

    It may be brought onto the chip while the runs are computed.
    """
    rows, runs, width = T.dynamic("rows"), T.dynamic("runs"), max(32, 1 << (d - 1).bit_length())

    @T.prim_func
    def main(
        Partial: T.Tensor((runs, rows, d), F32),
        Lse: T.Tensor((runs, rows), F32),
        O: T.Tensor((rows, d), dtype),
    ):
        with T.Kernel(rows, threads=THREADS) as r:
            w, weights = T.alloc_fragment((RUNS,), F32), T.alloc_shared((RUNS,), F32)
            top, total = T.alloc_fragment((1,), F32), T.alloc_fragment((1,), F32)
            parts, out = T.alloc_fragment((PART, width), F32), T.alloc_fragment((width,), F32)
            T.pdl_sync()
            for i in T.Parallel(RUNS):
                w[i] = T.if_then_else(i < runs, Lse[T.min(i, runs - 1), r], -T.infinity(F32))
            T.reduce_max(w, top, dim=0)
            for i in T.Parallel(RUNS):
                w[i] = T.if_then_else(w[i] == -T.infinity(F32), 0.0, T.exp2((w[i] - top[0]) * LOG2E))
            T.reduce_sum(w, total, dim=0)
            for i in T.Parallel(RUNS):
                weights[i] = T.if_then_else(total[0] == 0.0, 0.0, w[i] / total[0])
            T.clear(out)
            for c in T.serial(T.ceildiv(runs, PART)):
                T.copy(Partial[c * PART : (c + 1) * PART, r, 0:width], parts)
                for i, j in T.Parallel(PART, width):
                    parts[i, j] = parts[i, j] * weights[c * PART + i]
                T.reduce_sum(parts, out, dim=0, clear=False)
            for j in T.Parallel(width):
                if j < d:
                    O[r, j] = out[j]

    return main


def decode(
    key: Key, size: int, packed: bool, *, adjusted: bool = False, causal: bool = False
) -> tuple[list[Any], Plan, Callable[..., None]]:
    """Programs, and their launch on `launch(run, q, k, v, indices, o, keys, scale, cap)`."""
    dtype = key.dtype("q")
    how = plan(key.D, (dtype, dtype), key.target, adjusted=adjusted, short=True, foreign=size > 0)
    how = how._replace(stages=0) if 0 < size < 8 else how
    if causal or (how.stages == 0 and how.width > 128):  # registers for the mask, for loads without TMA
        how = how._replace(keys=64 if how.stages else 32)

    def launch(
        run: tuple[Callable[..., None], ...], q: Tensor, k: Tensor, v: Tensor, indices: tuple[Tensor, ...],
        o: Tensor, keys: int, scale: float, cap: float,
    ) -> None:  # fmt: skip
        if keys == 0 or k.shape[0] == 0:
            o.zero_()
            return
        outer, rows, inner = q.shape[:3]
        runs = runs_of(outer * inner * -(-rows // how.rows), -(-keys // how.keys))
        lse = o.new_empty(runs * outer * rows * inner if runs > 1 else 1, dtype=torch.float32)
        partial = lse.new_empty((lse.shape[0], key.D))
        run[0](q, k, v, *indices, o, partial, lse, runs, min(keys, FAR), *exponents(adjusted, scale, cap))
        if runs > 1:
            run[1](partial.view(runs, -1, key.D), lse.view(runs, -1), o.view(-1, key.D))

    return [flash(key.D, size, packed, causal, how), combine(key.D, dtype)], how, launch


def grouped_query_attention_decode(key: Key) -> Kernel:
    """One query of a head; those that share a key head are the rows of a tile."""
    programs, how, launched = decode(key, 0, True, adjusted=key.adjusted)

    def launch(run, q, k, v, o, scale, cap):
        q, o = (x.view(-1, x.shape[1] // k.shape[2], 1, key.D) for x in (q, o))
        launched(run, q, k, v, (), o, k.shape[1], scale, cap)

    return Kernel(*programs, launch=launch, claims=claims(how), pass_configs=FLUSH)


def grouped_query_attention_decode_paged(key: Key) -> Kernel:
    """The same over pages. Those of fewer than 8 rows are gathered by elements."""
    programs, how, launched = decode(key, key.page_size, True, adjusted=key.adjusted)

    def launch(run, q, k, v, lengths, table, o, scale, cap):
        q, o = (x.view(-1, x.shape[1] // k.shape[1], 1, key.D) for x in (q, o))
        launched(run, q, k, v, (lengths, table), o, table.shape[1] * key.page_size, scale, cap)

    return Kernel(*programs, launch=launch, claims=claims(how), pass_configs=FLUSH)


def multi_head_attention_decode(key: Key) -> Kernel:
    """The queries of a head are the rows of a tile."""
    programs, how, launched = decode(key, 0, False)

    def launch(run, q, k, v, o):
        launched(run, q, k, v, (), o, k.shape[1], key.D**-0.5, 0.0)

    return Kernel(*programs, launch=launch, claims=claims(how), pass_configs=FLUSH)


def multi_head_attention_decode_paged(key: Key) -> Kernel:
    """The same over pages."""
    programs, how, launched = decode(key, key.page_size, False, causal=key.causal)

    def launch(run, q, k, v, lengths, table, o):
        keys = table.shape[1] * key.page_size
        launched(run, q, k, v, (lengths, table), o, keys, key.D**-0.5, 0.0)

    return Kernel(*programs, launch=launch, claims=claims(how), pass_configs=FLUSH)
