"""The eager formulation under `torch.compile`; attention as `flex_attention`, which fuses caps and masks."""

from __future__ import annotations

from typing import Any

import torch
import torch._inductor.config
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from tileops.bench.peer import Call, Function, Peer, Served, Unserved
from tileops.bench.peers import eager
from tileops.bench.peers.eager.attention import plain_scores

peer = Peer("torch.compile", devices=("cuda", "cpu"), compiles=True)


def _compile(function: Function) -> Function:
    torch._inductor.config.compile_threads = 1  # a pool of workers for one kernel is slower
    torch._dynamo.reset()  # one graph a case: the limit on recompilations is by code object
    compiled: Function = torch.compile(function, fullgraph=True, dynamic=False)
    return compiled


@peer.serves("GroupedQueryAttentionDenseFwdOp", slow=True)
def attention(call: Call) -> Function:
    plain_scores(call)
    q, k, params = call["q"], call["k"], call.params
    if q.device.type == "cpu":
        raise Unserved("flex_attention is for GPUs here")
    rows, columns, cap = q.shape[1], k.shape[1], params["softcap"]

    def visible(_b: Tensor, _h: Tensor, row: Tensor, column: Tensor) -> Tensor:
        return column <= row + (columns - rows)

    def capped(score: Tensor, *_: Any) -> Tensor:
        return cap * torch.tanh(score / cap)

    masked = params["is_causal"] and rows > 1
    mask = create_block_mask(visible, None, None, rows, columns, device=q.device.type) if masked else None
    change = capped if cap else None
    flex = _compile(flex_attention)

    def run(q: Tensor, k: Tensor, v: Tensor, *_: None) -> Tensor:
        heads = (t.transpose(1, 2) for t in (q, k, v))
        out = flex(*heads, score_mod=change, block_mask=mask, scale=params["sm_scale"], enable_gqa=True)
        return out.transpose(1, 2)

    return run


def _make(served: Served) -> Served:
    return Served(lambda call: _compile(served.make(call)), served.writes, served.slow)


for _name, _served in eager.peer.ops.items():
    peer.ops.setdefault(_name, _make(_served))
