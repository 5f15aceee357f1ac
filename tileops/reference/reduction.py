"""Oracles of the reduction family: float64, one formula a function; integers stay what they are."""

import torch
from torch import Tensor

Dim = int | tuple[int, ...] | None


def _wide(x: Tensor) -> Tensor:
    """Floats as float64."""
    return x.double() if x.is_floating_point() else x


def _axes(dim: Dim) -> int | tuple[int, ...]:
    """Axes where PyTorch has an empty list for all of them."""
    return () if dim is None else dim


def softmax(input: Tensor, *, dim: int | None) -> Tensor:
    """Softmax along one axis."""
    x = input.double()
    if dim is None:  # torch's choice for a missing dim
        dim = 0 if x.dim() in (0, 1, 3) else 1
    if x.dim() == 0:
        x = x.reshape(1)
    weights = (x - x.amax(dim, keepdim=True)).exp() if x.numel() else x
    return (weights / weights.sum(dim, keepdim=True)).reshape(input.shape)


def log_softmax(input: Tensor, *, dim: int | None) -> Tensor:
    """The logarithm of softmax along one axis."""
    x = input.double()
    if dim is None:
        dim = 0 if x.dim() in (0, 1, 3) else 1
    return torch.log_softmax(x, dim)


def log_sum_exp(input: Tensor, *, dim: int | tuple[int, ...], keepdim: bool) -> Tensor:
    """The logarithm of the sum of exponentials."""
    return torch.logsumexp(input.double(), dim, keepdim)


def sum(input: Tensor, *, dim: Dim, keepdim: bool) -> Tensor:
    """The sum; of integers in int64."""
    return _wide(input).sum(dim, keepdim=keepdim)


def mean(input: Tensor, *, dim: Dim, keepdim: bool) -> Tensor:
    """The sum over the number of terms."""
    return input.double().mean(dim, keepdim=keepdim)


def prod(input: Tensor, *, dim: int | None, keepdim: bool) -> Tensor:
    """The product; of integers in int64. What the dtype cannot hold is infinite, or 0."""
    x = _wide(input)
    if dim is None:
        y = x.prod().reshape([1] * x.dim() if keepdim else [])
    else:
        y = x.prod(dim, keepdim=keepdim)
    return y.to(input.dtype).double() if input.is_floating_point() else y


def amax(input: Tensor, *, dim: Dim, keepdim: bool) -> Tensor:
    """The largest element, or NaN."""
    return _wide(input).amax(_axes(dim), keepdim)


def amin(input: Tensor, *, dim: Dim, keepdim: bool) -> Tensor:
    """The smallest element, or NaN."""
    return _wide(input).amin(_axes(dim), keepdim)


def argmax(input: Tensor, *, dim: int | None, keepdim: bool) -> Tensor:
    """The first position of the largest element, or of a NaN."""
    return _wide(input).argmax(dim, keepdim)


def argmin(input: Tensor, *, dim: int | None, keepdim: bool) -> Tensor:
    """The first position of the smallest element, or of a NaN."""
    return _wide(input).argmin(dim, keepdim)


def var(input: Tensor, *, dim: Dim, correction: int, keepdim: bool) -> Tensor:
    """The variance."""
    return input.double().var(dim, correction=correction, keepdim=keepdim)


def std(input: Tensor, *, dim: Dim, correction: int, keepdim: bool) -> Tensor:
    """The root of the variance."""
    return var(input, dim=dim, correction=correction, keepdim=keepdim).sqrt()


def var_mean(input: Tensor, *, dim: Dim, correction: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    """The variance and the mean."""
    return (
        var(input, dim=dim, correction=correction, keepdim=keepdim),
        mean(input, dim=dim, keepdim=keepdim),
    )


def all(input: Tensor, *, dim: Dim, keepdim: bool) -> Tensor:
    """Whether no element is 0."""
    return torch.all(input, dim=dim, keepdim=keepdim)


def any(input: Tensor, *, dim: Dim, keepdim: bool) -> Tensor:
    """Whether an element is not 0."""
    return torch.any(input, dim=dim, keepdim=keepdim)


def count_nonzero(input: Tensor, *, dim: Dim) -> Tensor:
    """How many elements are not 0."""
    return torch.count_nonzero(input, dim)


def l1_norm(x: Tensor, *, ord: float, dim: Dim, keepdim: bool) -> Tensor:
    """The sum of absolute values."""
    return x.double().abs().sum(dim, keepdim=keepdim)


def l2_norm(x: Tensor, *, ord: float, dim: Dim, keepdim: bool) -> Tensor:
    """The root of the sum of squares."""
    return x.double().square().sum(dim, keepdim=keepdim).sqrt()


def inf_norm(x: Tensor, *, ord: float, dim: Dim, keepdim: bool) -> Tensor:
    """The largest absolute value."""
    return x.double().abs().amax(_axes(dim), keepdim)
