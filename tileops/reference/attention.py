"""Oracles of the attention family: float64, the whole score matrix."""

import torch
from torch import Tensor


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
    if q_scale is not None or rope_cos is not None:
        raise NotImplementedError("float8 scales and fused rope are specified and not yet implemented")
    (s_q, h, d), (s_kv, h_kv) = q.shape[1:], k.shape[1:3]
    queries, keys, values = (x.double().transpose(1, 2) for x in (q, k, v))
    keys, values = (x.repeat_interleave(h // h_kv, dim=1) for x in (keys, values))
    scores = queries @ keys.mT * (d**-0.5 if sm_scale is None else sm_scale)
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    place = torch.arange(s_q, device=q.device)[:, None] + s_kv - s_q
    key = torch.arange(s_kv, device=q.device)
    visible = torch.ones(s_q, s_kv, dtype=torch.bool, device=q.device)
    if is_causal:
        visible &= key <= place
    if window_size_left >= 0:
        visible &= key >= place - window_size_left
    if window_size_right >= 0:
        visible &= key <= place + window_size_right
    weights = scores.masked_fill(~visible, -torch.inf).softmax(-1)
    weights = weights.masked_fill(~visible.any(-1, keepdim=True), 0.0)  # a row that sees nothing gives 0
    return (weights @ values).transpose(1, 2)
