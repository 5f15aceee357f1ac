"""Attention over dense keys and values: long queries in tiles of 128, a few packed by groups of heads."""

from collections.abc import Callable
from typing import Any

import tilelang.language as T
import torch
from torch import Tensor

from tileops.kernel import Kernel, Key
from tileops.kernels.attention.core import Plan, attend, claims, exponents, plan, reach, span, units
from tileops.kernels.attention.macros import F32, Mask, Scale, dense_rows, grouped_queries, normalize
from tileops.kernels.attention.rotate import convert, rotate
from tileops.kernels.elements import FLUSH


@T.macro
def long_tile(Q, K, V, O, LSE, b, hq, y, window, scale, factors, plan):
    """A tile of queries of one head; late ones, which see the most keys when causal, start first."""
    s_q, s_kv, bm, width, tma = Q.shape[1], K.shape[1], plan.rows, plan.width, plan.stages > 0
    sq, out = T.alloc_shared((bm, width), plan.types[0]), T.alloc_shared((bm, width), O.dtype)
    o = T.alloc_fragment((bm, width), F32)
    top, total = T.alloc_fragment((bm,), F32), T.alloc_fragment((bm,), F32)
    hk = T.truncdiv(hq, T.truncdiv(Q.shape[2], K.shape[2]))
    row = (T.ceildiv(s_q, bm) - 1 - y) * bm
    mask = Mask(s_kv - s_q, row, 1, s_kv, window[0], window[1])
    begin, steps = span(mask, plan.keys, T.min(bm, s_q - row))
    inner, unit = units(scale, factors, b, hk)
    here = Scale(inner, scale.factor, scale.cap)
    dense_rows(Q, sq, (b, hq), row, bm, width, tma)
    attend(dense_rows, K, V, (b, hk), sq, o, top, total, mask, here, plan, begin, steps)
    normalize(o, top, total, scale.factor, unit, bm, width)
    for i in T.Parallel(bm):
        if row + i < s_q:
            LSE[b, hq, row + i] = top[i]
    if tma:
        T.copy(o, out)
        T.copy(out, O[b, row : row + bm, hq, 0:width])
    else:
        T.copy(o, O[b, row : row + bm, hq, 0:width], disable_tma=True)


