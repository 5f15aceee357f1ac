"""Attention in PyTorch."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention.bias import causal_lower_right

from tileops.bench.peer import Call, Function, Unserved
from tileops.bench.peers.eager._peer import peer


@peer.serves("GroupedQueryAttentionDenseFwdOp")
def attention(call: Call) -> Function:
    params = call.params
    q, k = call["q"], call["k"]
    if plain_scores(call) is None:
        return _softcapped(params)
    mask: dict[str, Any] = {}
    if params["is_causal"] and q.shape[1] == k.shape[1]:
        mask = {"is_causal": True}
    elif params["is_causal"] and q.shape[1] > 1:  # the only query of a decode step sees every key
        mask = {"attn_mask": causal_lower_right(q.shape[1], k.shape[1])}
    scale = params["sm_scale"]

    def run(q: Tensor, k: Tensor, v: Tensor, *_: None) -> Tensor:
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        return F.scaled_dot_product_attention(q, k, v, scale=scale, enable_gqa=True, **mask).transpose(1, 2)

    return run


def plain_scores(call: Call) -> bool | None:
    """`True` for attention that only scales and masks causally, `None` where scores are capped.

    Raises:
        Unserved: There is a window, a rotation, a scale of float8 inputs, or a query without keys.
    """
    if any(call.inputs[name] is not None for name in ("q_scale", "rope_cos")):
        raise Unserved("float8 scales and rope are not fused")
    if call.params["window_size_left"] >= 0 or call.params["window_size_right"] >= 0:
        raise Unserved("windows are not offered")
    if 0 in call["k"].shape:
        raise Unserved("there are no keys")
    return None if call.params["softcap"] else True


def _softcapped(params: Any) -> Function:
    cap, scale, causal = params["softcap"], params["sm_scale"], params["is_causal"]

    def run(q: Tensor, k: Tensor, v: Tensor, *_: None) -> Tensor:
        groups = q.shape[2] // k.shape[2]
        keys, values = (t.transpose(1, 2).repeat_interleave(groups, 1) for t in (k, v))
        scores = q.transpose(1, 2) @ keys.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
        scores = cap * torch.tanh(scores / cap)
        if causal and q.shape[1] > 1:
            rows, columns = scores.shape[-2:]
            hidden = torch.ones(rows, columns, dtype=torch.bool, device=q.device).triu(columns - rows + 1)
            scores = scores.masked_fill(hidden, -torch.inf)
        return (scores.softmax(-1) @ values).transpose(1, 2)

    return run


@peer.serves("MultiHeadAttentionFwdOp")
@peer.serves("GroupedQueryAttentionFwdOp")
def square(call: Call) -> Function:
    causal = call.params["is_causal"]

    def run(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True).transpose(1, 2)

    return run


@peer.serves("MultiHeadAttentionBwdOp")
@peer.serves("GroupedQueryAttentionBwdOp")
def square_backward(call: Call) -> Function:
    """FlashAttention's backward, which fused attention calls; it adds gradients of queries in any order."""
    causal, length, device = call.params["is_causal"], call["q"].shape[1], call["q"].device
    seed = torch.zeros(2, dtype=torch.uint64, device=device)  # of a dropout that there is not
    aten = torch.ops.aten

    def run(*tensors: Tensor) -> tuple[Tensor, ...]:
        q, k, v, o, do = (t.transpose(1, 2) for t in tensors[:5])
        given = (do, q, k, v, o, tensors[5])
        if device.type == "cpu":
            made = aten._scaled_dot_product_flash_attention_for_cpu_backward(*given, 0.0, causal)
        else:
            made = aten._scaled_dot_product_flash_attention_backward(
                *given, None, None, length, length, 0.0, causal, seed, seed
            )
        return tuple(t.transpose(1, 2) for t in made)

    return run


def visible(rows: int, columns: int, params: Any, device: torch.device) -> Tensor:
    """Which keys the queries of one sequence see."""
    place = torch.arange(rows, device=device)[:, None] + columns - rows
    key = torch.arange(columns, device=device)
    left, right = params.get("window_size_left", -1), params.get("window_size_right", -1)
    mask = (key <= place) if params["is_causal"] else (key >= 0).expand(rows, columns)
    mask = mask & (key >= place - left) if left >= 0 else mask
    return mask & (key <= place + right) if right >= 0 else mask


@peer.serves("GroupedQueryAttentionSlidingWindowFwdOp")
def sliding_window(call: Call) -> Function:
    length = call["q"].shape[1]
    mask = visible(length, length, call.params, call["q"].device)

    def run(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True).transpose(1, 2)

    return run


@peer.serves("GroupedQueryAttentionPrefillFwdOp")
@peer.serves("GroupedQueryAttentionPrefillVarlenFwdOp")
@peer.serves("GroupedQueryAttentionSlidingWindowVarlenFwdOp")
def packed(call: Call) -> Function:
    """A call for each request; lengths are read ahead, which no run-time system could."""
    params = call.params
    if params.get("softcap") or call["q"].dtype is torch.float8_e4m3fn:
        raise Unserved("scores cannot be capped, and float8 is not offered")
    names = [name for name in call.inputs if name.startswith("cu_seqlens")]
    starts, ends = (call[name].tolist() for name in names)
    spans = list(zip(starts[:-1], starts[1:], ends[:-1], ends[1:], strict=True))
    masks = [visible(b - a, d - c, params, call["q"].device) for a, b, c, d in spans]
    scale = params.get("sm_scale")

    def run(q: Tensor, k: Tensor, v: Tensor, *_: Tensor | None) -> Tensor:
        out = torch.zeros_like(q)
        for (a, b, c, d), mask in zip(spans, masks, strict=True):
            x, y, z = (t.transpose(0, 1)[None] for t in (q[a:b], k[c:d], v[c:d]))
            o = F.scaled_dot_product_attention(x, y, z, attn_mask=mask, scale=scale, enable_gqa=True)
            out[a:b] = o[0].transpose(0, 1)
        return out

    return run
