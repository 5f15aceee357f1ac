"""Oracles of the scan family: float64, one formula a function; integers stay what they are."""

from torch import Tensor


def cumsum(input: Tensor, *, dim: int) -> Tensor:
    """Running sum; of integers in int64."""
    return (input.double() if input.is_floating_point() else input).cumsum(dim)


def cumprod(input: Tensor, *, dim: int) -> Tensor:
    """Running product; of integers in int64. What the dtype cannot hold is infinite, or 0."""
    y = (input.double() if input.is_floating_point() else input).cumprod(dim)
    return y.to(input.dtype).double() if input.is_floating_point() else y
