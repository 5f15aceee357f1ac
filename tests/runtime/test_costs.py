"""`eval_roofline` and `total_memory` tell of the last call that went well, and of no other."""

from __future__ import annotations

import pytest
import torch

import tileops
from tileops import targets
from tileops.errors import CallError
from tileops.roofline import Roofline

W = torch.randn(64)


def rms() -> tileops.RMSNormFwdOp:
    return tileops.RMSNormFwdOp(normalized_shape=(64,))


def cost(rows: int, weight: int = 64, itemsize: int = 4) -> tuple[Roofline, int]:
    """Four operations an element; x and the weight are read once and y is written once."""
    moved = (2 * rows * 64 + weight) * itemsize
    return Roofline(4 * rows * 64, moved), moved


def told(op: tileops.Op) -> tuple[Roofline, int]:
    return op.eval_roofline(), op.total_memory()


def test_before_the_first_call_there_is_nothing_to_tell() -> None:
    op = rms()
    op.explain(torch.randn(3, 64), W)
    op.validate(torch.randn(3, 64), W)
    for ask in (op.eval_roofline, op.total_memory):
        with pytest.raises(RuntimeError, match="RMSNormFwdOp: there was no call yet"):
            ask()


def test_each_call_is_told() -> None:
    op = rms()
    op(torch.randn(3, 64), W)
    assert told(op) == cost(3)
    op(torch.randn(2, 5, 64))
    assert told(op) == cost(10, weight=0)
    op(torch.randn(3, 64).half(), W.half())
    assert told(op) == cost(3, itemsize=2)
    op(torch.randn(0, 64), W)
    assert told(op) == cost(0)


def test_a_meta_call_tells_the_cost_of_any_size() -> None:
    op = rms()
    op(torch.empty(1 << 30, 64, device="meta"), W.to("meta"))
    assert told(op) == cost(1 << 30)


def test_a_call_through_the_dispatcher_is_told() -> None:
    op = rms()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        op(torch.randn(7, 64), W)
    assert told(op) == cost(7)


def test_instances_tell_of_their_own_calls() -> None:
    a, b = rms(), rms()
    a(torch.randn(3, 64), W)
    b(torch.randn(4, 64), W)
    assert (told(a), told(b)) == (cost(3), cost(4))


def test_the_operations_of_attention_follow_the_mask() -> None:
    op = tileops.GroupedQueryAttentionDenseFwdOp(is_causal=True)
    q, k = (torch.empty(2, n, h, 64, dtype=torch.float16, device="meta") for n, h in ((4, 4), (6, 2)))
    op(q, k, k)
    assert op.eval_roofline().flops == 4 * 2 * 4 * 64 * (3 + 4 + 5 + 6)


@pytest.mark.parametrize("kind", ["refused", "gradient", "launch", "not implemented"])
def test_a_call_that_raises_leaves_nothing_behind(kind: str) -> None:
    op = rms()
    op(torch.randn(3, 64), W)
    x = torch.randn(9, 64)
    if kind == "refused":
        with pytest.raises(CallError):
            op(x, W.half())
    elif kind == "gradient":
        with pytest.raises(NotImplementedError):
            op(x.requires_grad_(), W)
    elif kind == "launch":
        kernels = dict(op._runner.kernels)
        op._runner.kernels.update(
            {key: entry._replace(launch=lambda *_: 1 / 0) for key, entry in kernels.items()}
        )
        try:
            with pytest.raises(ZeroDivisionError):
                op(x, W)
        finally:
            op._runner.kernels.update(kernels)
    else:
        with (
            torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]),
            pytest.raises(CallError),
        ):
            op(x, W.half())
    assert told(op) == cost(3)
    op(x.detach(), W)
    assert told(op) == cost(9)


def test_a_spec_only_operator_tells_after_a_meta_call_only() -> None:
    op = tileops.MoeUnpermuteFwdOp()
    tensors = [torch.zeros(12, 16).half(), torch.zeros(10, dtype=torch.int32), torch.zeros(5, 2)]
    with pytest.raises(NotImplementedError):
        op(*tensors)
    with pytest.raises(RuntimeError, match="there was no call yet"):
        op.eval_roofline()
    op(*(t.to("meta") for t in tensors))
    memory = 2 * 12 * 16 + 4 * 10 + 4 * 5 * 2 + 2 * 5 * 16
    assert told(op) == (Roofline(2 * 5 * 2 * 16, memory), memory)


def test_meta_tensors_are_explained_for_the_machine_or_the_chosen_target() -> None:
    here = "hopper" if targets.get("hopper").unavailable() is None else "cpu"
    meta = torch.empty(3, 64, device="meta")
    assert rms().explain(meta).target == here
    assert tileops.RMSNormFwdOp(normalized_shape=(64,), target="cpu").explain(meta).target == "cpu"
