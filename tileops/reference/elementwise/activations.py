"""Oracles of the activations, in float64. What they return does not depend on where it is written."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def relu(input: Tensor, *, inplace: bool) -> Tensor:
    """The larger of the input and zero."""
    return torch.relu(input.double() if input.is_floating_point() else input.long())


def leaky_relu(input: Tensor, *, negative_slope: float, inplace: bool) -> Tensor:
    """The input above zero, a multiple of it below."""
    x = input.double()
    return torch.where(x > 0, x, negative_slope * x)


def elu(input: Tensor, *, alpha: float, inplace: bool) -> Tensor:
    """The input above zero, an exponential below."""
    x = input.double()
    return torch.where(x > 0, x, alpha * torch.expm1(x))


def selu(input: Tensor, *, inplace: bool) -> Tensor:
    """ELU with the two constants that keep mean 0 and variance 1."""
    return 1.0507009873554805 * elu(input, alpha=1.6732632423543772, inplace=False)


def hardtanh(input: Tensor, *, min_val: float, max_val: float, inplace: bool) -> Tensor:
    """The input between two numbers; for integers these are cut to integers."""
    if not input.is_floating_point():
        return torch.clamp(input.long(), int(min_val), int(max_val))
    return torch.clamp(input.double(), min_val, max_val)


def hardsigmoid(input: Tensor, *, inplace: bool) -> Tensor:
    """Straight pieces through (-3, 0) and (3, 1)."""
    return torch.clamp(input.double() + 3, 0, 6) / 6


def hardswish(input: Tensor, *, inplace: bool) -> Tensor:
    """The input times its hard sigmoid."""
    return input.double() * hardsigmoid(input, inplace=False)


def gelu(input: Tensor, *, approximate: str) -> Tensor:
    """The input times the normal distribution function, or times an approximation of it by tanh."""
    x = input.double()
    if approximate == "tanh":
        return x / 2 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return x / 2 * (1 + torch.erf(x / math.sqrt(2)))


def silu(input: Tensor, *, inplace: bool) -> Tensor:
    """The input times its logistic function."""
    x = input.double()
    return x / (1 + torch.exp(-x))


def mish(input: Tensor, *, inplace: bool) -> Tensor:
    """The input times the tanh of its softplus."""
    x = input.double()
    return x * torch.tanh(torch.nn.functional.softplus(x))


def softplus(input: Tensor, *, beta: float, threshold: float) -> Tensor:
    """A smooth maximum of the input and zero."""
    x = input.double()
    return torch.where(beta * x > threshold, x, torch.log1p(torch.exp(beta * x)) / beta)
