"""Runs the probes of `expected` against a specification: the manifest's, or a mutation of it."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from tests.conformance.expected import EXPECTED, Bad, Expected, Good, Probe
from tileops.compiled import DTYPE, Compiled, compile_functions
from tileops.errors import CallError
from tileops.library import written_slots
from tileops.op import compare_signatures
from tileops.params import normalize
from tileops.roofline import roofline
from tileops.runner import Runner, choose, factory, make_key, verdicts
from tileops.spec import OpSpec, bind_case
from tileops.spec.expressions import variables
from tileops.spec.references import maker
from tileops.testing import assert_accurate, make_inputs, operator, oracle

RUNNABLE = 1 << 18  # elements of the largest tensor of a probe that is also run


def run_battery(spec: OpSpec) -> None:
    """Raise unless the specification does what `expected` says of its operator."""
    compare_signatures(operator(spec), spec)
    expected, functions = EXPECTED[spec.name], compile_functions(spec)
    runner = Runner(spec, None, None)
    check_made(spec, expected)
    check_dtypes(spec, functions, expected)
    check_values_of_indices(spec, functions, expected)
    for implementation in spec.implementations:
        assert callable(factory(spec, implementation))
    for good in expected.good:
        check_good(spec, functions, good)
        check_returned(spec, functions, runner, good)
        check_written(spec, functions, good)
    for bad in [*expected.bad, *_wrong_dtypes(spec, expected)]:
        check_bad(spec, functions, bad)
    for good in expected.good:
        if good.run and good.implementation is not None and _size(good.probe) <= RUNNABLE:
            check_value(spec, functions, runner, good, expected.roundings)
    for implementation in serving(spec, functions, expected.good[0].probe) if spec.implemented else ():
        check_value(spec, functions, Runner(spec, None, implementation), expected.good[0], expected.roundings)


def serving(spec: OpSpec, functions: Compiled, probe: Probe) -> list[str]:
    """Every implementation that serves a probe."""
    facts = functions.facts(*meta(spec, probe), *values(spec, probe))
    return [v.implementation for v in verdicts(spec, facts, "cpu") if not v.reasons]


def meta(spec: OpSpec, probe: Probe) -> list[Any]:
    """The probe's tensors without memory; for an operator without tensors, the device."""
    tensors = [
        None if s is None else torch.empty(s, dtype=_dtype(probe, n), device="meta")
        for n, s in probe.inputs.items()
    ]
    return _laid_out(spec, probe, tensors) or [torch.device("meta")]


def _laid_out(spec: OpSpec, probe: Probe, tensors: list[Tensor | None]) -> list[Tensor | None]:
    """The tensors, channels-last where the probe says so and the manifest lets them."""
    named = tuple(spec.inputs) if probe.channels_last is True else probe.channels_last or ()
    last = [
        name in named and name in spec.inputs and spec.inputs[name].channels_last for name in probe.inputs
    ]
    return [
        t.movedim(1, -1).contiguous().movedim(-1, 1) if t is not None and t.ndim > 2 and is_last else t
        for t, is_last in zip(tensors, last, strict=True)
    ]


def values(spec: OpSpec, probe: Probe) -> tuple[Any, ...]:
    """Every param, defaults included."""
    given = {n: DTYPE[v] if n.endswith("dtype") and v is not None else v for n, v in probe.params.items()}
    return normalize(spec, [given.get(n, None if p.required else p.default) for n, p in spec.params.items()])


def check_good(spec: OpSpec, functions: Compiled, good: Good) -> None:
    tensors, params = meta(spec, good.probe), values(spec, good.probe)
    _, outputs = functions.outputs(*tensors, *params)
    want = list(zip(good.outputs, out_dtypes(good), strict=True))
    assert [(tuple(s), d) for s, d, *_ in outputs] == want, good.probe
    facts = functions.facts(*tensors, *params)
    for name, value in good.names.items():
        assert facts["names"][name] == value, (good.probe, name)
    cost = roofline(spec, facts)
    assert good.flops in (None, cost.flops), (good.probe, cost)
    assert good.bytes in (None, cost.bytes), (good.probe, cost)
    if good.implementation is None:
        check_unserved(spec, facts)
        return
    chosen = choose(spec, facts, "cpu", None)
    assert chosen == good.implementation, good.probe
    key = make_key(spec, chosen, facts, "cpu")
    for name, value in good.static.items():
        assert getattr(key, name) == value, (good.probe, name)


