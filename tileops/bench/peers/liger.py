"""Liger-Kernel: Triton kernels for training, of which the forward is called."""

from __future__ import annotations

import torch
from torch import Tensor

from tileops.bench.peer import Call, Function, Peer, Unserved
from tileops.bench.peers.eager.rope import tables
from tileops.kernels import rope

peer = Peer("liger-kernel", module="liger_kernel", compiles=True)

LONGEST = 65536


def _row(call: Call, name: str) -> int:
    length = call[name].shape[-1]
    if length > LONGEST:
        raise Unserved(f"rows of at most {LONGEST} elements")
    return length


def _one_axis(call: Call) -> None:
    if len(call.params["normalized_shape"]) != 1:
        raise Unserved("only the last axis is normalized")


@peer.serves("RMSNormFwdOp")
def rms_norm(call: Call) -> Function:
    from liger_kernel.ops.rms_norm import rms_norm_forward

    _row(call, "x")
    _one_axis(call)
    eps = call.params["eps"]
    return lambda x, weight: rms_norm_forward(x, weight, eps, 0.0, "llama", None)[0]


@peer.serves("LayerNormFwdOp")
def layer_norm(call: Call) -> Function:
    from liger_kernel.ops.layer_norm import layer_norm_forward

    _row(call, "x")
    _one_axis(call)
    call["weight"], call["bias"]  # it has no form without them
    eps = call.params["eps"]
    return lambda x, weight, bias: layer_norm_forward(x, weight, bias, eps)[0]


@peer.serves("FusedAddRMSNormFwdOp")
def fused_add_rms_norm(call: Call) -> Function:
    from liger_kernel.ops.fused_add_rms_norm import fused_add_rms_norm_forward

    _row(call, "x")
    eps = call.params["eps"]
    return lambda x, residual, weight: fused_add_rms_norm_forward(x, residual, weight, eps, 0.0, "llama")[:2]


@peer.serves("GroupNormFwdOp")
def group_norm(call: Call) -> Function:
    from liger_kernel.ops.group_norm import group_norm_forward

    call["weight"], call["bias"]
    groups, eps, (batch, channels, *_) = call.params["num_groups"], call.params["eps"], call["x"].shape

    def run(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        rows = x.view(batch, channels, -1)
        out: Tensor = group_norm_forward(rows, channels, groups, weight, bias, eps)[0]
        return out.view(x.shape)

    return run


@peer.serves("SoftmaxFwdOp")
def softmax(call: Call) -> Function:
    from liger_kernel.ops.softmax import _softmax_forward

    _row(call, "input")
    if call.params["dim"] not in (-1, call["input"].dim() - 1):
        raise Unserved("only the last axis")
    return lambda x: _softmax_forward(x)[0]


@peer.serves("RopeNeoxFwdOp", writes=("x",))
def rope_neox(call: Call) -> Function:
    from liger_kernel.ops.rope import rope_forward

    x = call["x"]
    if x.dim() != 4:
        raise Unserved("batches with heads only")
    cosine, sine = (t.repeat(1, 2)[None] for t in tables(call, rope.plain, x.shape[-1], x.shape[1]))
    keys = torch.zeros(x.shape[0], 1, x.shape[1], x.shape[3], dtype=x.dtype, device=x.device)  # it wants some

    def run(x: Tensor) -> Tensor:
        turned: Tensor = rope_forward(x.transpose(1, 2), keys, cosine, sine)[0]
        return turned.transpose(1, 2)

    return run
