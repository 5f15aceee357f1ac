"""cuDNN's attention, through PyTorch."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from tileops.bench.peer import Call, Function, Peer, Unserved
from tileops.bench.peers.eager.attention import plain_scores

peer = Peer("cuDNN")


@peer.serves("GroupedQueryAttentionDenseFwdOp")
def attention(call: Call) -> Function:
    if plain_scores(call) is None:
        raise Unserved("scores cannot be capped")
    rows, columns = call["q"].shape[1], call["k"].shape[1]
    causal, scale = call.params["is_causal"], call.params["sm_scale"]
    if causal and rows not in (1, columns):
        raise Unserved("PyTorch offers it top-left causal masks only")
    causal = causal and rows > 1

    def run(q: Tensor, k: Tensor, v: Tensor, *_: None) -> Tensor:
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            out = F.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale, enable_gqa=True)
        return out.transpose(1, 2)

    return run


@peer.serves("MultiHeadAttentionFwdOp")
@peer.serves("GroupedQueryAttentionFwdOp")
def square(call: Call) -> Function:
    causal = call.params["is_causal"]

    def run(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            out = F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)
        return out.transpose(1, 2)

    return run