def out_dtypes(good: Good) -> list[torch.dtype]:
    """The dtype of every output; one name stands for all of them."""
    names = good.out_dtype or good.probe.dtype
    return [DTYPE[n] for n in ((names,) * len(good.outputs) if isinstance(names, str) else names)]


def check_returned(spec: OpSpec, functions: Compiled, runner: Runner, good: Good) -> None:
    """A call on meta tensors returns the outputs that it should, new ones except for the alias."""
    tensors = meta(spec, good.probe)
    result = functions.core(SimpleNamespace(), runner, *tensors, *values(spec, good.probe))
    got = (result,) if isinstance(result, Tensor) else result
    assert [tuple(t.shape) for t in got] == list(good.outputs[: len(good.outputs) - good.hidden]), good.probe
    for name, tensor in good_inputs(good.probe, tensors):
        assert any(t is tensor for t in got) == (name == good.alias), (good.probe, name)


def check_written(spec: OpSpec, functions: Compiled, good: Good) -> None:
    """A tensor whose elements share memory is taken, unless it is written."""
    tensors = meta(spec, good.probe)
    for name, tensor in good_inputs(good.probe, tensors):
        shared = torch.empty((), dtype=tensor.dtype, device="meta").expand(tensor.shape)
        if shared.is_contiguous():  # one element, or none: no call can show it
            written = written_slots(spec, tensors, values(spec, good.probe))
            assert (name in written) == (name in good.written), (good.probe, name)
            continue
        changed = [shared if t is tensor else t for t in tensors]
        try:
            functions.outputs(*changed, *values(spec, good.probe))
        except CallError as error:
            assert f"{name} is written in place" in str(error), (good.probe, str(error))
            assert name in good.written, (good.probe, name)
        else:
            assert name not in good.written, (good.probe, name)


def good_inputs(probe: Probe, tensors: list[Tensor | None]) -> list[tuple[str, Tensor]]:
    """The tensors that a probe gives, with their names."""
    return [(n, t) for n, t in zip(probe.inputs, tensors, strict=False) if t is not None]


def check_made(spec: OpSpec, expected: Expected) -> None:
    """The range of the index tensors that tests and benchmarks make, over a few seeds."""
    if not expected.made and not any(member.make for member in spec.inputs.values()):
        return
    for name, (least, most) in expected.made.items():
        case = next(case for case in spec.cases if name not in case.get("absent", []))
        bound = bind_case(spec, case)
        made = [
            dict(zip(spec.inputs, make_inputs(spec, bound, seed=seed), strict=True)) for seed in range(16)
        ]
        found = torch.cat([tensors[name].reshape(-1) for tensors in made])
        assert (int(found.min()), int(found.max())) == (least, most), name


def check_values_of_indices(spec: OpSpec, functions: Compiled, expected: Expected) -> None:
    """What index tensors must hold, worked out for the first good call."""
    declared = {name: member.values for name, member in spec.inputs.items() if member.values is not None}
    assert declared.keys() == expected.values.keys()
    if not declared:
        return
    first = expected.good[0].probe
    facts = functions.facts(*meta(spec, first), *values(spec, first))
    known = dict(variables(facts["names"], facts["shapes"]))
    for name, text in declared.items():
        kind, found = maker(text)
        got = tuple(e.text if e.text in spec.inputs else e.evaluate(known) for e in found)
        assert (kind, *got) == expected.values[name], name


def check_unserved(spec: OpSpec, facts: dict[str, Any]) -> None:
    """The call is specified, and no implementation serves it."""
    try:
        chosen = choose(spec, facts, "cpu", None)
    except NotImplementedError:
        return
    raise AssertionError(f"{spec.name}: {chosen} serves a call that nothing should")


def check_bad(spec: OpSpec, functions: Compiled, bad: Bad) -> None:
    tensors = meta(spec, bad.probe)
    try:
        functions.outputs(*tensors, *values(spec, bad.probe))
    except CallError as error:
        assert bad.says in str(error), (bad, str(error))
        return
    raise AssertionError(f"was not refused: {bad}")


