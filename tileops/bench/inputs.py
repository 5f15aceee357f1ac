"""Sets of random inputs that no cache can hold all of."""

from __future__ import annotations

import torch
from torch import Tensor

from tileops.bench.forward import from_forward
from tileops.bench.plan import Case
from tileops.compiled import DTYPE
from tileops.testing import laid_out, make_inputs

__all__ = ["Inputs", "call_bytes", "copies", "make"]

Inputs = list[Tensor | None]


def make(case: Case, device: str, seed: int = 0) -> Inputs:
    """Random inputs, made on the device: normal floats; index tensors as the manifest's makers have them.

    What a backward operator takes of its forward's outputs is what the forward computes of the others.
    """
    generator = torch.Generator(device).manual_seed(seed)
    members = case.spec.inputs
    drawn = {
        name: DTYPE[dtype].is_floating_point and members[name].make is None
        for name, dtype in case.bound.dtypes.items()
        if name in members and dtype is not None
    }
    made = [] if all(drawn.values()) else make_inputs(case.spec, case.bound, device=device, seed=seed)
    out: Inputs = []
    for n, name in enumerate(members):
        shape, dtype = case.bound.shapes[name], case.bound.dtypes[name]
        if shape is None or dtype is None:
            out.append(None)
        elif drawn[name]:
            tensor = torch.randn(shape, generator=generator, device=device).to(DTYPE[dtype])
            out.append(laid_out(tensor, name, case.bound))
        else:
            out.append(made[n])
    computed = from_forward(case, dict(zip(members, out, strict=True)))
    return [computed.get(name, tensor) for name, tensor in zip(members, out, strict=True)]


def call_bytes(case: Case) -> int:
    """Bytes of all inputs and outputs."""
    facts = case.facts
    present = [slot for slot, shape in facts["shapes"].items() if shape is not None]
    return sum(torch.Size(facts["shapes"][s]).numel() * facts["dtypes"][s].itemsize for s in present)


def copies(inputs: Inputs, written: set[int]) -> Inputs:
    """The same inputs, with copies of those that a call writes."""
    return [t.clone() if t is not None and n in written else t for n, t in enumerate(inputs)]
