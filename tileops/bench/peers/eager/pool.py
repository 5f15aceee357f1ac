"""Pooling in PyTorch: what its own functions do not name alike."""

from __future__ import annotations

from tileops.bench.peer import Call, Function, Unserved
from tileops.bench.peers.eager._peer import peer


@peer.serves("MeanPoolingFwdOp")
def mean_pooling(call: Call) -> Function:
    size, x = call.params["chunk_size"], call["x"]
    if call.inputs["offsets"] is not None:
        raise Unserved("packed sequences have no one call")
    if x.shape[1] % size:
        raise Unserved("only whole chunks")
    return lambda x, *_: x.unflatten(1, (-1, size)).mean(2)
