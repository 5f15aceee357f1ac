"""Every implementation computes what its oracle says, writes every element, and repeats itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.conformance.expected import EXPECTED
from tests.conformance.plan import DEVICES, Call, plan
from tileops.compiled import DTYPE
from tileops.runner import target_of
from tileops.testing import assert_accurate, make_inputs, oracle, results


@contextmanager
def poisoned_memory() -> Iterator[None]:
    """Fresh tensors hold NaN, or the largest integer, until something is written."""
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)


def outputs(result: Any) -> tuple[Tensor, ...]:
    return (result,) if isinstance(result, Tensor) else tuple(result)


@pytest.mark.parametrize("device", DEVICES)
def test_every_implementation_is_accurate_and_repeats_itself(
    call: Call, device: str, all_rows: bool, record_property: Any
) -> None:
    inputs = make_inputs(call.spec, call.bound, device=device)
    want = outputs(oracle(call.spec)(*inputs, **call.params))
    target = target_of(torch.device(device, 0 if device == "cuda" else None))
    served = plan(call.spec.name, target, all_rows, True)[call.id]
    assert served, f"nothing serves {call.id}"
    found = []
    roundings = EXPECTED[call.spec.name].roundings
    for implementation in served:
        op = call.op(implementation, device)
        with poisoned_memory():
            first, second = results(op, call.spec, inputs), results(op, call.spec, inputs)
        errors = []
        for (name, mine), again, theirs in zip(first.items(), second.values(), want, strict=True):
            dtype = DTYPE[str(call.bound.dtypes[name])]
            where = f"{call.id} {implementation} {name}"
            errors.append(assert_accurate(mine, theirs, dtype, roundings=roundings, name=where))
            assert same(mine, again), f"{where}: two runs differ"
        worst = max(errors, key=lambda found: found.relative / found.bound if found.bound else 0.0)
        row = {slot: str(call.bound.dtypes[slot]) for slot in call.spec.rows[0]}
        found.append(
            {
                "implementation": implementation,
                "dtypes": row,
                "max_error": worst.relative,
                "bound": worst.bound,
            }
        )
    record_property("results", found)


def same(one: Tensor, other: Tensor) -> bool:
    """Equal, and NaN in the same places; no 8-bit float has `nan_to_num`."""
    return torch.equal(one.isnan(), other.isnan()) and bool(((one == other) | one.isnan()).all())


@pytest.mark.parametrize("device", DEVICES)
def test_layout_of_the_inputs_does_not_change_the_value(first_call: Call, device: str) -> None:
    inputs = make_inputs(first_call.spec, first_call.bound, device=device)
    op, spec = first_call.op(device=device), first_call.spec
    want = results(op, spec, inputs)
    for n, tensor in enumerate(inputs):
        if tensor is None:
            continue
        slot = list(spec.inputs)[n]
        for change in (_strided, _misaligned):
            changed = [change(t) if i == n else t for i, t in enumerate(inputs)]
            for mine, theirs in zip(results(op, spec, changed).values(), want.values(), strict=True):
                assert same(mine, theirs), f"{slot} {change.__name__}"
            if tensor.numel() and not (change is _strided and changed[n].is_contiguous()):  # type: ignore[union-attr]
                assert slot in op.explain(*changed).copies


def _strided(tensor: Tensor) -> Tensor:
    """The same values at every other place of memory."""
    wide = torch.empty((*tensor.shape, 2), dtype=tensor.dtype, device=tensor.device)
    wide[..., 0] = tensor
    return wide[..., 0]


def _misaligned(tensor: Tensor) -> Tensor:
    """The same values, one element after a multiple of 16 bytes."""
    memory = torch.empty(tensor.numel() + 1, dtype=tensor.dtype, device=tensor.device)
    memory[1:] = tensor.reshape(-1)
    return memory[1:].view(tensor.shape)
