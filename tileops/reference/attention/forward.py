"""Oracles of the attention family: float64, the whole score matrix."""

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    is_causal: bool = False,
    sm_scale: float | None = None,
    softcap: float | None = None,
    left: int = -1,
    right: int = -1,
) -> tuple[Tensor, Tensor]:
    """Output and log-sum-exp of (..., sequence, heads, head_dim); the queries end at the last key."""
    (s_q, h, d), (s_kv, h_kv) = q.shape[-3:], k.shape[-3:-1]
    queries, keys, values = (x.double().transpose(-3, -2) for x in (q, k, v))
    keys, values = (x.repeat_interleave(h // h_kv, dim=-3) for x in (keys, values))
    scores = queries @ keys.mT * (d**-0.5 if sm_scale is None else sm_scale)
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    place = torch.arange(s_q, device=q.device)[:, None] + s_kv - s_q
    key = torch.arange(s_kv, device=q.device)
    visible = torch.ones(s_q, s_kv, dtype=torch.bool, device=q.device)
    if is_causal:
        visible &= key <= place
    if left >= 0:
        visible &= key >= place - left
    if right >= 0:
        visible &= key <= place + right
    scores = scores.masked_fill(~visible, -torch.inf)
    weights = scores.softmax(-1).masked_fill(~visible.any(-1, keepdim=True), 0.0)  # a row that sees nothing
    return (weights @ values).transpose(-3, -2), scores.logsumexp(-1)


def rotated(x: Tensor, position: Tensor, cos: Tensor, sin: Tensor, interleaved: bool) -> Tensor:
    """Rows of (..., sequence, heads, head_dim), turned by the tables' rows at their positions."""
    c, s = (table.double()[position][:, None] for table in (cos, sin))
    half, x = c.shape[-1], x.double()
    first, second = slice(0, half), slice(half, 2 * half)
    if interleaved:
        first, second = slice(0, 2 * half, 2), slice(1, 2 * half, 2)
    a, b, out = x[..., first], x[..., second], x.clone()
    out[..., first], out[..., second] = a * c - b * s, b * c + a * s
    return out


def dequantized(x: Tensor, factor: Tensor | None) -> Tensor:
    """(batch, sequence, heads, head_dim) times the factor of its batch and group of heads."""
    if factor is None:
        return x.double()
    return x.double() * factor.double().repeat_interleave(x.shape[2] // factor.shape[1], 1)[:, None, :, None]


def grouped_query_attention_dense(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    q_scale: Tensor | None,
    k_scale: Tensor | None,
    v_scale: Tensor | None,
    rope_cos: Tensor | None,
    rope_sin: Tensor | None,
    *,
    is_causal: bool,
    sm_scale: float | None,
    softcap: float | None,
    window_size_left: int,
    window_size_right: int,
    pos_encoding_mode: str,
    rotary_dim: int | None,
    rope_layout: str,
    out_dtype: torch.dtype | None,
) -> Tensor:
    """Attention with grouped key/value heads; query i stands at key coordinate i + S_kv - S_q."""
    q, k, v = dequantized(q, q_scale), dequantized(k, k_scale), dequantized(v, v_scale)
    if rope_cos is not None and rope_sin is not None:
        place = torch.arange(k.shape[1], device=q.device)
        q = rotated(q, place[k.shape[1] - q.shape[1] :], rope_cos, rope_sin, rope_layout == "interleaved")
        k = rotated(k, place, rope_cos, rope_sin, rope_layout == "interleaved")
    return attend(
        q,
        k,
        v,
        is_causal=is_causal,
        sm_scale=sm_scale,
        softcap=softcap,
        left=window_size_left,
        right=window_size_right,
    )[0]


def grouped_query_attention(q: Tensor, k: Tensor, v: Tensor, *, is_causal: bool) -> Tensor:
    """Attention of a sequence with itself."""
    return attend(q, k, v, is_causal=is_causal)[0]


def multi_head_attention(q: Tensor, k: Tensor, v: Tensor, *, is_causal: bool) -> Tensor:
    """The same; every query head has a key head."""
    return attend(q, k, v, is_causal=is_causal)[0]


def grouped_query_attention_sliding_window(
    q: Tensor, k: Tensor, v: Tensor, *, is_causal: bool, window_size_left: int, window_size_right: int
) -> Tensor:
    """Attention of a sequence with itself, within a window."""
    return attend(q, k, v, is_causal=is_causal, left=window_size_left, right=window_size_right)[0]


def grouped_query_attention_prefill(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_kv: Tensor,
    q_scale: Tensor | None,
    k_scale: Tensor | None,
    v_scale: Tensor | None,
    *,
    is_causal: bool,
    sm_scale: float | None,
    softcap: float | None,
    window_size_left: int,
    window_size_right: int,
    out_dtype: torch.dtype | None,
    max_seqlen_q: int | None,
    max_seqlen_kv: int | None,
) -> Tensor:
    """Attention of each request by itself."""
    out = torch.zeros(q.shape, dtype=torch.float64, device=q.device)
    starts_q, starts_kv = cu_seqlens_q.tolist(), cu_seqlens_kv.tolist()
    for r, (i, end) in enumerate(pairwise(starts_q)):
        j, stop = starts_kv[r : r + 2]
        parts = [
            dequantized(x[None, a:b], None if factor is None else factor[r : r + 1])[0]
            for x, a, b, factor in ((q, i, end, q_scale), (k, j, stop, k_scale), (v, j, stop, v_scale))
        ]
        out[i:end] = attend(
            *parts,
            is_causal=is_causal,
            sm_scale=sm_scale,
            softcap=softcap,
            left=window_size_left,
            right=window_size_right,
        )[0]
    return out


def grouped_query_attention_prefill_varlen(
    q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_kv: Tensor, **params: Any
) -> Tensor:
    """The same without windows and float8."""
    params |= {"window_size_left": -1, "window_size_right": -1, "out_dtype": None}
    return grouped_query_attention_prefill(q, k, v, cu_seqlens_q, cu_seqlens_kv, None, None, None, **params)


def grouped_query_attention_sliding_window_varlen(
    q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, **params: Any
) -> Tensor:
    """The same with a window and the default scale."""
    params |= {"sm_scale": None, "softcap": None, "out_dtype": None, "max_seqlen_kv": None}
    return grouped_query_attention_prefill(q, k, v, cu_seqlens_q, cu_seqlens_k, None, None, None, **params)


def grouped_query_attention_prefill_paged_with_kv_cache(
    q: Tensor,
    k_new: Tensor,
    v_new: Tensor,
    k_pages: Tensor,
    v_pages: Tensor,
    cu_seqlens_q: Tensor,
    cache_seqlens: Tensor,
    block_table: Tensor,
    k_scale: Tensor | None,
    v_scale: Tensor | None,
    *,
    page_size: int,
    is_causal: bool,
    sm_scale: float | None,
    softcap: float | None,
    fuse_rope: bool,
    rope_base: float,
    rotary_dim: int | None,
    **_: Any,
) -> tuple[Tensor, Tensor, Tensor]:
    """Each request by itself: rotate, append, attend to the old tokens and the new ones; and the pages."""
    out, pools = (
        torch.zeros(q.shape, dtype=torch.float64, device=q.device),
        (k_pages.clone(), v_pages.clone()),
    )
    half = (q.shape[-1] if rotary_dim is None else rotary_dim) // 2
    frequency = rope_base ** (-torch.arange(half, dtype=torch.float64, device=q.device) / max(half, 1))
    for r, (i, end) in enumerate(pairwise(cu_seqlens_q.tolist())):
        cached = int(cache_seqlens[r])
        token = torch.arange(cached + end - i, device=q.device)
        row = block_table[r].long()[token // page_size] * page_size + token % page_size
        queries, new = q[i:end].double(), [k_new[i:end], v_new[i:end]]
        if fuse_rope:
            angle = torch.outer(token.double(), frequency)
            tables = token[cached:], angle.cos(), angle.sin()
            queries = rotated(queries, *tables, False)
            new[0] = rotated(new[0], *tables, False).to(q.dtype)
        seen = []
        for pages, pool, scale, rows in zip((k_pages, v_pages), pools, (k_scale, v_scale), new, strict=True):
            old = pages[row[:cached]]
            if pool.dtype is torch.float8_e4m3fn and scale is not None:
                old = (old.double() * scale.double()).to(q.dtype)
                pool[row[cached:]] = (rows.float() / scale).clamp(-448.0, 448.0).to(pool.dtype)
            else:
                pool[row[cached:]] = rows
            seen.append(torch.cat([old, rows]))
        out[i:end] = attend(queries, *seen, is_causal=is_causal, sm_scale=sm_scale, softcap=softcap)[0]
    return out, pools[0].double(), pools[1].double()


def _e4m3(x: Tensor) -> Tensor:
    return x.clamp(-448.0, 448.0).to(torch.float8_e4m3fn).double()


def fp8_lightning_indexer(
    index_q: Tensor,
    index_k: Tensor,
    weights: Tensor,
    cu_seqlen_ks: Tensor,
    cu_seqlen_ke: Tensor,
    index_k_scale: Tensor | None,
    *,
    clean_logits: bool,
) -> Tensor:
    """Weighted votes of the heads. bfloat16 keys become e4m3 by a scale and a quotient in float32."""
    batch, rows, heads = index_q.shape[:3]
    columns, groups = index_k.shape[1:3]
    q, scale = _e4m3(index_q.float()).unflatten(2, (groups, -1)), index_k_scale
    k = index_k.double()
    if index_k.dtype is not torch.float8_e4m3fn:
        amax = index_k.float().abs().amax(-1).clamp(min=1e-4)
        scale = (amax.double() / 448.0).float()  # the quotient: in float32, a GPU takes 1 / 448 times it
        k = _e4m3(index_k.float() / scale[..., None])
    out = torch.full((batch, rows, columns, groups), -torch.inf, dtype=torch.float64, device=k.device)
    key, step = torch.arange(columns, device=k.device), 64  # products of all heads are many times the logits
    for first in range(0, rows, step):
        part = slice(first, first + step)
        votes = torch.einsum("bsghd,btgd->bstgh", q[:, part], k).relu_()
        votes *= weights[part].double().view(1, -1, 1, groups, heads // groups)
        logits = votes.sum(-1) if scale is None else votes.sum(-1) * scale.double()[:, None]
        seen = (key >= cu_seqlen_ks[part, None]) & (key < cu_seqlen_ke[part, None])
        out[:, part] = torch.where(seen[None, :, :, None], logits, -torch.inf)
    return out
