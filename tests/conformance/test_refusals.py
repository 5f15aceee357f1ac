"""A call with one thing wrong is refused, with the same words before and after a call that works."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from tests.conformance.plan import DEVICES, Call
from tileops.errors import CallError
from tileops.spec.patterns import Item, Pattern
from tileops.testing import make_inputs

Change = tuple[str, object]


@pytest.mark.parametrize("device", DEVICES)
def test_one_wrong_argument_is_refused_cold_and_warm(first_call: Call, device: str) -> None:
    inputs = make_inputs(first_call.spec, first_call.bound, device=device)
    op = first_call.op()
    cold = {what: _refusal(op, inputs, n, wrong) for n, what, wrong in _wrong(first_call, inputs)}
    op(*inputs)
    warm = {what: _refusal(op, inputs, n, wrong) for n, what, wrong in _wrong(first_call, inputs)}
    assert cold == warm
    assert len(cold) >= 3
    for what, message in cold.items():
        assert message.startswith(f"{first_call.spec.name}: "), what


def _refusal(op: object, inputs: list[Tensor | None], n: int, wrong: object) -> str:
    with pytest.raises(CallError) as caught:
        op(*[wrong if i == n else t for i, t in enumerate(inputs)])  # type: ignore[operator]
    return str(caught.value)


def _wrong(call: Call, inputs: list[Tensor | None]) -> Iterator[tuple[int, str, object]]:
    """(place, what is wrong, the wrong argument)."""
    tied = _tied_names(call)
    several = sum(t is not None for t in inputs) > 1
    for n, (name, member) in enumerate(call.spec.inputs.items()):
        tensor = inputs[n]
        if tensor is None:
            continue
        yield n, f"{name} is a list", [1.0]
        if not member.optional:
            yield n, f"{name} is None", None
        yield n, f"{name} is int16", tensor.to(torch.int16)
        if several:
            elsewhere = "meta" if tensor.device.type == "cpu" else "cpu"
            yield n, f"{name} is on {elsewhere}", tensor.to(elsewhere)
        items = _items(call, member.shape)
        flexible = [i for i in items if i.splat and i.name not in call.spec.params]
        if not flexible or set(flexible[0].expression.names) & tied:
            yield n, f"{name} has one dimension more", tensor.unsqueeze(0)
        for d, item in enumerate(items):
            if not item.splat and not flexible and (item.name is None or item.name in tied):
                yield n, f"{name} is larger in dimension {d}", _larger(tensor, d)


def _items(call: Call, shape: str) -> tuple[Item, ...]:
    variables = call.bound.variables
    branches = Pattern.parse(shape).branches
    return next(b.items for b in branches if b.condition is None or b.condition.evaluate(variables))


def _tied_names(call: Call) -> set[str]:
    """Names that more than one place of the call determines: params, and sizes that occur twice."""
    seen: Counter[str] = Counter()
    for name, member in call.spec.inputs.items():
        if call.bound.shapes[name] is not None:
            for item in _items(call, member.shape):
                seen.update(item.expression.names)
    return {name for name, count in seen.items() if count > 1} | set(call.spec.params)


def _larger(tensor: Tensor, dimension: int) -> Tensor:
    shape = list(tensor.shape)
    shape[dimension] += 1
    return torch.zeros(shape, dtype=tensor.dtype, device=tensor.device)
