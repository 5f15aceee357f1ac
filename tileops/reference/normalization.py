"""Oracles of the normalization family: float64, one formula a function."""

from collections.abc import Sequence

import torch
from torch import Tensor


def rms_norm(x: Tensor, weight: Tensor | None, *, normalized_shape: Sequence[int], eps: float) -> Tensor:
    """Root mean square normalization over the last axes."""
    axes = tuple(range(-len(normalized_shape), 0))
    r = x.double()
    y = r / torch.sqrt(r.square().mean(axes, keepdim=True) + eps)
    return y if weight is None else y * weight.double()


def layer_norm(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, *, normalized_shape: Sequence[int], eps: float
) -> Tensor:
    """Layer normalization over the last axes, with the biased variance."""
    axes = tuple(range(-len(normalized_shape), 0))
    r = x.double()
    y = (r - r.mean(axes, keepdim=True)) / torch.sqrt(r.var(axes, correction=0, keepdim=True) + eps)
    y = y if weight is None else y * weight.double()
    return y if bias is None else y + bias.double()


def fused_add_rms_norm(x: Tensor, residual: Tensor, weight: Tensor, *, eps: float) -> tuple[Tensor, Tensor]:
    """The sum as it is stored, in the dtype of x, and the RMS normalization of that stored sum."""
    r = (x.double() + residual.double()).to(x.dtype).double()
    return r / torch.sqrt(r.square().mean(-1, keepdim=True) + eps) * weight.double(), r


def fused_add_layer_norm(
    x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor, *, eps: float
) -> tuple[Tensor, Tensor]:
    """The sum as it is stored, in the dtype of x, and the layer normalization of that stored sum."""
    r = (x.double() + residual.double()).to(x.dtype).double()
    return layer_norm(r, weight, bias, normalized_shape=x.shape[-1:], eps=eps), r


def ada_layer_norm(x: Tensor, scale: Tensor, shift: Tensor, *, eps: float) -> Tensor:
    """Layer normalization whose factor and term differ for every element."""
    return scale.double() * layer_norm(x, None, None, normalized_shape=x.shape[-1:], eps=eps) + shift.double()


def ada_layer_norm_zero(x: Tensor, scale: Tensor, shift: Tensor, gate: Tensor, *, eps: float) -> Tensor:
    """The same, times a gate."""
    return gate.double() * ada_layer_norm(x, scale, shift, eps=eps)
