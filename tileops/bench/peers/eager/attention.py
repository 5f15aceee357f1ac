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
