"""Oracle of the selector: a stable sort, which keeps equal scores in the order of their indices."""

import torch
from torch import Tensor


def topk_selector(index_score: Tensor, starts: Tensor, ends: Tensor, *, topk: int) -> Tensor:
    """Float32 scores are exact, so nothing is rounded; NaN sorts first, as in `torch.topk`."""
    length = index_score.shape[2]
    key = torch.arange(length, device=index_score.device)
    inside = (key >= starts[..., None]) & (key < ends[..., None])
    score = index_score.transpose(2, 3)
    out = torch.full((*score.shape[:3], topk), -1, dtype=torch.int32, device=score.device)
    for b in range(score.shape[0]):
        for s in range(score.shape[1]):
            kept = key[inside[b, s]]
            order = score[b, s][:, inside[b, s]].sort(dim=-1, descending=True, stable=True).indices[:, :topk]
            out[b, s, :, : order.shape[1]] = kept[order].int()
    return out
