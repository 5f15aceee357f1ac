"""Comparison with an oracle in float64: shape and dtype first, then special values, then error."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["Accuracy", "assert_accurate", "isinf", "measure"]

_FLOAT32_SLACK = (
    16.0  # sums in float32 cost more than their last rounding; half an ulp of 16-bit types hides it
)


class Accuracy(NamedTuple):
    """How far a result is from its oracle.

    Attributes:
        relative: Norm of the error over the norm of the oracle.
        largest: Largest error of an element, over the root mean square of the oracle.
        bound: What `relative` may be; infinite when nothing was demanded.
    """

    relative: float
    largest: float
    bound: float = float("inf")


def unit_roundoff(dtype: torch.dtype) -> float:
    """Largest relative error of one rounding to `dtype`."""
    return torch.finfo(dtype).eps / 2


def measure(got: Tensor, want: Tensor) -> Accuracy:
    """The error over the elements that are finite in the oracle."""
    want = want.double().to(got.device)
    finite = want.isfinite()
    if not bool(finite.any()):
        return Accuracy(0.0, 0.0)
    error = (got.double() - want)[finite]
    scale = want[finite].norm()
    if float(scale) == 0.0:
        return Accuracy(float(error.norm()), float(error.abs().max()))
    rms = scale / finite.sum().sqrt()
    return Accuracy(float(error.norm() / scale), float(error.abs().max() / rms))


def assert_accurate(
    got: Tensor, want: Tensor, dtype: torch.dtype, *, roundings: float = 1.0, name: str = ""
) -> Accuracy:
    """Raise `AssertionError` unless `got` is the oracle to within some roundings of its dtype.

    Args:
        got: The result.
        want: The oracle's value, in float64.
        dtype: The dtype that the result must have.
        roundings: Roundings to `dtype` on the way, each of full size; the store counts one.
        name: What the message calls the result.

    Returns:
        The error that was found.
    """
    if tuple(got.shape) != tuple(want.shape):
        raise AssertionError(f"{name}: shape {tuple(got.shape)}, but the oracle has {tuple(want.shape)}")
    if got.dtype is not dtype:
        raise AssertionError(f"{name}: dtype {got.dtype}, but {dtype} is specified")
    want = want.to(got.device)
    if not (dtype.is_floating_point or dtype.is_complex):  # indices, counts, masks: exactly the oracle's
        if not torch.equal(got, want.to(dtype)):
            raise AssertionError(f"{name}: {int((got != want).sum())} elements differ")
        return Accuracy(0.0, 0.0, 0.0)
    infinite = isinf(want.to(dtype))  # an oracle beyond the dtype's range is infinite in it
    for kind, mine, theirs in (
        ("NaN", got.isnan(), want.isnan()),
        ("infinite", isinf(got), infinite),
    ):
        if not torch.equal(mine, theirs):
            raise AssertionError(f"{name}: {int((mine != theirs).sum())} elements differ in being {kind}")
    slack = _FLOAT32_SLACK if dtype is torch.float32 else 1.0
    unit = unit_roundoff(dtype) * roundings * slack
    accuracy = measure(got, want.masked_fill(infinite, float("inf")))
    elements = ((got.double() - want).abs() > 2 * unit * want.abs() + 8 * unit * _rms(want)) & want.isfinite()
    if accuracy.relative > unit or bool((elements & ~infinite).any()):
        raise AssertionError(
            f"{name}: relative error {accuracy.relative:.3g}, largest {accuracy.largest:.3g} of the root "
            f"mean square; {roundings:g} roundings of {dtype} allow {unit:.3g}"
        )
    return accuracy._replace(bound=unit)


def isinf(tensor: Tensor) -> Tensor:
    """`isinf`, which PyTorch lacks for 8-bit floats."""
    return (tensor.float() if tensor.element_size() == 1 else tensor).isinf()


def _rms(want: Tensor) -> float:
    finite = want[want.isfinite()]
    return float(finite.square().mean().sqrt()) if finite.numel() else 0.0
