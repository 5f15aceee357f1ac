"""Dropout in PyTorch, which draws other numbers."""

from __future__ import annotations

import torch.nn.functional as F

from tileops.bench.peer import Call, Function
from tileops.bench.peers.eager._peer import peer


@peer.serves("DropoutFwdOp")
def dropout(call: Call) -> Function:
    p, training = call.params["p"], call.params["training"]
    return lambda x: F.dropout(x, p, training)