@T.macro
def short_tile(Q, K, V, O, LSE, b, hk, y, window, scale, factors, plan, group):
    """A tile of the queries of all heads of a group, so that keys and values are read once."""
    s_q, s_kv, bm, width, d = Q.shape[1], K.shape[1], plan.rows, plan.width, Q.shape[3]
    sq = T.alloc_shared((bm, width), plan.types[0])
    o = T.alloc_fragment((bm, width), F32)
    top, total = T.alloc_fragment((bm,), F32), T.alloc_fragment((bm,), F32)
    row = y * bm
    mask = Mask(s_kv - s_q, row, group, s_kv, window[0], window[1])
    begin, steps = span(mask, plan.keys, T.min(bm, s_q * group - row))
    inner, unit = units(scale, factors, b, hk)
    here = Scale(inner, scale.factor, scale.cap)
    grouped_queries(Q, sq, b, hk, mask, s_q, bm, width)
    attend(dense_rows, K, V, (b, hk), sq, o, top, total, mask, here, plan, begin, steps)
    normalize(o, top, total, scale.factor, unit, bm, width)
    for i in T.Parallel(bm):
        if row + i < s_q * group:
            LSE[b, hk * group + (row + i) % group, (row + i) // group] = top[i]
    for i, j in T.Parallel(bm, width):
        if (row + i < s_q * group) and (j < d):
            O[b, (row + i) // group, hk * group + (row + i) % group, j] = o[i, j]


def flash(d: int, plan: Plan, group: int, float8: bool) -> Any:
    """Flash attention of (batch, sequence, head, d). `group`: heads that are packed, none where it is 0."""
    b, s_q, s_kv, h, h_kv = (T.dynamic(name) for name in ("b", "s_q", "s_kv", "h", "h_kv"))
    qk, pv = plan.types
    q_shape, kv_shape, factor_shape, lse_shape = (b, s_q, h, d), (b, s_kv, h_kv, d), (b, h_kv), (b, h, s_q)

    @T.macro
    def block(Q, K, V, O, LSE, window, scale, factors):
        x, rows = (h_kv, s_q * group) if group else (h, s_q)
        with T.Kernel(x, T.ceildiv(rows, plan.rows), b, threads=plan.threads) as (hx, y, bz):
            if group:
                short_tile(Q, K, V, O, LSE, bz, hx, y, window, scale, factors, plan, group)
            else:
                long_tile(Q, K, V, O, LSE, bz, hx, y, window, scale, factors, plan)

    @T.prim_func
    def plain(
        Q: T.Tensor(q_shape, qk), K: T.Tensor(kv_shape, qk), V: T.Tensor(kv_shape, pv),
        O: T.Tensor(q_shape, pv), LSE: T.Tensor(lse_shape, F32),
        left: T.int32, right: T.int32, inner: T.float32, factor: T.float32, cap: T.float32,
    ):  # fmt: skip
        block(Q, K, V, O, LSE, (left, right), Scale(inner, factor, cap), None)

    @T.prim_func
    def scaled(
        Q: T.Tensor(q_shape, qk), K: T.Tensor(kv_shape, qk), V: T.Tensor(kv_shape, pv),
        QS: T.Tensor(factor_shape, F32), KS: T.Tensor(factor_shape, F32), VS: T.Tensor(factor_shape, F32),
        O: T.Tensor(q_shape, pv), LSE: T.Tensor(lse_shape, F32),
        left: T.int32, right: T.int32, inner: T.float32, factor: T.float32, cap: T.float32,
    ):  # fmt: skip
        block(Q, K, V, O, LSE, (left, right), Scale(inner, factor, cap), (QS, KS, VS))

    return scaled if float8 else plain


def grouped_query_attention_dense(key: Key) -> Kernel:
    """Flash attention, after what its inputs need: rotation of queries and keys, float8 values to 16 bits.

    Those are passes over the inputs, small beside the products. float8 queries and keys that are not rotated
    go into the product as they are; the weights, and so the values, have the dtype of the output.
    """
    source, wide = key.dtype("q"), key.dtype("o")
    float8, rotated = source != wide, key.given("rope_cos")
    how = plan(
        key.D,
        (wide if rotated else source, wide),
        key.target,
        adjusted=key.adjusted or float8,
        short=key.group > 0,
        long=key.long,
    )
    programs = [flash(key.D, how, key.group, float8)]
    programs += [rotate(key.D, source, wide, key.interleaved)] if rotated else []
    programs += [convert(source, wide)] if float8 else []

    def launch(run, q, k, v, q_scale, k_scale, v_scale, cos, sin, o, left, right, scale, cap, causal):
        runs = list(run) if len(programs) > 1 else [run]
        if float8:
            v = widened(runs.pop(), v, o.dtype)
        if rotated:
            q, k = (turned(runs[1], x, cos, sin, k.shape[1] - x.shape[1]) for x in (q, k))
        factors = (q_scale, k_scale, v_scale) if float8 else ()
        lse = o.new_empty((q.shape[0], q.shape[2], q.shape[1]), dtype=torch.float32)
        attention(runs[0], q, k, v, factors, o, lse, how.adjusted, causal, left, right, scale, cap)

    return Kernel(*programs, launch=launch, claims=claims(how), pass_configs=FLUSH)


def grouped_query_attention(key: Key) -> Kernel:
    """Flash attention of square sequences, which keeps the log-sum-exp of each row for the backward."""
    types = (key.dtype("q"), key.dtype("q"))
    how = plan(key.D, types, key.target, adjusted=False, short=key.group > 0, long=key.long)

    def launch(run, q, k, v, o, lse, causal):
        attention(run, q, k, v, (), o, lse, False, causal, -1, -1, key.D**-0.5, 0.0)

    return Kernel(flash(key.D, how, key.group, False), launch=launch, claims=claims(how), pass_configs=FLUSH)


def grouped_query_attention_sliding_window(key: Key) -> Kernel:
    """Flash attention of square sequences with a window."""
    how = plan(key.D, (key.dtype("q"), key.dtype("q")), key.target, adjusted=False, short=key.group > 0)

    def launch(run, q, k, v, o, left, right, causal):
        lse = o.new_empty((q.shape[0], q.shape[2], q.shape[1]), dtype=torch.float32)
        attention(run, q, k, v, (), o, lse, False, causal, left, right, key.D**-0.5, 0.0)

    return Kernel(flash(key.D, how, key.group, False), launch=launch, claims=claims(how), pass_configs=FLUSH)


def attention(
    run: Callable[..., None], q: Tensor, k: Tensor, v: Tensor, factors: tuple[Tensor, ...], o: Tensor,
    lse: Tensor, adjusted: bool, causal: bool, left: int, right: int, scale: float, cap: float,
) -> None:  # fmt: skip
    """Launch `flash`; without keys there is nothing to launch."""
    if k.shape[1] == 0:
        o.zero_()
        lse.fill_(-torch.inf)
        return
    window = reach(causal, left, right, q.shape[1] + k.shape[1])
    run(q, k, v, *factors, o, lse, *window, *exponents(adjusted, scale, cap))


def turned(run: Callable[..., None], x: Tensor, cos: Tensor, sin: Tensor, start: int) -> Tensor:
    """`x` rotated, of the tables' dtype; its first row is position `start`."""
    out = torch.empty(x.shape, dtype=cos.dtype, device=x.device)
    if x.numel():
        run(x.flatten(1, 2), cos, sin, out.view(x.shape[0], -1, x.shape[3]), x.shape[2], start)
    return out


def widened(run: Callable[..., None], x: Tensor, dtype: torch.dtype) -> Tensor:
    """The same numbers in a wider dtype."""
    out = torch.empty(x.shape, dtype=dtype, device=x.device)
    if x.numel():
        run(x.view(-1), out.view(-1))
    return out
