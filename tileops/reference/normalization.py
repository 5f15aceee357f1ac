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


def _by_channel(values: Tensor, x: Tensor) -> Tensor:
    """One value a channel, as it goes with x."""
    return values.double().view(-1, *[1] * (x.dim() - 2))


def _affine(y: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    y = y if weight is None else y * _by_channel(weight, y)
    return y if bias is None else y + _by_channel(bias, y)


def _running(old: Tensor, new: Tensor, momentum: float) -> Tensor:
    return (1 - momentum) * old.double() + momentum * new


def batch_norm(
    x: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    *,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, ...]:
    """Batch normalization, and what becomes of the running statistics."""
    axes = (0, *range(2, x.dim()))
    r, left = x.double(), [t for t in (running_mean, running_var) if t is not None]
    mean, var = (r.mean(axes), r.var(axes, correction=0)) if training else left
    y = (r - _by_channel(mean, r)) / torch.sqrt(_by_channel(var, r) + eps)
    if training and x.numel():
        left = [_running(t, v, momentum) for t, v in zip(left, (mean, r.var(axes)), strict=False)]
    return _affine(y, weight, bias), *left


def batch_norm_bwd(
    grad_out: Tensor, x: Tensor, weight: Tensor | None, mean: Tensor, rstd: Tensor, *, training: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of input, weight and bias."""
    axes = (0, *range(2, x.dim()))
    g, scale = grad_out.double(), _by_channel(rstd, x)
    h = (x.double() - _by_channel(mean, x)) * scale
    grad_bias, grad_weight = g.sum(axes), (g * h).sum(axes)
    if training:
        count = max(x.numel() // max(x.shape[1], 1), 1)
        g = g - _by_channel(grad_bias, x) / count - h * _by_channel(grad_weight, x) / count
    return _affine(g * scale, weight, None), grad_weight, grad_bias


def group_norm(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, *, num_groups: int, eps: float
) -> Tensor:
    """Normalization of groups of channels, with the biased variance."""
    r = x.double().reshape(x.shape[0], num_groups, x.shape[1] // num_groups, *x.shape[2:])
    axes = tuple(range(2, r.dim()))
    y = (r - r.mean(axes, keepdim=True)) / torch.sqrt(r.var(axes, correction=0, keepdim=True) + eps)
    return _affine(y.reshape(x.shape), weight, bias)


def instance_norm(
    x: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    *,
    use_input_stats: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, ...]:
    """Normalization of every channel of every sample, and what becomes of the running statistics."""
    left = [t for t in (running_mean, running_var) if t is not None]
    if not use_input_stats:
        return batch_norm(
            x, running_mean, running_var, weight, bias, training=False, momentum=momentum, eps=eps
        )
    if x.numel():
        r = x.double().flatten(2)
        new = r.mean(2).mean(0), r.var(2).mean(0)
        left = [_running(t, v, momentum) for t, v in zip(left, new, strict=False)]
    return group_norm(x, weight, bias, num_groups=x.shape[1], eps=eps), *left
