"""Oracles of the gated activations, in float64."""

from __future__ import annotations

from torch import Tensor

from tileops.reference.elementwise.activations import gelu, silu


def silu_and_mul(x: Tensor) -> Tensor:
    """SiLU of the first half of each row, times the second."""
    gate, value = x.double().chunk(2, dim=1)
    return silu(gate, inplace=False) * value


def gelu_and_mul(x: Tensor) -> Tensor:
    """GELU of the first half of each row, times the second."""
    gate, value = x.double().chunk(2, dim=1)
    return gelu(gate, approximate="none") * value


def gelu_tanh_and_mul(x: Tensor) -> Tensor:
    """GELU with tanh of the first half of each row, times the second."""
    gate, value = x.double().chunk(2, dim=1)
    return gelu(gate, approximate="tanh") * value
