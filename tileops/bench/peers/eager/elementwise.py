"""Elementwise operators in PyTorch; most follow from their `ref_api`."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from tileops.bench.peer import Call, Function, Unserved
from tileops.bench.peers.eager._peer import peer


@peer.serves("ClampScalarFwdOp")
def clamp(call: Call) -> Function:
    low, high = call.params["min"], call.params["max"]
    if call["input"].dtype is torch.uint8 and min(low or 0, high or 0) < 0:
        raise Unserved("PyTorch wraps bounds below zero")
    return lambda x: torch.clamp(x, low, high)


@peer.serves("NanToNumFwdOp")
def nan_to_num(call: Call) -> Function:
    params = call.params
    return lambda x: torch.nan_to_num(x, params["nan"], params["posinf"], params["neginf"])


@peer.serves("SiluAndMulFwdOp")
def silu_and_mul(call: Call) -> Function:
    n = call["x"].shape[1] // 2
    return lambda x: F.silu(x[:, :n]) * x[:, n:]


@peer.serves("GeluAndMulFwdOp")
def gelu_and_mul(call: Call) -> Function:
    return _gelu_and_mul(call, "none")


@peer.serves("GeluTanhAndMulFwdOp")
def gelu_tanh_and_mul(call: Call) -> Function:
    return _gelu_and_mul(call, "tanh")


def _gelu_and_mul(call: Call, approximate: str) -> Function:
    n = call["x"].shape[1] // 2
    return lambda x: F.gelu(x[:, :n], approximate=approximate) * x[:, n:]


@peer.serves("AlibiFwdOp")
def alibi(call: Call) -> Function:
    params = call.params

    def run() -> Tensor:
        at = torch.arange(params["seq_len"], device=call.device)
        heads = torch.arange(1, params["num_heads"] + 1, device=call.device)
        slopes = torch.exp2(-8 * heads / params["num_heads"])
        return (-slopes[:, None, None] * (at[:, None] - at).abs()).to(params["dtype"])

    return run


@peer.serves("SinusoidalFwdOp")
def sinusoidal(call: Call) -> Function:
    params = call.params

    def run() -> Tensor:
        t = torch.arange(params["seq_len"], device=call.device, dtype=torch.float64)
        m = torch.arange(params["d_model"] // 2, device=call.device, dtype=torch.float64)
        angles = t[:, None] * 10000 ** (-2 * m / params["d_model"])
        return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1).to(params["dtype"])

    return run
