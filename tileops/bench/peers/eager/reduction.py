"""Reductions in PyTorch."""

from __future__ import annotations

import torch.nn.functional as F

from tileops.bench.peer import Call, Function, Unserved
from tileops.bench.peers.eager._peer import peer


@peer.serves("SoftmaxFwdOp")
def softmax(call: Call) -> Function:
    dim = call.params["dim"]
    if dim is None:
        raise Unserved("dim must be given")
    return lambda x: F.softmax(x, dim)
