"""Oracles of decoding: float64, each request by itself."""

from typing import Any

import torch
from torch import Tensor

from tileops.reference.attention.forward import attend


def multi_head_attention_decode_with_kv_cache(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Queries over all keys."""
    return attend(q, k, v)[0]


def grouped_query_attention_decode_with_kv_cache(q: Tensor, k: Tensor, v: Tensor, **params: Any) -> Tensor:
    """One query over all keys."""
    return attend(q[:, None], k, v, **params)[0][:, 0]


def multi_head_attention_decode_paged_with_kv_cache(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    real_seqlen_kv: Tensor,
    block_table: Tensor,
    *,
    page_size: int,
    **params: Any,
) -> Tensor:
    """Each request by itself, over the rows of its pages."""
    out = torch.zeros(q.shape, dtype=torch.float64, device=q.device)
    for b, length in enumerate(real_seqlen_kv.tolist()):
        token = torch.arange(length, device=q.device)
        row = block_table[b].long()[token // page_size] * page_size + token % page_size
        out[b] = attend(q[b], k[row], v[row], **params)[0]
    return out


def grouped_query_attention_decode_paged_with_kv_cache(q: Tensor, *tensors: Tensor, **params: Any) -> Tensor:
    """The same with one query."""
    return multi_head_attention_decode_paged_with_kv_cache(q[:, None], *tensors, **params)[:, 0]
