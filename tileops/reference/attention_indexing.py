"""Oracle of the lightning indexer."""

import torch
from torch import Tensor

_ROWS = 64  # queries at a time: products of all heads in float64 are many times the logits


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
        scale = index_k.float().abs().amax(-1).clamp(min=1e-4) / 448.0
        k = _e4m3(index_k.float() / scale[..., None])
    out = torch.full((batch, rows, columns, groups), -torch.inf, dtype=torch.float64, device=k.device)
    key = torch.arange(columns, device=k.device)
    for first in range(0, rows, _ROWS):
        part = slice(first, first + _ROWS)
        votes = torch.einsum("bsghd,btgd->bstgh", q[:, part], k).relu_()
        votes *= weights[part].double().view(1, -1, 1, groups, heads // groups)
        logits = votes.sum(-1) if scale is None else votes.sum(-1) * scale.double()[:, None]
        seen = (key >= cu_seqlen_ks[part, None]) & (key < cu_seqlen_ke[part, None])
        out[:, part] = torch.where(seen[None, :, :, None], logits, -torch.inf)
    return out
