"""Decoding in PyTorch."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from tileops.bench.peer import Call, Function, Unserved
from tileops.bench.peers.eager._peer import peer


def _attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float | None) -> Tensor:
    """Of (batch, sequence, heads, head_dim)."""
    q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale, enable_gqa=True)
    return out.transpose(1, 2)


def _capped(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float | None, cap: float) -> Tensor:
    groups = q.shape[2] // k.shape[2]
    keys, values = (t.transpose(1, 2).repeat_interleave(groups, 1) for t in (k, v))
    scores = q.transpose(1, 2) @ keys.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    scores = cap * torch.tanh(scores / cap)
    scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
    return (scores.softmax(-1) @ values).transpose(1, 2)


def _formula(call: Call, mask: Tensor | None) -> Function:
    cap, scale, single = call.params.get("softcap"), call.params.get("sm_scale"), call["q"].dim() == 3

    def run(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q = q[:, None] if single else q
        out = _capped(q, k, v, mask, scale, cap) if cap else _attend(q, k, v, mask, scale)
        return out[:, 0] if single else out

    return run


@peer.serves("MultiHeadAttentionDecodeWithKVCacheFwdOp")
@peer.serves("GroupedQueryAttentionDecodeWithKVCacheFwdOp")
def dense(call: Call) -> Function:
    if call["k"].shape[1] == 0:
        raise Unserved("there are no keys")
    return _formula(call, None)


@peer.serves("MultiHeadAttentionDecodePagedWithKVCacheFwdOp")
@peer.serves("GroupedQueryAttentionDecodePagedWithKVCacheFwdOp")
def paged(call: Call) -> Function:
    """Gathers the pages of all requests, as long as the table; a mask hides what is past the lengths."""
    size, lengths, table = call.params["page_size"], call["real_seqlen_kv"], call["block_table"]
    if table.numel() == 0 or int(lengths.min()) < 1:
        raise Unserved("a request has no keys")
    rows = call["q"].shape[1] if call["q"].dim() == 4 else 1
    key, row = (torch.arange(n, device=table.device) for n in (table.shape[1] * size, rows))
    ends = lengths[:, None] + (row - rows + 1 if call.params.get("is_causal") else 0 * row)
    if int(ends.min()) < 1:
        raise Unserved("a query has no keys")
    formula = _formula(call, (key < ends[..., None])[:, None])

    def run(q: Tensor, k: Tensor, v: Tensor, _: Tensor, table: Tensor) -> Tensor:
        keys, values = (x.unflatten(0, (-1, size))[table.long()].flatten(1, 2) for x in (k, v))
        return formula(q, keys, values)

    return run
