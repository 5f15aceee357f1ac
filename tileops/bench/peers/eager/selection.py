"""Elementwise operators in PyTorch whose function is a method, or takes tensors that may be absent."""

from __future__ import annotations

import torch

from tileops.bench.peer import Call, Function
from tileops.bench.peers.eager._peer import peer


@peer.serves("ClampFwdOp")
def clamp(call: Call) -> Function:
    return lambda x, low, high: torch.clamp(x, low, high)


@peer.serves("MaskedFillFwdOp")
def masked_fill(call: Call) -> Function:
    return lambda x, mask, value: x.masked_fill(mask, value)


@peer.serves("MaskedFillScalarFwdOp")
def masked_fill_scalar(call: Call) -> Function:
    value = call.params["value"]
    return lambda x, mask: x.masked_fill(mask, value)
