"""One case: what peers may do wrong, and that it is a line in the row and not the end of the run."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from tileops.bench import check, inputs
from tileops.bench.forward import forward_key
from tileops.bench.measure import Settings, measure
from tileops.bench.parts import parts
from tileops.bench.peer import Call, Peer, Unserved, peers
from tileops.bench.plan import Case, cases
from tileops.reference.attention import attend
from tileops.spec import all_specs, load

SETTINGS = Settings("cpu", rounds=2, seconds=1e-5)
IMPLEMENTED = [spec.name for spec in all_specs().values() if spec.implemented]


def softmax_case() -> Case:
    return next(case for case in cases(load("SoftmaxFwdOp"), "cpu", small=True) if case.params["dim"] == -1)


def peer(name: str, make: Callable[[Call], Any], writes: tuple[str, ...] = ()) -> Peer:
    found = Peer(name, devices=("cpu",))
    found.serves("SoftmaxFwdOp", writes=writes)(make)
    return found


def right(x: torch.Tensor) -> torch.Tensor:
    return x.softmax(-1)


def raises(call: Call) -> Any:
    raise RuntimeError("no kernel\nfor this")


def unserved(call: Call) -> Any:
    raise Unserved("rows of 8 only")


def later(call: Call) -> Any:
    def run(x: torch.Tensor) -> torch.Tensor:
        run.left -= 1  # type: ignore[attr-defined]
        if run.left < 0:  # type: ignore[attr-defined]
            raise ValueError("no more")
        return right(x)

    run.left = 2  # type: ignore[attr-defined]
    return run


def large(calls: int) -> Callable[[Call], Any]:
    """Runs out of memory after some calls, wrapped as a compiler does."""

    def make(call: Call) -> Any:
        left = iter(range(calls))

        def run(x: torch.Tensor) -> torch.Tensor:
            if next(left, None) is None:
                try:
                    raise torch.OutOfMemoryError("512 GiB")
                except torch.OutOfMemoryError as error:
                    raise RuntimeError("backend") from error
            return right(x)

        return run

    return make


def in_place(call: Call) -> Any:
    return lambda x: x.copy_(right(x))


PEERS = [
    peer("right", lambda call: right),
    peer("wrong", lambda call: lambda x: right(x) * 1.1),
    peer("nan", lambda call: lambda x: right(x) * float("nan")),
    peer("shape", lambda call: lambda x: right(x)[:1]),
    peer("dtype", lambda call: lambda x: right(x).double()),
    peer("raises", raises),
    peer("unserved", unserved),
    peer("later", later),
    peer("large", large(0)),
    peer("large later", large(2)),
    peer("in place", in_place, ("input",)),
    Peer("elsewhere", devices=("cpu",)),
]


def test_every_way_of_a_peer_is_in_the_row() -> None:
    noted: list[tuple[str, ...]] = []
    row = measure(softmax_case(), PEERS, replace(SETTINGS, note=lambda *now: noted.append(now)))
    times = row["times"]
    assert "error" not in row
    for name in ("tileops", "right", "in place"):
        assert times[name]["us"] > 0 and 0 < times[name]["error"] < 1e-3, name
        assert times[name]["low"] <= times[name]["us"] <= times[name]["high"]
        assert times[name]["timer"] == "perf_counter"
    assert "relative error of 0.1" in times["wrong"]["failed"]
    assert "relative error of nan" in times["nan"]["failed"]
    assert "of shape (1, 3, 64), and should be" in times["shape"]["failed"]
    assert "torch.float64" in times["dtype"]["failed"]
    assert times["raises"]["failed"].startswith("RuntimeError: no kernel for this (test_measure.py:")
    assert times["unserved"] == {"unserved": "rows of 8 only"}
    assert "ValueError: no more" in times["later"]["failed"]
    for name in ("large", "large later"):
        assert times[name]["unserved"].startswith("it needs more memory than there is: RuntimeError: backend")
        assert not {"failed", "us"} & set(times[name]), "it is no problem of the row"
    assert not any("us" in times[name] for name in ("wrong", "nan", "shape", "dtype", "raises", "later"))
    assert "elsewhere" not in times
    assert row["implementation"] == "rows"
    assert (row["flops"], row["bytes"]) == (5 * 384, 2 * 2 * 384)
    assert {op for op, _, _ in noted} == {"SoftmaxFwdOp"}


def test_memory_of_what_an_implementation_computed_is_not_kept() -> None:
    """Neither by what raised, nor by those that are timed later."""
    seen: list[weakref.ref[torch.Tensor]] = []

    def fails(call: Call) -> Any:
        def run(x: torch.Tensor) -> torch.Tensor:
            scores = x @ x.mT
            seen.append(weakref.ref(scores))
            raise RuntimeError("no more")

        return run

    def looks(call: Call) -> Any:
        def run(x: torch.Tensor) -> torch.Tensor:
            gone.append(all(ref() is None for ref in seen))
            made = right(x)
            seen.append(weakref.ref(made))
            return made

        return run

    gone: list[bool] = []
    measure(softmax_case(), [peer("fails", fails), peer("looks", looks)], SETTINGS)
    assert len(seen) > 2 and all(gone)


def test_what_ended_an_earlier_process_is_left_out() -> None:
    case = softmax_case()
    blamed = [("SoftmaxFwdOp", case.key, "right")]
    times = measure(case, PEERS[:1], replace(SETTINGS, blamed=blamed))["times"]
    assert times["right"] == {"failed": "it ended the measuring process"}
    assert times["tileops"]["us"] > 0
    blamed = [("SoftmaxFwdOp", case.key, "tileops")]
    row = measure(case, PEERS[:1], replace(SETTINGS, blamed=blamed))
    assert row["error"] == "it ended the measuring process"
    assert row["times"]["right"]["us"] > 0


def test_a_case_whose_oracle_fails_is_a_row_with_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_oracle(*_: Any) -> Any:
        raise MemoryError("68 GB")

    monkeypatch.setattr(check, "reference", no_oracle)
    row = measure(softmax_case(), PEERS[:1], SETTINGS)
    assert row["error"].startswith("MemoryError: 68 GB")
    assert row["times"] == {}


@pytest.mark.parametrize("op", sorted(peers()["PyTorch"].ops.keys() | peers()["cuBLAS"].ops.keys()))
def test_peers_of_torch_compute_what_the_oracle_says(op: str) -> None:
    """Not torch.compile, which compiles for seconds: it wraps the same functions."""
    spec = load(op)
    checked = 0
    for case in cases(spec, "cpu", small=True):
        first = inputs.make(case, "cpu")
        want = check.reference(case, first)
        for name in ("PyTorch", "cuBLAS"):
            served = peers()[name].ops.get(op)
            if served is None:
                continue
            try:
                call = served.make(Call(case.params, dict(zip(spec.inputs, first, strict=True))))
            except Unserved:
                continue
            check.error(case, call(*first), want)
            checked += 1
    assert checked


ATTENTION = [name for name in IMPLEMENTED if load(name).family == "attention"]


@pytest.mark.parametrize("op", ATTENTION)
def test_an_oracle_in_parts_is_the_whole_one(op: str) -> None:
    """A head at a time, or a group of them where outputs belong to it."""
    spec = load(op)
    for case in cases(spec, "cpu", small=True):
        first = inputs.make(case, "cpu")
        found = check.oracle(spec)(*first, **case.params)
        whole = check.outputs(found)[: len(spec.returned)]
        for part, want in zip(check.reference(case, first), whole, strict=True):
            assert part.dtype is want.dtype and torch.allclose(
                part, want, rtol=1e-12, atol=1e-14, equal_nan=True
            ), case.key


def test_heads_of_large_attention_are_computed_one_at_a_time() -> None:
    """Of a matrix of 32768 scores a side in float64 only a few fit a device."""
    for op in ATTENTION:
        for case in cases(load(op), "hopper", small=False):
            found = parts(case)
            if op == "FP8LightningIndexerFwdOp":  # sums over heads, and takes some queries at a time
                assert found == []
                continue
            heads = case.bound.names["H"]
            groups = case.bound.names.get("H_kv", heads)
            assert len(found) == (groups if op.endswith("BwdOp") else heads)
            for shape, *cuts in _by_slot(case, found):
                covered = sorted({head for cut in cuts for head in range(cut.start, cut.start + cut.length)})
                assert covered == list(range(shape[cuts[0].axis]))


def _by_slot(case: Case, found: list[Any]) -> Any:
    """The shape of each tensor that is cut, and its cuts."""
    shapes = [*case.bound.shapes.values(), *(case.bound.outputs[name] for name in case.spec.returned)]
    rows = zip(shapes, *([*part.inputs, *part.outputs] for part in found), strict=True)
    return [row for row in rows if row[1] is not None]


@pytest.mark.parametrize("op", ["MultiHeadAttentionBwdOp", "GroupedQueryAttentionBwdOp"])
def test_a_backward_gets_what_its_forward_computed(op: str) -> None:
    for case in cases(load(op), "cpu", small=True):
        q, k, v, o, _, lse = inputs.make(case, "cpu")
        assert q is not None and k is not None and v is not None and o is not None and lse is not None
        want, sums = attend(q, k, v, **case.params)
        torch.testing.assert_close(o.double(), want, rtol=2**-7, atol=2**-7)
        torch.testing.assert_close(lse.double(), sums, rtol=1e-4, atol=1e-4)
        key = forward_key(case, "cpu")
        assert key is not None and key.op == op.replace("Bwd", "Fwd")


def test_statistics_of_training_are_the_forwards_and_others_are_random() -> None:
    for case in cases(load("BatchNormBwdOp"), "cpu", small=True):
        names = dict(zip(case.spec.inputs, inputs.make(case, "cpu"), strict=True))
        x, mean = names["x"], names["mean"]
        assert x is not None and mean is not None
        computed = torch.allclose(mean.double(), x.double().transpose(0, 1).flatten(1).mean(1), atol=1e-4)
        assert computed == case.params["training"]
        assert (forward_key(case, "cpu") is not None) == case.params["training"]


def test_an_operator_that_is_no_backward_has_no_forward() -> None:
    assert forward_key(softmax_case(), "cpu") is None


def test_peers_are_named_and_serve_operators_that_exist() -> None:
    for name, found in peers().items():
        assert found.name == name and found.ops
        for op, served in found.ops.items():
            assert set(served.writes) <= set(load(op).inputs), (name, op)
    assert {
        "PyTorch",
        "torch.compile",
        "torch._scaled_mm",
        "cuBLAS",
        "cuDNN",
        "flashinfer",
        "liger-kernel",
        "fla-core",
        "flag_gems",
    } == set(peers())


def test_a_library_that_is_not_there_is_named() -> None:
    assert (
        Peer("x", module="no_such_library").missing("cuda")
        == "ModuleNotFoundError: No module named 'no_such_library'"
    )
    assert Peer("x").missing("cpu") == "does not run on cpu"
    assert Peer("x").missing("cuda") is None
    assert Peer("numpy", module="numpy").version not in (None, "unknown")


def test_every_workload_is_a_case_of_its_own() -> None:
    for name in IMPLEMENTED:
        found = cases(load(name), "hopper", small=False)
        assert found, name
        assert len({case.key for case in found}) == len(found), name
        for case in found:
            assert case.cost.bytes == inputs.call_bytes(case) or load(name).roofline.bytes
            assert case.cost.flops > 0
