"""Oracles of the reduction family: float64, one formula a function."""

from torch import Tensor


def softmax(input: Tensor, *, dim: int | None) -> Tensor:
    """Softmax along one axis."""
    x = input.double()
    if dim is None:  # torch's choice for a missing dim
        dim = 0 if x.dim() in (0, 1, 3) else 1
    if x.dim() == 0:
        x = x.reshape(1)
    weights = (x - x.amax(dim, keepdim=True)).exp() if x.numel() else x
    return (weights / weights.sum(dim, keepdim=True)).reshape(input.shape)
