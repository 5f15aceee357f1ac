"""Operators are good citizens of PyTorch: schema, fakes, torch.compile, graphs, lifetimes."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch

from tests.conformance.plan import DEVICES, Call
from tests.conformance.test_values import outputs, same
from tileops.spec.model import Input
from tileops.testing import make_inputs, make_meta, operator, results

CHECKS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


@pytest.mark.parametrize("device", DEVICES)
def test_opcheck(first_call: Call, device: str) -> None:
    spec = first_call.spec
    made = make_inputs(spec, first_call.bound, device=device)
    inputs = [_harmless(t, member) for t, member in zip(made, spec.inputs.values(), strict=True)]
    overloads = operator(spec)._overloads
    assert overloads is not None
    arguments = overloads.arguments(inputs, tuple(first_call.params.values()), None, None)
    where = [] if spec.inputs else [torch.device(device)]
    # PyTorch cannot compare 8-bit floats, and so not see whether a call has changed one.
    narrow = any(t is not None and t.is_floating_point() and t.element_size() == 1 for t in inputs)
    checks = [c for c in CHECKS if not (narrow and c == "test_schema")]
    overload = overloads.of(inputs, tuple(first_call.params.values()))
    torch.library.opcheck(overload, (*arguments, *where), test_utils=checks)


def _harmless(tensor: torch.Tensor | None, member: Input) -> torch.Tensor | None:
    """Nothing below zero, and no integer zero: some results would be NaN, and no NaN equals another."""
    if tensor is None or member.make or member.values:
        return tensor
    if tensor.is_floating_point():
        return tensor if tensor.element_size() == 1 else tensor.abs()
    return torch.where(tensor == 0, torch.ones_like(tensor), tensor)


@pytest.mark.parametrize("device", DEVICES)
def test_fullgraph_compile_gives_the_same_bits(first_call: Call, device: str, all_rows: bool) -> None:
    inputs = make_inputs(first_call.spec, first_call.bound, device=device)
    op, spec = first_call.op(device=device), first_call.spec
    torch.compiler.reset()
    # What captures the graph is the same; Inductor costs seconds, and does not look into an operator.
    backend = "inductor" if device == "cuda" or all_rows else "aot_eager"
    compiled = torch.compile(lambda *tensors: op(*tensors), fullgraph=True, backend=backend)
    mine, theirs = (results(call, spec, inputs) for call in (compiled, op))
    for name in spec.returned:
        assert same(mine[name], theirs[name])
    assert mine.keys() == theirs.keys()


def test_meta_tensors_get_the_shapes_and_dtypes_of_the_real_call(call: Call) -> None:
    got = outputs(call.op(device="meta")(*make_meta(call.spec, call.bound)))
    want = outputs(call.op()(*make_inputs(call.spec, call.bound)))
    assert [(t.shape, t.dtype, t.device.type) for t in got] == [(t.shape, t.dtype, "meta") for t in want]


@pytest.mark.parametrize("device", DEVICES)
def test_a_call_keeps_no_tensor_alive(first_call: Call, device: str) -> None:
    inputs = make_inputs(first_call.spec, first_call.bound, device=device)
    op = first_call.op(device=device)
    result = outputs(op(*inputs))
    alive = [weakref.ref(t) for t in (*inputs, *result) if t is not None]
    del inputs, result
    gc.collect()
    assert [ref() for ref in alive] == [None] * len(alive)


@pytest.mark.gpu
def test_a_captured_graph_computes_with_new_values(first_call: Call) -> None:
    inputs = make_inputs(first_call.spec, first_call.bound, device="cuda")
    op, spec = first_call.op(device="cuda"), first_call.spec
    op(*inputs)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = outputs(op(*inputs))
    fresh = make_inputs(first_call.spec, first_call.bound, device="cuda", seed=1)
    for old, new in zip(inputs, fresh, strict=True):
        if old is not None and new is not None:
            old.copy_(new)
    graph.replay()
    want = results(op, spec, fresh)
    for name, mine in zip(spec.returned, captured, strict=True):
        assert same(mine, want[name])


def test_what_is_only_specified_checks_and_says_so(specified_call: Call) -> None:
    op = specified_call.op(device="meta")
    made = outputs(op(*make_meta(specified_call.spec, specified_call.bound)))
    assert [tuple(t.shape) for t in made] == [
        specified_call.bound.outputs[n] for n in specified_call.spec.returned
    ]
    inputs = make_inputs(specified_call.spec, specified_call.bound)
    op.validate(*inputs)
    with pytest.raises(
        NotImplementedError, match=f"{specified_call.spec.name} is specified and not yet implemented"
    ):
        op(*inputs)
