"""cuBLAS, through `torch.matmul`."""

from __future__ import annotations

import torch

from tileops.bench.peer import Call, Function, Peer

# On a CPU the same call is PyTorch's matrix product there; it lets the harness be tried.
peer = Peer("cuBLAS", devices=("cuda", "cpu"), is_torch=True)


@peer.serves("GemmFwdOp")
def gemm(call: Call) -> Function:
    trans_a, trans_b = call.params["trans_a"], call.params["trans_b"]
    return lambda a, b: torch.matmul(a.mT if trans_a else a, b.mT if trans_b else b)


@peer.serves("BmmFwdOp")
def bmm(call: Call) -> Function:
    return torch.bmm
