"""Calls that write an input: what is written, what is returned, what PyTorch hears of it."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch.autograd import profiler

import tileops
from tileops.errors import CallError

RELU = tileops.ReluFwdOp(inplace=True)
OVERLOADS = torch.ops.tileops.relu


def values() -> torch.Tensor:
    return torch.tensor([-1.0, 2.0, -3.0, 4.0, -5.0])


def test_the_tensor_itself_is_returned_with_the_result_in_it() -> None:
    x = values()
    assert RELU(x) is x
    assert x.tolist() == [0, 2, 0, 4, 0]
    y = values()
    assert tileops.ReluFwdOp()(y) is not y
    assert y.tolist() == values().tolist()


def test_through_the_dispatcher_it_is_the_same() -> None:
    x = values()
    with profiler.profile():
        assert RELU(x) is x
    assert x.tolist() == [0, 2, 0, 4, 0]


def test_memory_that_programs_cannot_take_is_written_all_the_same() -> None:
    memory = torch.full((9,), -7.0)
    x = memory[1:6]
    assert x.data_ptr() % 16
    assert "16 bytes" in RELU.explain(x).copies["input"]
    assert RELU(x) is x
    assert memory.tolist() == [-7, 0, 0, 0, 0, 0, -7, -7, -7]


@pytest.mark.parametrize("view", [lambda m: m[:, 0], lambda m: m[1:4, 1:].t(), lambda m: m[::2, :, None]])
@pytest.mark.parametrize("compiled", [False, True])
def test_a_tensor_with_gaps_is_written_at_its_places_and_nowhere_else(view: Any, compiled: bool) -> None:
    torch.compiler.reset()
    leaky = tileops.LeakyReluFwdOp(negative_slope=0.5, inplace=True)  # twice is not the same as once
    memory = torch.randn(5, 3)
    twin = memory.clone()
    x, y = view(memory), view(twin)
    call = torch.compile(leaky, fullgraph=True, backend="aot_eager") if compiled else leaky
    before = x._version
    call(x)
    torch.nn.functional.leaky_relu_(y, 0.5)
    assert torch.equal(memory, twin)
    assert x._version > before if compiled else x._version == before + 1
    assert "not contiguous" in leaky.explain(x).copies["input"]
    before = x._version
    with profiler.profile():  # through the dispatcher
        assert leaky(x) is x
    torch.nn.functional.leaky_relu_(y, 0.5)
    assert torch.equal(memory, twin)
    assert x._version == before + 1


def test_a_compiled_function_writes_a_view_of_its_input() -> None:
    torch.compiler.reset()

    def columns(x: torch.Tensor) -> torch.Tensor:
        RELU(x[:, ::2])
        return x + 1

    x = torch.randn(4, 6)
    want = x.clone()
    want[:, ::2].relu_()
    got = torch.compile(columns, fullgraph=True, backend="aot_eager")(x)
    assert torch.equal(x, want)
    assert torch.equal(got, want + 1)


def test_statistics_with_gaps_are_kept_up() -> None:
    norm, x = tileops.BatchNormFwdOp(training=True), torch.randn(8, 6)
    memory, want = torch.zeros(2, 12), torch.zeros(2, 6)
    norm(x, memory[0, ::2], memory[1, ::2])
    norm(x, *want)
    assert torch.equal(memory[:, ::2], want)
    assert not memory[:, 1::2].any()


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("shared", [lambda m: m[:1].expand(5), lambda m: m.unfold(0, 3, 1)])
def test_elements_that_share_memory_are_refused_and_left_alone(shared: Any, compiled: bool) -> None:
    torch.compiler.reset()
    memory = torch.full((5,), -7.0)
    call = torch.compile(RELU, fullgraph=True, backend="aot_eager") if compiled else RELU
    with pytest.raises(Exception, match="input is written in place, and its elements overlap in memory"):
        call(shared(memory))
    if not compiled:
        with pytest.raises(CallError):
            RELU(shared(memory))
    assert (memory == -7).all()
    assert not tileops.ReluFwdOp()(shared(memory)).any()


def test_autograd_hears_of_the_write() -> None:
    x = values()
    before = x._version
    RELU(x)
    assert x._version > before
    weight = torch.ones(5, requires_grad=True)
    product = (weight * x).sum()  # keeps x
    RELU(x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_a_tensor_that_wants_a_gradient_is_refused_and_left_alone() -> None:
    x = values().requires_grad_()
    with pytest.raises(NotImplementedError, match="has no backward"):
        RELU(x)
    assert x.tolist() == values().tolist()
    with torch.no_grad():
        assert RELU(x) is x


@pytest.mark.parametrize("turned", [False, True])
def test_tensors_of_inference_mode_are_written_there_and_nowhere_else(turned: bool) -> None:
    with torch.inference_mode():
        x, y = (torch.stack([values()] * 2).t() if turned else values() for _ in range(2))
        assert RELU(x) is x
        assert (x >= 0).all()
    for surrounds in (nullcontext, torch.no_grad, profiler.profile):
        with surrounds(), pytest.raises(CallError, match=r"made under torch.inference_mode\(\)"):
            RELU(y)
    with pytest.raises(CallError, match="nothing may write it"):
        OVERLOADS.inplace(y, True, None, None)
    assert (y == (torch.stack([values()] * 2).t() if turned else values())).all()
    assert tileops.ReluFwdOp()(y).tolist() == x.tolist()


def test_a_tensor_from_outside_is_written_in_inference_mode() -> None:
    x = values()
    before = x._version
    with torch.inference_mode():
        assert RELU(x) is x
    assert x._version == before + 1
    assert x.tolist() == [0, 2, 0, 4, 0]


@pytest.mark.parametrize("turned", [False, True])
def test_a_compiled_call_writes_in_inference_mode(turned: bool) -> None:
    torch.compiler.reset()
    compiled = torch.compile(RELU, fullgraph=True, backend="aot_eager")
    outside = torch.stack([values()] * 2)
    with torch.inference_mode():
        x = torch.stack([values()] * 2)
        for tensor in (x, outside):
            compiled(tensor.t() if turned else tensor)
            assert tensor.tolist() == [[0, 2, 0, 4, 0]] * 2


def test_the_schema_says_what_is_written() -> None:
    assert str(OVERLOADS.inplace._schema) == (
        "tileops::relu.inplace(Tensor(a0!) input, bool inplace, str? target, str? implementation) -> ()"
    )
    assert not OVERLOADS.default._schema.is_mutable
    torch.library.opcheck(OVERLOADS.inplace, (values(), True, None, None))


def test_each_overload_refuses_the_calls_of_the_other() -> None:
    for overload, inplace in ((OVERLOADS.default, True), (OVERLOADS.inplace, False)):
        x = values()
        with pytest.raises(ValueError, match="it is for the other overload"):
            overload(x, inplace, None, None)
        assert x.tolist() == values().tolist()


def test_a_compiled_graph_writes_its_input() -> None:
    torch.compiler.reset()

    def double(x: torch.Tensor) -> torch.Tensor:
        return RELU(x * 2) + RELU(x)

    compiled = torch.compile(double, fullgraph=True, backend="aot_eager")
    x = values()
    got = compiled(x)
    assert got.tolist() == [0, 6, 0, 12, 0]
    assert x.tolist() == [0, 2, 0, 4, 0]


def test_cost_counts_what_is_read_and_written_and_memory_counts_it_once() -> None:
    for inplace, memory in ((True, 20), (False, 40)):
        relu = tileops.ReluFwdOp(inplace=inplace)
        relu(values())
        assert relu.eval_roofline().bytes == 40
        assert relu.total_memory() == memory
