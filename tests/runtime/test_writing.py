"""Calls that write an input: what is written, what is returned, what PyTorch hears of it."""

from __future__ import annotations

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


def test_a_tensor_with_gaps_is_refused_and_left_alone() -> None:
    memory = torch.full((5, 2), -7.0)
    with pytest.raises(CallError, match="input is written in place and must be contiguous"):
        RELU(memory[:, 0])
    assert (memory == -7).all()
    assert tileops.ReluFwdOp()(memory[:, 0]).tolist() == [0] * 5


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


def test_inference_tensors_are_written() -> None:
    with torch.inference_mode():
        x = values()
        assert RELU(x) is x
        assert x.tolist() == [0, 2, 0, 4, 0]


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