def check_value(spec: OpSpec, functions: Compiled, runner: Runner, good: Good, roundings: float) -> None:
    probe = good.probe
    generator = torch.Generator().manual_seed(0)
    tensors = [
        None if s is None else torch.randn(s, generator=generator).to(_dtype(probe, n))
        for n, s in probe.inputs.items()
    ]
    params = values(spec, probe)
    tensors = _laid_out(spec, probe, permitted(spec, functions, probe, tensors))
    want = oracle(spec)(*tensors, **dict(zip(spec.params, params, strict=True)))
    got = functions.core(SimpleNamespace(), runner, *(tensors or [torch.device("cpu")]), *params)
    pairs = [(x,) if isinstance(x, Tensor) else x for x in (got, want)]
    assert len(pairs[0]) == len(spec.returned) <= len(pairs[1])  # an oracle also returns what is written
    for mine, theirs, dtype in zip(*pairs, out_dtypes(good), strict=False):
        assert_accurate(mine, theirs, dtype, roundings=roundings, name=str(probe))


def permitted(
    spec: OpSpec, functions: Compiled, probe: Probe, tensors: list[Tensor | None]
) -> list[Tensor | None]:
    """The tensors, with values that the manifest permits where it says which: ranges, prefix sums, pages."""
    facts = functions.facts(*meta(spec, probe), *values(spec, probe))
    known, out = dict(variables(facts["names"], facts["shapes"])), []
    for tensor, member in zip(tensors, spec.inputs.values(), strict=True):
        kind, arguments = maker(member.values) if member.values else (None, [])
        if tensor is not None and kind is not None:
            bounds = [a.evaluate(known) for a in arguments if a.text not in spec.inputs]
            tensor = _PERMITTED[kind](tensor, *bounds).to(tensor.dtype)
        out.append(tensor)
    return out


def _prefix_sums(tensor: Tensor, total: int) -> Tensor:
    inside = tensor[1:-1].abs().clamp(0, total).sort().values
    return torch.cat([torch.zeros(1), inside, torch.full((1,), total)])[: len(tensor)]


def _pages(tensor: Tensor, page_size: int, pages: int) -> Tensor:
    return torch.arange(tensor.numel() - 1, -1, -1).reshape(tensor.shape) % max(pages, 1)


def _columns(tensor: Tensor, *most: int) -> Tensor:
    return tensor.abs().minimum(torch.tensor(most))


def _room(tensor: Tensor, capacity: int) -> Tensor:
    """Half of it: the probes add fewer rows than that."""
    return tensor.abs().clamp(max=capacity // 2)


_PERMITTED = {
    "range": Tensor.clamp,
    "columns": _columns,
    "offsets": _prefix_sums,
    "pages": _pages,
    "room": _room,
    "grown_pages": _pages,
}


def _wrong_dtypes(spec: OpSpec, expected: Expected) -> list[Bad]:
    """Every dtype that a slot does not take, on the first good probe."""
    out = []
    first = expected.good[0].probe
    for slot, allowed in expected.dtypes.items():
        for name in (
            "float16",
            "bfloat16",
            "float32",
            "float64",
            "float8_e4m3fn",
            "float8_e5m2",
            "int32",
            "bool",
        ):
            if name not in allowed:
                out.append(Bad(f"{slot} must have dtype", _with_dtype(first, slot, name)))
    return out


def check_dtypes(spec: OpSpec, functions: Compiled, expected: Expected) -> None:
    """Every dtype that a slot takes is taken on the first good probe, or refused for another reason."""
    first = expected.good[0].probe
    for slot, allowed in expected.dtypes.items():
        for name in allowed:
            probe = _with_dtype(first, slot, name)
            try:
                functions.outputs(*meta(spec, probe), *values(spec, probe))
            except CallError as error:
                assert f"{slot} must have dtype" not in str(error)


def _with_dtype(probe: Probe, slot: str, dtype: str) -> Probe:
    """The probe with another dtype of one slot, and of those that follow it."""
    if slot in probe.dtypes:
        return dataclasses.replace(probe, dtypes={**probe.dtypes, slot: dtype})
    return dataclasses.replace(probe, dtype=dtype)


def _dtype(probe: Probe, slot: str) -> torch.dtype:
    own = probe.dtypes.get(slot, probe.dtype)
    return DTYPE[own]


def _size(probe: Probe) -> int:
    return max(torch.Size(s).numel() for s in probe.inputs.values() if s is not None)
