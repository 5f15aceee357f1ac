"""Flash Linear Attention's normalizations, in Triton."""

from __future__ import annotations

from tileops.bench.peer import Call, Function, Peer, Unserved

peer = Peer("fla-core", module="fla.modules.norm.layernorm", compiles=True)


def _last_axis(call: Call) -> None:
    if call["x"].shape[-1] * call["x"].element_size() > 65536:
        raise Unserved("rows of at most 64 KiB")
    if len(call.params.get("normalized_shape", (0,))) != 1:
        raise Unserved("only the last axis is normalized")


@peer.serves("RMSNormFwdOp")
def rms_norm(call: Call) -> Function:
    from fla.modules.norm.layernorm import rms_norm

    _last_axis(call)
    eps = call.params["eps"]
    return lambda x, weight: rms_norm(x, weight, None, eps=eps)


@peer.serves("LayerNormFwdOp")
def layer_norm(call: Call) -> Function:
    from fla.modules.norm.layernorm import layer_norm

    _last_axis(call)
    eps = call.params["eps"]
    return lambda x, weight, bias: layer_norm(x, weight, bias, eps=eps)


@peer.serves("FusedAddRMSNormFwdOp")
def fused_add_rms_norm(call: Call) -> Function:
    from fla.modules.norm.layernorm import rms_norm

    _last_axis(call)
    eps = call.params["eps"]
    return lambda x, residual, weight: rms_norm(x, weight, None, residual=residual, eps=eps, prenorm=True)


@peer.serves("FusedAddLayerNormFwdOp")
def fused_add_layer_norm(call: Call) -> Function:
    from fla.modules.norm.layernorm import layer_norm

    _last_axis(call)
    eps = call.params["eps"]
    return lambda x, residual, weight, bias: layer_norm(
        x, weight, bias, residual=residual, eps=eps, prenorm=True
    )
