"""cuDNN's attention, through PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
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


@contextmanager
def _deterministic() -> Iterator[None]:
    """PyTorch's deterministic mode, which it hands on to cuDNN, without its clearing of fresh memory."""
    fill: Any = torch.utils.deterministic
    before, filled = torch.are_deterministic_algorithms_enabled(), fill.fill_uninitialized_memory
    warns = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True)
    fill.fill_uninitialized_memory = False
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warns)
        fill.fill_uninitialized_memory = filled


@peer.serves("MultiHeadAttentionBwdOp")
@peer.serves("GroupedQueryAttentionBwdOp")
def square_backward(call: Call) -> Function:
    """In its deterministic mode, since ours always is."""
    causal, length = call.params["is_causal"], call["q"].shape[1]
    seed = torch.zeros((), dtype=torch.int64, device=call["q"].device)  # of a dropout that there is not
    backward = torch.ops.aten._scaled_dot_product_cudnn_attention_backward

    def run(*tensors: Tensor) -> tuple[Tensor, ...]:
        q, k, v, o, do = (t.transpose(1, 2) for t in tensors[:5])
        given = (do, q, k, v, o, tensors[5][..., None], seed, seed)
        with _deterministic():
            made = backward(*given, None, None, None, length, length, 0.0, causal)
        return tuple(t.transpose(1, 2) for t in made)

    return run
