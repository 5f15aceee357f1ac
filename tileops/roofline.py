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
            otherwise. A tensor that is changed in place counts twice, one that is only filled once.
    """

    flops: int
    bytes: int


def roofline(spec: OpSpec, facts: Mapping[str, Any]) -> Roofline:
    """The cost of the call that `facts` describe."""
    dtypes = {slot: dtype_name(dtype) for slot, dtype in facts["dtypes"].items()}
    known = dict(variables(facts["names"], facts["shapes"], dtypes))
    flops = Expression(spec.roofline.flops).evaluate(known)
    if spec.roofline.bytes is not None:
        return Roofline(int(flops), int(Expression(spec.roofline.bytes).evaluate(known)))
    again = [
        name
        for name in _in_place(spec, facts)
        if spec.inputs[str(spec.outputs[name].alias)].mutated is not True
    ]
    return Roofline(int(flops), tensor_bytes(spec, facts) + sum(_bytes(facts, name) for name in again))


def tensor_bytes(spec: OpSpec, facts: Mapping[str, Any]) -> int:
    """Bytes of every input and output of the call; an output that is an input counts once."""
    written = _in_place(spec, facts)
    return sum(_bytes(facts, slot) for slot in facts["shapes"] if slot not in written)


def _in_place(spec: OpSpec, facts: Mapping[str, Any]) -> list[str]:
    """Outputs of the call that are inputs of it."""
    out = []
    for name, output in spec.outputs.items():
        if output.alias is None or facts["shapes"][output.alias] is None:
            continue
        mutated = spec.inputs[output.alias].mutated
        if mutated is True or (mutated and facts["names"][mutated]):
            out.append(name)
    return out


def _bytes(facts: Mapping[str, Any], slot: str) -> int:
    shape = facts["shapes"][slot]
    return 0 if shape is None else torch.Size(shape).numel() * int(facts["dtypes"][slot].itemsize)
