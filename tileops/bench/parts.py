"""Parts of a call that do not depend on each other, so that an oracle needs memory for one at a time.

The oracles of attention hold a whole score matrix of each head, and heads are independent of each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tileops.bench.plan import Case
from tileops.spec.patterns import Pattern

__all__ = ["Cut", "Part", "parts"]

HEADS: Mapping[str, tuple[str, str]] = {"attention": ("H", "H_kv")}
"""By family, what shapes call the number of heads, and the number of heads that groups of them share."""


class Cut(NamedTuple):
    """Some of a tensor: `tensor.narrow(*cut)`."""

    axis: int
    start: int
    length: int


class Part(NamedTuple):
    """One part of a call: what it takes of each input, `None` for all of it, and gives of each output."""

    inputs: list[Cut | None]
    outputs: list[Cut]


def parts(case: Case) -> list[Part]:
    """The parts of a call in the order of its heads; none where it cannot be cut.

    A part is one head, or where outputs belong to a group of heads, the group.
    """
    spec, bound = case.spec, case.bound
    several, shared = HEADS.get(spec.family, ("", ""))
    inputs = [_axes(member.shape) if bound.shapes[n] is not None else [] for n, member in spec.inputs.items()]
    outputs = [_axes(spec.outputs[name].shape) for name in spec.returned]
    if not several or not all(several in axes or shared in axes for axes in outputs):
        return []
    heads = bound.names[several]
    group = heads // bound.names.get(shared, heads) if heads else 1
    size = group if any(shared in axes for axes in outputs) else 1

    def cut(axes: list[str | None], first: int) -> Cut | None:
        if several in axes:
            return Cut(axes.index(several), first, size)
        return Cut(axes.index(shared), first // group, 1) if shared in axes else None

    return [
        Part(
            [cut(axes, first) for axes in inputs], [found for axes in outputs if (found := cut(axes, first))]
        )
        for first in range(0, heads, size)
    ]


def _axes(shape: str) -> list[str | None]:
    """Names of the axes of a shape; none where it depends on params or has any number of axes."""
    branches = Pattern.parse(shape).branches
    items = branches[0].items
    return [item.name for item in items] if len(branches) == 1 and not any(i.splat for i in items) else []
