"""PyTorch's product of float8 operands with one scale each, which cuBLAS computes."""

from __future__ import annotations

import torch
from torch import Tensor

from tileops.bench.peer import Call, Function, Peer, Unserved

peer = Peer("torch._scaled_mm", devices=("cuda",))


@peer.serves("GemmFp8FwdOp")
def gemm_fp8(call: Call) -> Function:
    if call["scale_a"].numel() != 1 or call["scale_b"].numel() != 1:
        raise Unserved("one scale for each operand only")
    dtype = call.params["out_dtype"]

    def run(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, bias: Tensor | None) -> Tensor:
        return torch._scaled_mm(a, b.mT, scale_a, scale_b, bias=bias, out_dtype=dtype)

    return run
