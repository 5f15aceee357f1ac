"""Rotary position embedding in PyTorch: tables made beforehand, as models keep them, in float32."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from tileops.bench.peer import Call, Function
from tileops.bench.peers.eager._peer import peer
from tileops.kernels import rope

Schedule = Callable[..., rope.Schedule]


def tables(call: Call, schedule: Schedule, width: int, length: int) -> tuple[Tensor, Tensor]:
    """Cosine and sine, `[length, width // 2]`, for the params of a call after its layout."""
    names = [n for n in call.params if n not in ("layout", "max_position", "rotary_dim")]
    rate, a, b, c, slow, amplitude = schedule(width, *(call.params[n] for n in names))
    pair = torch.arange(width // 2, dtype=torch.float64, device=call["x"].device)
    frequency = torch.exp(-rate * pair)
    share = (a + b * pair + c * frequency).clamp(0.0, 1.0)
    frequency = frequency * (share + (1.0 - share) * slow)
    if call.inputs.get("rescale_factors") is not None:
        frequency = frequency / call["rescale_factors"].double()
    angle = torch.arange(length, device=pair.device).double()[:, None] * frequency
    return (amplitude * angle.cos()).float(), (amplitude * angle.sin()).float()


def halves(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Turn pairs that are half a row apart."""
    a, b = x.float().chunk(2, -1)
    return torch.cat([a * cosine - b * sine, b * cosine + a * sine], -1).to(x.dtype)


def neighbours(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Turn pairs that are next to each other."""
    a, b = x.float().unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack([a * cosine - b * sine, b * cosine + a * sine], -1).flatten(-2).to(x.dtype)


def _serve(name: str, schedule: Schedule, turn: Callable[..., Tensor]) -> None:
    def make(call: Call) -> Function:
        x = call["x"]
        cosine, sine = tables(call, schedule, x.shape[-1], x.shape[-3 if x.dim() == 4 else 0])
        if x.dim() == 4:
            cosine, sine = cosine[:, None], sine[:, None]
        return lambda x, *_: turn(x, cosine, sine)

    peer.serves(name)(make)


_serve("RopeNeoxFwdOp", rope.plain, halves)
_serve("RopeNonNeoxFwdOp", rope.plain, neighbours)
_serve("RopeLlama31FwdOp", rope.llama31, halves)
_serve("RopeYarnFwdOp", rope.yarn, halves)
_serve("RopeLongRopeFwdOp", rope.long_rope, halves)


@peer.serves("RopeNeoxPositionIdsFwdOp")
def rope_neox_position_ids(call: Call) -> Function:
    width = call.params["rotary_dim"] or call["x"].shape[-1]
    cosine, sine = tables(call, rope.plain, width, call.params["max_position"])

    def run(x: Tensor, position_ids: Tensor) -> Tensor:
        turned = halves(x[..., :width], cosine[position_ids][:, None], sine[position_ids][:, None])
        return turned if width == x.shape[-1] else torch.cat([turned, x[..., width:]], -1)

    return run
