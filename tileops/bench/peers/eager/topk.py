"""Selection in PyTorch."""

from __future__ import annotations

import torch
from torch import Tensor

from tileops.bench.peer import Call, Function
from tileops.bench.peers.eager._peer import peer


@peer.serves("TopkSelectorFwdOp")
def topk_selector(call: Call) -> Function:
    count, length = call.params["topk"], call["index_score"].shape[2]

    whole = bool((call["starts"] <= 0).all()) and bool((call["ends"] >= length).all())

    def run(score: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
        if whole:
            return score.topk(count, dim=2).indices.int().transpose(2, 3).contiguous()
        key = torch.arange(length, device=score.device)[:, None]
        outside = (key < starts[..., None, None]) | (key >= ends[..., None, None])
        found = score.masked_fill(outside, -torch.inf).topk(count, dim=2)
        return found.indices.int().masked_fill(found.values == -torch.inf, -1).transpose(2, 3).contiguous()

    return run
