"""Oracles of the operators with three operands: floats in float64, integers and booleans exactly."""

from __future__ import annotations

import torch
from torch import Tensor

from tileops.reference.elementwise.binary import wide


def lerp_tensor(input: Tensor, end: Tensor, weight: Tensor) -> Tensor:
    """Interpolation by a weight for each element."""
    return torch.lerp(*torch.broadcast_tensors(input.double(), end.double(), weight.double()))


def where(condition: Tensor, input: Tensor, other: Tensor) -> Tensor:
    """The first where the condition holds."""
    return torch.where(condition, wide(input), wide(other))


def masked_fill(input: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    """The value where the mask is true."""
    return torch.where(mask, wide(value), wide(input))


def clamp(input: Tensor, min: Tensor | None, max: Tensor | None) -> Tensor:
    """Between the bounds; the upper one wins, and so does a NaN."""
    return torch.clamp(wide(input), None if min is None else wide(min), None if max is None else wide(max))
