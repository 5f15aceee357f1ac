"""Oracles of the operators with two operands: floats in float64, integers and booleans exactly."""

from __future__ import annotations

import torch
from torch import Tensor


def wide(x: Tensor) -> Tensor:
    """A float in float64; others are exact as they are."""
    return x.double() if x.is_floating_point() else x


def add(input: Tensor, other: Tensor, *, alpha: float) -> Tensor:
    """The sum a + alpha b."""
    return torch.add(wide(input), wide(other), alpha=_factor(input, alpha))


def sub(input: Tensor, other: Tensor, *, alpha: float) -> Tensor:
    """The difference a - alpha b."""
    return torch.sub(wide(input), wide(other), alpha=_factor(input, alpha))


def _factor(input: Tensor, alpha: float) -> float:
    """A whole number for integers, as PyTorch wants it."""
    return bool(alpha) if input.dtype is torch.bool else alpha if input.is_floating_point() else int(alpha)


def mul(input: Tensor, other: Tensor) -> Tensor:
    """The product."""
    return wide(input) * wide(other)


def pow(input: Tensor, exponent: Tensor) -> Tensor:
    """The power."""
    return torch.pow(wide(input), wide(exponent))


def div(input: Tensor, other: Tensor, *, rounding_mode: str | None) -> Tensor:
    """The quotient; what is rounded is the quotient in float32."""
    if rounding_mode == "trunc":
        return torch.div(input.float(), other.float(), rounding_mode="trunc").double()
    return torch.div(input.double(), other.double(), rounding_mode=rounding_mode)


def floor_divide(input: Tensor, other: Tensor) -> Tensor:
    """The quotient rounded down; -1 for an integer divided by 0."""
    if input.is_floating_point():
        return torch.floor_divide(input.double(), other.double())
    quotient = torch.floor_divide(*torch.broadcast_tensors(input, other.masked_fill(other == 0, 1)))
    return quotient.masked_fill(other == 0, -1)


def remainder(input: Tensor, other: Tensor) -> Tensor:
    """What rounding down leaves; a for an integer modulo 0."""
    if input.is_floating_point():
        return torch.remainder(input.double(), other.double())
    rest = torch.remainder(*torch.broadcast_tensors(input, other.masked_fill(other == 0, 1)))
    return torch.where(other == 0, input, rest)


def lerp(input: Tensor, end: Tensor, *, weight: float) -> Tensor:
    """Interpolation."""
    return torch.lerp(input.double(), end.double(), weight)


def maximum(input: Tensor, other: Tensor) -> Tensor:
    """The larger; NaN wins."""
    return torch.maximum(wide(input), wide(other))


def minimum(input: Tensor, other: Tensor) -> Tensor:
    """The smaller; NaN wins."""
    return torch.minimum(wide(input), wide(other))


def eq(input: Tensor, other: Tensor) -> Tensor:
    """Equal."""
    return wide(input) == wide(other)


def ne(input: Tensor, other: Tensor) -> Tensor:
    """Different."""
    return wide(input) != wide(other)


def gt(input: Tensor, other: Tensor) -> Tensor:
    """Above."""
    return wide(input) > wide(other)


def lt(input: Tensor, other: Tensor) -> Tensor:
    """Below."""
    return wide(input) < wide(other)


def ge(input: Tensor, other: Tensor) -> Tensor:
    """Not below."""
    return wide(input) >= wide(other)


def le(input: Tensor, other: Tensor) -> Tensor:
    """Not above."""
    return wide(input) <= wide(other)


def logical_and(input: Tensor, other: Tensor) -> Tensor:
    """Both are not 0."""
    return (input != 0) & (other != 0)


def logical_or(input: Tensor, other: Tensor) -> Tensor:
    """One of the two is not 0."""
    return (input != 0) | (other != 0)


def bitwise_and(input: Tensor, other: Tensor) -> Tensor:
    """Bits of both."""
    return input & other


def bitwise_or(input: Tensor, other: Tensor) -> Tensor:
    """Bits of one or both."""
    return input | other


def bitwise_xor(input: Tensor, other: Tensor) -> Tensor:
    """Bits of one."""
    return input ^ other


def masked_fill_scalar(input: Tensor, mask: Tensor, *, value: float) -> Tensor:
    """The value where the mask is true."""
    return wide(input).masked_fill(mask, value)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x, or x times its channel's weight."""
    x, slope = input.double(), weight.double().reshape(-1, *(1 for _ in input.shape[2:]))
    return torch.where(x > 0, x, (slope if weight.numel() > 1 else weight.double().reshape(())) * x)
