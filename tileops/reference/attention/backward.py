"""Oracles of the gradients of attention: float64, the whole score matrix."""

import torch
from torch import Tensor


def grouped_query_attention_bwd(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, *, is_causal: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of square attention, for any output and log-sum-exp that are given."""
    (s, h, d), h_kv = q.shape[1:], k.shape[2]
    queries, outputs, gradients = (x.double().transpose(1, 2) for x in (q, o, do))
    keys, values = (x.double().transpose(1, 2).repeat_interleave(h // h_kv, 1) for x in (k, v))
    scores = queries @ keys.mT * d**-0.5 - lse.double()[..., None]
    if is_causal:
        scores = scores.masked_fill(~torch.ones(s, s, dtype=torch.bool, device=q.device).tril(), -torch.inf)
    weights = scores.exp().masked_fill((lse == -torch.inf)[..., None], 0.0)
    inner = (outputs * gradients).sum(-1, keepdim=True)
    slopes = weights * (gradients @ values.mT - inner) * d**-0.5
    dq, dk, dv = slopes @ keys, slopes.mT @ queries, weights.mT @ gradients
    dk, dv = (x.unflatten(1, (h_kv, h // h_kv)).sum(2) for x in (dk, dv))
    return dq.transpose(1, 2), dk.transpose(1, 2), dv.transpose(1, 2)


def multi_head_attention_bwd(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, *, is_causal: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """The same; every query head has a key head."""
    return grouped_query_attention_bwd(q, k, v, o, do, lse, is_causal=is_causal)
