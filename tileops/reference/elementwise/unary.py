"""Oracles of the unary operators: float64, one formula a function. Integers stay integers, of 64 bits."""

from __future__ import annotations

import torch
from torch import Tensor


def _wide(x: Tensor) -> Tensor:
    """The values in 64 bits."""
    return x.double() if x.is_floating_point() else x if x.dtype is torch.bool else x.long()


def exp(input: Tensor) -> Tensor:
    """The exponential."""
    return torch.exp(input.double())


def expm1(input: Tensor) -> Tensor:
    """The exponential minus one."""
    return torch.expm1(input.double())


def log(input: Tensor) -> Tensor:
    """The natural logarithm."""
    return torch.log(input.double())


def log1p(input: Tensor) -> Tensor:
    """The natural logarithm of one plus the input."""
    return torch.log1p(input.double())


def sqrt(input: Tensor) -> Tensor:
    """The square root."""
    return torch.sqrt(input.double())


def rsqrt(input: Tensor) -> Tensor:
    """The reciprocal square root."""
    return 1 / torch.sqrt(input.double())


def reciprocal(input: Tensor) -> Tensor:
    """The reciprocal."""
    return 1 / input.double()


def sin(input: Tensor) -> Tensor:
    """The sine."""
    return torch.sin(input.double())


def cos(input: Tensor) -> Tensor:
    """The cosine."""
    return torch.cos(input.double())


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    return torch.tanh(input.double())


def sigmoid(input: Tensor) -> Tensor:
    """The logistic function."""
    return 1 / (1 + torch.exp(-input.double()))


def erf(input: Tensor) -> Tensor:
    """The error function."""
    return torch.erf(input.double())


def abs(input: Tensor) -> Tensor:
    """The absolute value."""
    return torch.abs(_wide(input))


def neg(input: Tensor) -> Tensor:
    """The negative."""
    return -_wide(input)


def sign(input: Tensor) -> Tensor:
    """The sign."""
    return torch.sign(_wide(input))


def floor(input: Tensor) -> Tensor:
    """The largest integer that is not above."""
    return torch.floor(_wide(input))


def ceil(input: Tensor) -> Tensor:
    """The smallest integer that is not below."""
    return torch.ceil(_wide(input))


def trunc(input: Tensor) -> Tensor:
    """The integer part."""
    return torch.trunc(_wide(input))


def round(input: Tensor, *, decimals: int) -> Tensor:
    """The nearest integer; with decimals the steps in float32, since they decide what is a tie."""
    return torch.round(input.float(), decimals=decimals).double() if decimals else torch.round(_wide(input))


def clamp_scalar(input: Tensor, *, min: float | None, max: float | None) -> Tensor:
    """The values between two numbers."""
    if not input.is_floating_point():
        min, max = (None if bound is None else int(bound) for bound in (min, max))
    return torch.clamp(_wide(input), min, max)


def nan_to_num(input: Tensor, *, nan: float, posinf: float | None, neginf: float | None) -> Tensor:
    """Numbers instead of NaN and infinities: by default the largest ones of the dtype."""
    if not input.is_floating_point():
        return input
    largest = torch.finfo(input.dtype).max
    return torch.nan_to_num(
        input.double(), nan, largest if posinf is None else posinf, -largest if neginf is None else neginf
    )


def isnan(input: Tensor) -> Tensor:
    """Whether it is NaN."""
    return torch.isnan(input)


def isinf(input: Tensor) -> Tensor:
    """Whether it is infinite."""
    return torch.isinf(input)


def isfinite(input: Tensor) -> Tensor:
    """Whether it is neither."""
    return torch.isfinite(input)


def logical_not(input: Tensor) -> Tensor:
    """Whether it is zero."""
    return input == 0


def bitwise_not(input: Tensor) -> Tensor:
    """All bits changed."""
    return torch.bitwise_not(input)
