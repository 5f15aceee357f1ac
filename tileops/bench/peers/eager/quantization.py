"""Quantization in PyTorch."""

from __future__ import annotations

import torch
from torch import Tensor

from tileops.bench.peer import Call, Function
from tileops.bench.peers.eager._peer import peer


@peer.serves("FP8QuantFwdOp")
def fp8_quant(call: Call) -> Function:
    def run(x: Tensor) -> tuple[Tensor, Tensor]:
        wide = x.float()
        scale = wide.abs().amax(-1, keepdim=True).clamp(min=1e-4) / 448.0
        return scale[..., 0], (wide / scale).clamp(-448.0, 448.0).to(torch.float8_e4m3fn)

    return run
