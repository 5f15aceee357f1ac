"""A call with one thing wrong is refused, with the same words before and after a call that works."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from tests.conformance.battery import RUNNABLE, meta, permitted, values
from tests.conformance.expected import EXPECTED, Bad, Probe
from tests.conformance.plan import DEVICES, Call, specs
from tileops.compiled import DTYPE, compile_spec
from tileops.errors import CallError
from tileops.runner import runner_for
from tileops.spec import OpSpec
from tileops.spec.dtypes import slot_dtypes
from tileops.spec.patterns import Item, Pattern
from tileops.testing import Bound, bound_operator, make_inputs

Change = tuple[str, object]


@pytest.mark.parametrize("device", DEVICES)
def test_one_wrong_argument_is_refused_cold_and_warm(first_call: Call, device: str) -> None:
    inputs = make_inputs(first_call.spec, first_call.bound, device=device)
    op = first_call.op(device=device)
    cold = {what: _refusal(op, inputs, n, wrong) for n, what, wrong in _wrong(first_call, inputs)}
    op(*inputs)
    warm = {what: _refusal(op, inputs, n, wrong) for n, what, wrong in _wrong(first_call, inputs)}
    assert cold == warm
    assert len(cold) >= (3 if inputs else 0)
    for what, message in cold.items():
        assert message.startswith(f"{first_call.spec.name}: "), what


@pytest.mark.parametrize("device", DEVICES)
def test_index_tensors_that_hold_what_they_must_not_are_refused(first_call: Call, device: str) -> None:
    spec = first_call.spec
    inputs = make_inputs(spec, first_call.bound, device=device)
    op = first_call.op(device=device)
    op.validate(*inputs)
    for n, (name, member) in enumerate(spec.inputs.items()):
        if member.values is None or (tensor := inputs[n]) is None or tensor.numel() == 0:
            continue
        for wrong in (-1, 2**31 - 1):  # below and beyond whatever is allowed
            changed = tensor.clone()
            changed.view(-1)[0] = wrong
            called = [changed if i == n else t for i, t in enumerate(inputs)]
            for call in [op.validate, *([op] if device == "cpu" else [])]:  # on a GPU a call does not look
                with pytest.raises(CallError, match=f"^{spec.name}: {name} must hold "):
                    call(*called)


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
        yield n, f"{name} is a list", [1.0]
        if tensor is None:
            yield n, f"{name} is int16", torch.zeros((1,) * _rank(call, member.shape), dtype=torch.int16)
            continue
        if not member.optional:
            yield n, f"{name} is None", None
        wrong = _never(call, name)
        yield n, f"{name} is {wrong}", tensor.to(DTYPE[wrong])
        for dtype in _other_dtypes(call, name):
            yield n, f"{name} is {dtype}", tensor.to(DTYPE[dtype])
        if several:
            elsewhere = "meta" if tensor.device.type == "cpu" else "cpu"
            yield n, f"{name} is on {elsewhere}", tensor.to(elsewhere)
        items = _items(call, member.shape)
        flexible = [i for i in items if i.splat and i.name not in call.spec.params]
        if not flexible or set(flexible[0].expression.names) & tied:
            yield n, f"{name} has one dimension more", tensor.unsqueeze(0)
        for d in _fixed_dimensions(call, items, tied):
            yield n, f"{name} is larger in dimension {d}", _larger(tensor, d)


def _fixed_dimensions(call: Call, items: tuple[Item, ...], tied: set[str]) -> Iterator[int]:
    """Dimensions whose size something else of the call determines, also beside a splat."""
    d = 0
    for item in items:
        value = item.expression.evaluate(call.bound.variables)
        width = len(value) if item.splat else 1
        if item.name in tied or (item.name is None and not _any_size(call, item, tied)):
            yield from range(d, d + width)
        d += width


def _any_size(call: Call, item: Item, tied: set[str]) -> bool:
    """Whether the dimension is what determines a size, as N+1 offsets do where nothing else has N."""
    names, variables = set(item.expression.names), call.bound.variables
    if item.splat or len(names) != 1 or names & (tied | set(call.spec.let)):
        return False
    (name,) = names
    at = f"n_{name}"  # numbers among the variables
    if at not in variables:
        return False
    size, longer = (item.expression.evaluate({**variables, at: variables[at] + k}) for k in (0, 1))
    return bool(longer == size + 1)


def _other_dtypes(call: Call, name: str) -> list[str]:
    """Dtypes that the slot may have, but not beside the other tensors of the call."""
    slots = slot_dtypes(call.spec)
    root = slots[name].same_as or name
    present = [n for n in call.spec.inputs if call.bound.shapes[n] is not None]
    followers = [n for n in present if n != name and root in (n, slots[n].same_as)]
    own = call.bound.dtypes[name]
    return [dtype for dtype in slots[root].choices if followers and dtype != own]


def _never(call: Call, name: str) -> str:
    """A dtype that the slot never has."""
    slots = slot_dtypes(call.spec)
    choices = slots[slots[name].same_as or name].choices
    return next(dtype for dtype in ("int16", "complex64", "float8_e5m2") if dtype not in choices)


def _rank(call: Call, shape: str) -> int:
    """How many dimensions the shape of an absent tensor names."""
    return len(_items(call, shape))


SPECS = {spec.name: spec for spec in specs()}


@pytest.mark.parametrize("name", SPECS)
def test_what_the_probes_call_bad_is_refused_cold_and_warm(name: str) -> None:
    """Every rule, before a kernel of the operator is known and after a call that works."""
    spec, expected = SPECS[name], EXPECTED[name]
    bad = [b for b in expected.bad if _elements(b.probe) <= RUNNABLE]
    assert len(bad) > len(spec.rules)
    runner_for.cache_clear()
    cold = [_bad_refusal(spec, b) for b in bad]
    good = expected.good[0].probe
    _op(spec, good)(*permitted(spec, compile_spec(name), good, _tensors(spec, good)))
    assert runner_for(name, None, None).kernels
    assert [_bad_refusal(spec, b) for b in bad] == cold


def _bad_refusal(spec: OpSpec, bad: Bad) -> str:
    """What the constructor, or else the call, says."""
    tensors = _tensors(spec, bad.probe)
    with pytest.raises(CallError) as caught:
        _op(spec, bad.probe)(*tensors)
    message = str(caught.value)
    assert message.startswith(f"{spec.name}: "), bad
    assert bad.says in message, (bad, message)
    return message


def _op(spec: OpSpec, probe: Probe) -> Bound:
    return bound_operator(spec, dict(zip(spec.params, values(spec, probe), strict=True)), device="cpu")


def _tensors(spec: OpSpec, probe: Probe) -> list[Tensor | None]:
    tensors = meta(spec, probe) if spec.inputs else []
    return [None if t is None else torch.zeros(t.shape, dtype=t.dtype) for t in tensors]


def _elements(probe: Probe) -> int:
    return max((torch.Size(s).numel() for s in probe.inputs.values() if s is not None), default=0)


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
