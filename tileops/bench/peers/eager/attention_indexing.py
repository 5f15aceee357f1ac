"""The lightning indexer in PyTorch: products in bfloat16, which holds e4m3 exactly."""

from __future__ import annotations

import torch
from torch import Tensor

from tileops.bench.peer import Call, Function
from tileops.bench.peers.eager._peer import peer

ROWS = 1024  # queries at a time: the products of all heads are many times the logits


def _e4m3(x: Tensor) -> Tensor:
    return x.clamp(-448.0, 448.0).to(torch.float8_e4m3fn).bfloat16()


@peer.serves("FP8LightningIndexerFwdOp")
def fp8_lightning_indexer(call: Call) -> Function:
    groups = call["index_k"].shape[2]

    def run(
        q: Tensor, k: Tensor, weights: Tensor, first: Tensor, end: Tensor, scale: Tensor | None = None
    ) -> Tensor:
        heads = _e4m3(q.float()).unflatten(2, (groups, -1))
        keys = k.bfloat16()
        if k.dtype is not torch.float8_e4m3fn:
            scale = k.float().abs().amax(-1).clamp(min=1e-4) / 448.0
            keys = _e4m3(k.float() / scale[..., None])
        key, parts = torch.arange(k.shape[1], device=k.device), []
        for at in range(0, q.shape[1], ROWS):
            part = slice(at, at + ROWS)
            votes = torch.einsum("bsghd,btgd->bstgh", heads[:, part], keys).relu()
            logits = torch.einsum("bstgh,sgh->bstg", votes.float(), weights[part].unflatten(1, (groups, -1)))
            logits = logits if scale is None else logits * scale[:, None]
            seen = (key >= first[part, None]) & (key < end[part, None])
            parts.append(logits.masked_fill(~seen[None, :, :, None], -torch.inf))
        return torch.cat(parts, 1)

    return run
