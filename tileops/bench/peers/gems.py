"""FlagGems: PyTorch's operators in Triton. Its matrix product tunes itself for minutes and is left out."""

from __future__ import annotations

import math

from torch import Tensor

from tileops.bench.peer import Call, Function, Peer, Unserved

peer = Peer("flag_gems", module="flag_gems", compiles=True)


@peer.serves("RMSNormFwdOp")
def rms_norm(call: Call) -> Function:
    from flag_gems.ops import rms_norm

    call["weight"]
    shape, eps = call.params["normalized_shape"], call.params["eps"]
    return lambda x, weight: rms_norm(x, shape, weight, eps)


@peer.serves("LayerNormFwdOp")
def layer_norm(call: Call) -> Function:
    from flag_gems.ops import layer_norm

    shape, eps = call.params["normalized_shape"], call.params["eps"]
    return lambda x, weight, bias: layer_norm(x, shape, weight, bias, eps)[0]


@peer.serves("FusedAddRMSNormFwdOp", writes=("x", "residual"))
def fused_add_rms_norm(call: Call) -> Function:
    from flag_gems.fused import fused_add_rms_norm

    shape, eps = tuple(call["weight"].shape), call.params["eps"]

    def run(x: Tensor, residual: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        y, total = fused_add_rms_norm(x, residual, shape, weight, eps)
        return y, total

    return run


@peer.serves("GroupNormFwdOp")
def group_norm(call: Call) -> Function:
    from flag_gems.ops import group_norm

    groups, eps, (batch, channels, *spatial) = call.params["num_groups"], call.params["eps"], call["x"].shape
    places = math.prod(spatial)
    return lambda x, weight, bias: group_norm(x, weight, bias, batch, channels, places, groups, eps)[0]


@peer.serves("BatchNormFwdOp", writes=("running_mean", "running_var"))
def batch_norm(call: Call) -> Function:
    from flag_gems.ops import batch_norm

    params = [call.params[name] for name in ("training", "momentum", "eps")]
    return lambda x, mean, var, weight, bias: batch_norm(x, weight, bias, mean, var, *params)[0]


@peer.serves("SoftmaxFwdOp")
def softmax(call: Call) -> Function:
    from flag_gems.ops import softmax

    dim = call.params["dim"]
    if dim is None:
        raise Unserved("dim must be given")
    return lambda x: softmax(x, dim)


def _unary(name: str) -> None:
    """An operator of one tensor and no params, of the same name in lower case."""

    def make(call: Call) -> Function:
        import flag_gems.ops

        function = getattr(flag_gems.ops, name.lower(), None)
        if function is None:
            raise Unserved(f"it has no {name.lower()}")
        return lambda x: function(x)

    peer.serves(f"{name}FwdOp")(make)


for _name in ("Abs", "Cos", "Erf", "Exp", "Isfinite", "Isinf", "Isnan", "Log", "Neg", "Reciprocal", "Relu"):
    _unary(_name)
for _name in ("Rsqrt", "Sigmoid", "Silu", "Sin", "Sqrt", "Tanh"):
    _unary(_name)


@peer.serves("GeluFwdOp")
def gelu(call: Call) -> Function:
    from flag_gems.ops import gelu

    approximate = call.params["approximate"]
    return lambda x: gelu(x, approximate=approximate)
