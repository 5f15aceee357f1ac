"""Oracle of the selector: stable sorts, which keep equal scores in the order of their indices."""

import torch
from torch import Tensor

_SCORES = 1 << 24  # sorted at a time


def topk_selector(index_score: Tensor, starts: Tensor, ends: Tensor, *, topk: int) -> Tensor:
    """Sorted by score, NaN first as in `torch.topk`; then what is outside of the range goes behind."""
    batch, rows, length, groups = index_score.shape
    key = torch.arange(length, device=index_score.device)
    score = index_score.transpose(2, 3).flatten(0, 1)
    start, end = starts.flatten()[:, None, None], ends.flatten()[:, None, None]
    out = torch.empty((batch * rows, groups, topk), dtype=torch.int32, device=score.device)
    step = max(1, _SCORES // (length * groups))
    for first in range(0, batch * rows, step):
        part = slice(first, first + step)
        order = score[part].sort(dim=-1, descending=True, stable=True).indices
        outside = ((key < start[part]) | (key >= end[part])).expand(order.shape).gather(-1, order)
        outside, behind = outside.int().sort(dim=-1, stable=True)
        order = order.gather(-1, behind).masked_fill(outside.bool(), -1)
        out[part] = order[..., :topk].int()
    return out.view(batch, rows, groups, topk)
