"""Oracles of the reduction family: float64, one formula a function; integers stay what they are."""

from torch import Tensor

Dim = int | tuple[int, ...] | None


def _wide(x: Tensor) -> Tensor:
    """Floats as float64."""
    return x.double() if x.is_floating_point() else x


def sum(input: Tensor, *, dim: Dim, keepdim: bool) -> Tensor:
    """The sum; of integers in int64."""
    return _wide(input).sum(dim, keepdim=keepdim)


def softmax(input: Tensor, *, dim: int | None) -> Tensor:
    """Softmax along one axis."""
    x = input.double()
    if dim is None:  # torch's choice for a missing dim
        dim = 0 if x.dim() in (0, 1, 3) else 1
    if x.dim() == 0:
        x = x.reshape(1)
    weights = (x - x.amax(dim, keepdim=True)).exp() if x.numel() else x
    return (weights / weights.sum(dim, keepdim=True)).reshape(input.shape)
