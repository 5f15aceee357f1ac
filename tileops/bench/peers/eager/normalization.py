"""Normalizations in PyTorch."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from tileops.bench.peer import Call, Function, Unserved
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


@peer.serves("BatchNormFwdOp", writes=("running_mean", "running_var"))
def batch_norm(call: Call) -> Function:
    training, momentum, eps = (call.params[name] for name in ("training", "momentum", "eps"))

    def run(x: Tensor, mean: Tensor | None, var: Tensor | None, weight: Tensor, bias: Tensor) -> Tensor:
        return F.batch_norm(x, mean, var, weight, bias, training, momentum, eps)

    return run


@peer.serves("BatchNormBwdOp")
def batch_norm_bwd(call: Call) -> Function:
    mask = [True, True, True]
    call["mean"], call["rstd"]
    if not call.params["training"]:
        raise Unserved("PyTorch wants running variances there, and not their roots")

    def run(grad: Tensor, x: Tensor, weight: Tensor, mean: Tensor, rstd: Tensor) -> tuple[Tensor, ...]:
        made: tuple[Tensor, ...] = torch.ops.aten.native_batch_norm_backward(
            grad, x, weight, None, None, mean, rstd, True, 0.0, mask
        )
        return made

    return run


@peer.serves("GroupNormFwdOp")
def group_norm(call: Call) -> Function:
    groups, eps = call.params["num_groups"], call.params["eps"]
    return lambda x, weight, bias: F.group_norm(x, groups, weight, bias, eps)


@peer.serves("InstanceNormFwdOp", writes=("running_mean", "running_var"))
def instance_norm(call: Call) -> Function:
    use_input_stats, momentum, eps = (call.params[name] for name in ("use_input_stats", "momentum", "eps"))

    def run(x: Tensor, mean: Tensor | None, var: Tensor | None, weight: Tensor, bias: Tensor) -> Tensor:
        return F.instance_norm(x, mean, var, weight, bias, use_input_stats, momentum, eps)

    return run
