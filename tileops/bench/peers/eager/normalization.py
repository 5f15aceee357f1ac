"""Normalizations in PyTorch."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from tileops.bench.peer import Call, Function
from tileops.bench.peers.eager._peer import peer


@peer.serves("RMSNormFwdOp")
def rms_norm(call: Call) -> Function:
    shape, eps = call.params["normalized_shape"], call.params["eps"]
    return lambda x, weight: F.rms_norm(x, shape, weight, eps)


@peer.serves("LayerNormFwdOp")
def layer_norm(call: Call) -> Function:
    shape, eps = call.params["normalized_shape"], call.params["eps"]
    return lambda x, weight, bias: F.layer_norm(x, shape, weight, bias, eps)


@peer.serves("FusedAddRMSNormFwdOp")
def fused_add_rms_norm(call: Call) -> Function:
    shape, eps = call["weight"].shape, call.params["eps"]

    def run(x: Tensor, residual: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        total = x + residual
        return F.rms_norm(total, shape, weight, eps), total

    return run


@peer.serves("FusedAddLayerNormFwdOp")
def fused_add_layer_norm(call: Call) -> Function:
    shape, eps = call["weight"].shape, call.params["eps"]

    def run(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        total = x + residual
        return F.layer_norm(total, shape, weight, bias, eps), total

    return run


@peer.serves("AdaLayerNormFwdOp")
def ada_layer_norm(call: Call) -> Function:
    shape, eps = call["x"].shape[-1:], call.params["eps"]
    return lambda x, scale, shift: scale * F.layer_norm(x, shape, None, None, eps) + shift


@peer.serves("AdaLayerNormZeroFwdOp")
def ada_layer_norm_zero(call: Call) -> Function:
    shape, eps = call["x"].shape[-1:], call.params["eps"]
    return lambda x, scale, shift, gate: gate * (scale * F.layer_norm(x, shape, None, None, eps) + shift)
