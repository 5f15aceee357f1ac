"""The timers, on a clock that stands in for a GPU: what is captured, replayed, flushed and taken off."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from tileops.bench import timing
from tileops.bench.timing import Plan

LAUNCH = 1.0  # us between kernels
SUM = 40.0  # us to read the flush buffer


class Device:
    """A GPU with one stream: work takes its time when it runs, and is recorded while a graph is captured."""

    def __init__(self) -> None:
        self.now = 0.0
        self.recording: list[tuple[float, Callable[[], None]]] | None = None
        self.replayed = 0
        self.left: list[object] = []

    def run(self, us: float, effect: Callable[[], None] = lambda: None) -> None:
        if self.recording is not None:
            self.recording.append((us, effect))
            return
        self.now += us + LAUNCH
        effect()


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Device:
    gpu = Device()

    class Graph:
        work: list[tuple[float, Callable[[], None]]]

        def capture_begin(self, **_: Any) -> None:
            gpu.recording = []

        def capture_end(self) -> None:
            assert gpu.recording is not None
            self.work, gpu.recording = gpu.recording, None

        def replay(self) -> None:
            gpu.replayed += 1
            for us, effect in self.work:
                gpu.run(us, effect)

    class Event:
        def __init__(self, **_: Any) -> None: ...
        def record(self) -> None:
            self.at = gpu.now

        def synchronize(self) -> None: ...
        def elapsed_time(self, end: Any) -> float:
            return float(end.at - self.at) / 1e3

    class Stream:
        def wait_stream(self, _: Any) -> None: ...

    @contextlib.contextmanager
    def stream(_: Any) -> Iterator[None]:
        yield

    for name, value in {
        "CUDAGraph": Graph, "Event": Event, "Stream": Stream, "stream": stream, "current_stream": Stream,
        "synchronize": lambda: None, "_sleep": lambda _: None, "graph_pool_handle": object,
    }.items():  # fmt: skip
        monkeypatch.setattr(torch.cuda, name, value)
    monkeypatch.setattr(timing, "_leave", gpu.left.append)
    monkeypatch.setattr(timing, "_read", lambda _: gpu.run(SUM))
    monkeypatch.setattr(timing, "WARM_SECONDS", 0.0)
    return gpu


def kernel(gpu: Device, us: float, seen: list[Any] | None = None) -> Callable[..., torch.Tensor]:
    def call(x: torch.Tensor) -> torch.Tensor:
        out = torch.empty(4)
        gpu.run(us, lambda: out.fill_(1))
        if seen is not None:
            seen.append(x)
        return out

    return call


def sets(count: int) -> list[list[torch.Tensor]]:
    return [[torch.full((4,), n)] for n in range(count)]


@pytest.mark.parametrize("us", [2.0, 17.0, 4000.0])
def test_a_graph_of_calls_gives_the_time_of_one(device: Device, us: float) -> None:
    found = timing.timer(kernel(device, us), sets(3), Plan(), "cuda")
    assert found.kind == "CUDA graph"
    assert found.measure() * 1e6 == pytest.approx(us + LAUNCH)


def test_a_graph_goes_through_all_sets_and_lasts_long_enough(device: Device) -> None:
    seen: list[Any] = []
    found = timing._Graph(kernel(device, 9.0, seen), sets(8), Plan())
    assert found.calls == 104, "13 times through 8 sets of 10 us make a millisecond"
    assert [int(x[0]) for x in seen[-8:]] == list(range(8))
    assert timing._Graph(kernel(device, 9.0), sets(1), Plan(seconds=1e-6)).calls == 1
    assert timing._Graph(kernel(device, 0.1), sets(64), Plan(seconds=1.0)).calls == timing.MOST_CALLS


def test_the_time_of_the_flush_is_taken_off(device: Device) -> None:
    found = timing.timer(kernel(device, 2.5), sets(4), Plan(flush=torch.zeros(1)), "cuda")
    assert found.kind == "CUDA graph"
    assert found.measure() * 1e6 == pytest.approx(2.5 + LAUNCH)


def test_what_cannot_be_captured_is_timed_with_events(device: Device) -> None:
    def call(x: torch.Tensor) -> torch.Tensor:
        if device.recording is not None:
            raise RuntimeError("operation not permitted when stream is capturing\nmore")
        device.run(20.0)
        return x

    found = timing.timer(call, sets(2), Plan(), "cuda")
    assert (found.kind, found.why) == ("events", "operation not permitted when stream is capturing")  # type: ignore[attr-defined]
    assert len(device.left) == 1, "the allocator is told"
    assert found.measure() * 1e6 == pytest.approx(20 + LAUNCH)
    flushed = timing.timer(call, sets(2), Plan(flush=torch.zeros(1)), "cuda")
    assert flushed.measure() * 1e6 == pytest.approx(20 + LAUNCH)


def test_work_that_is_not_in_the_graph_is_noticed(device: Device) -> None:
    def elsewhere(x: torch.Tensor) -> torch.Tensor:
        if device.recording is None:
            device.run(20.0)
        return torch.ones(4)

    found = timing.timer(elsewhere, sets(2), Plan(), "cuda")
    assert found.kind == "events"
    assert "does not write the output" in found.why  # type: ignore[attr-defined]


def test_outputs_that_are_inputs_are_not_poisoned(device: Device) -> None:
    def in_place(x: torch.Tensor) -> torch.Tensor:
        device.run(5.0)
        return x

    inputs = sets(2)
    assert timing.timer(in_place, inputs, Plan(), "cuda").kind == "CUDA graph"
    assert not any(bool(x.isnan().any()) for (x,) in inputs)


class Fixed:
    kind = "fixed"

    def __init__(self, name: str, values: list[float], order: list[str]) -> None:
        self.name, self.values, self.order = name, values, order

    def measure(self) -> float:
        self.order.append(self.name)
        value = self.values.pop(0)
        if value < 0:
            raise RuntimeError("out of memory")
        return value


def test_rounds_go_forward_and_backward_and_a_failure_stops_only_its_own() -> None:
    order: list[str] = []
    timers = {name: Fixed(name, [1e-6 * n for n in (1, 2, 9)], order) for name in "ab"}
    timers["c"] = Fixed("c", [1e-6, -1.0], order)
    noted: list[str] = []
    times, failed = timing.interleave(timers, Plan(rounds=3), noted.append)
    assert "".join(order) == "abc" + "cba" + "ab"
    assert noted == order
    assert times["a"] == (2.0, 1.0, 9.0, 3)
    assert str(failed["c"]) == "out of memory" and set(failed) == {"c"}
    assert set(times) == {"a", "b"}


def test_the_summary_is_the_median_and_percentiles() -> None:
    assert timing.summary([1e-6 * n for n in range(1, 13)]) == pytest.approx((6.5, 2, 11, 12))
    with pytest.raises(ValueError, match="is not a time"):
        timing.summary([-1e-7, -2e-7, 1e-6])


def test_sets_are_enough_for_the_cache_and_small_calls_flush_it() -> None:
    cache = 60 * 2**20
    assert timing.cold(33_000_000, cache, "cpu") == (8, None, "8 sets of inputs in turn")
    assert timing.cold(2 * 2**30, cache, "cpu") == (1, None, "1 set of inputs in turn")
    count, flush, words = timing.cold(24_576, cache, "cpu")
    assert (count, words) == (4, "cache flushed before each call")
    assert flush is not None and flush.nbytes == 2 * cache
    assert timing.cold(1, 0, "cpu")[0] == 1


def test_the_clock_of_a_cpu() -> None:
    called: list[int] = []
    found = timing.timer(lambda x: called.append(int(x[0])), sets(2), Plan(seconds=1e-5), "cpu")
    assert found.kind == "perf_counter"
    assert 0 < found.measure() < 1
    assert set(called) == {0, 1} or len(called) == 2
