"""Whether an implementation computes what the oracle says, before anyone times it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from tileops.bench.inputs import Inputs
from tileops.bench.parts import Cut, parts
from tileops.bench.plan import Case
from tileops.compiled import DTYPE
from tileops.testing import measure, oracle
from tileops.testing.compare import isinf

__all__ = ["WrongResult", "error", "reference"]

ROUNDINGS = 8.0  # to the output's dtype; libraries round on the way, and some more often than we do
FLOAT32_ROUNDINGS = 256.0  # sums in float32 cost more than their last rounding

TIES = 1e-3  # share of integers that may differ: libraries order equal values as they like

EIGHT_BIT: Mapping[str, float] = {"FP8LightningIndexerFwdOp": 2.0**-9}
"""Relative error of operators whose result is wider than the sums of 8-bit products that it is made of."""

RANDOM = ("DropoutFwdOp",)
"""Operators whose peers draw random numbers of their own: what both kept is compared, and how much."""


class WrongResult(Exception):
    """A result that is not the oracle's; the text says how far it is."""


def outputs(result: Any) -> tuple[Tensor, ...]:
    """What a call returned, as a tuple."""
    return (result,) if isinstance(result, Tensor) else tuple(result)


def reference(case: Case, inputs: Inputs) -> tuple[Tensor, ...]:
    """The oracle's outputs, of a call that can be cut one part after the other."""
    call = functools.partial(oracle(case.spec), **case.params)
    cuts = parts(case)
    if not cuts:
        return outputs(call(*inputs))
    count = len(case.spec.returned)  # an oracle also returns what is written
    made = [
        outputs(call(*(taken(t, cut) for t, cut in zip(inputs, part.inputs, strict=True))))[:count]
        for part in cuts
    ]
    joined = zip(cuts[0].outputs, zip(*made, strict=True), strict=True)
    return tuple(torch.cat(pieces, cut.axis) for cut, pieces in joined)


def taken(tensor: Tensor | None, cut: Cut | None) -> Tensor | None:
    """What a part takes of a tensor."""
    return tensor if tensor is None or cut is None else tensor.narrow(*cut)


def error(case: Case, result: Any, want: tuple[Tensor, ...]) -> float:
    """The largest relative error of the outputs.

    Raises:
        WrongResult: A shape or dtype is another, or an error is beyond what a few roundings explain.
    """
    worst = 0.0
    mine, want = outputs(result), want[: len(case.spec.returned)]  # an oracle also returns what is written
    if len(mine) < len(want):
        raise WrongResult(f"{len(mine)} outputs, but the operator has {len(want)}")
    # A peer may return more, statistics for its backward for instance.
    for name, got, wanted in zip(case.spec.returned, mine[: len(want)], want, strict=True):
        dtype = DTYPE[str(case.bound.dtypes[name])]
        if tuple(got.shape) != tuple(wanted.shape) or got.dtype is not dtype:
            raise WrongResult(
                f"{name} is {got.dtype} of shape {tuple(got.shape)}, and should be {dtype} of shape "
                f"{tuple(wanted.shape)}"
            )
        relative, allowed = _compare(case.spec.name, got, _within(wanted, dtype))
        if not relative <= allowed:  # NaN is not
            raise WrongResult(f"{name} has a relative error of {relative:.3g}, and {allowed:.3g} is allowed")
        worst = max(worst, relative)
    return worst


def _within(want: Tensor, dtype: torch.dtype) -> Tensor:
    """The oracle's values in a dtype's range: integers as they wrap, floats beyond it infinite."""
    if not dtype.is_floating_point:
        return want.to(dtype)
    return want.masked_fill(isinf(want.to(dtype)), torch.inf)


def _compare(op: str, got: Tensor, want: Tensor) -> tuple[float, float]:
    """The error, and what is allowed."""
    if not got.dtype.is_floating_point:
        return float((got != want).double().mean()) if got.numel() else 0.0, TIES
    if op in RANDOM:
        kept = [(t != 0).double().mean() for t in (got, want)] if got.numel() else [0.0, 0.0]
        if abs(float(kept[0] - kept[1])) > 0.01 + 5 / max(got.numel(), 1) ** 0.5:
            raise WrongResult(f"{float(kept[0]):.3f} of the elements are kept, and not {float(kept[1]):.3f}")
        both = (got != 0) & (want != 0)
        got, want = torch.where(both, got, 0), torch.where(both, want, 0)
    roundings = FLOAT32_ROUNDINGS if got.dtype is torch.float32 else ROUNDINGS
    return measure(got, want).relative, EIGHT_BIT.get(op, torch.finfo(got.dtype).eps / 2 * roundings)
