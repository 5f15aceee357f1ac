"""What a call costs at least: operations, and bytes between the chip and its memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch

from tileops.compiled import dtype_name
from tileops.spec.expressions import Expression, variables
from tileops.spec.model import OpSpec

__all__ = ["Roofline", "roofline", "tensor_bytes"]


class Roofline(NamedTuple):
    """The least work of a call.

    Attributes:
        flops: Floating-point operations.
        bytes: Bytes read and written: every input once and every output once, unless the manifest says
            otherwise.
    """

    flops: int
    bytes: int


def roofline(spec: OpSpec, facts: Mapping[str, Any]) -> Roofline:
    """The cost of the call that `facts` describe."""
    dtypes = {slot: dtype_name(dtype) for slot, dtype in facts["dtypes"].items()}
    known = dict(variables(facts["names"], facts["shapes"], dtypes))
    flops = Expression(spec.roofline.flops).evaluate(known)
    moved = (
        tensor_bytes(spec, facts)
        if spec.roofline.bytes is None
        else Expression(spec.roofline.bytes).evaluate(known)
    )
    return Roofline(int(flops), int(moved))


def tensor_bytes(spec: OpSpec, facts: Mapping[str, Any]) -> int:
    """Bytes of every input and output of the call; an output that is an input counts once."""
    shapes, dtypes = facts["shapes"], facts["dtypes"]
    written = {name for name, o in spec.outputs.items() if o.alias and shapes[o.alias] is not None}
    present = [slot for slot, shape in shapes.items() if shape is not None and slot not in written]
    return sum(torch.Size(shapes[slot]).numel() * dtypes[slot].itemsize for slot in present)
