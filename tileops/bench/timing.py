"""How long calls keep the device busy. Needs torch only: the process of another `tileops` loads this file.

On a GPU a CUDA graph of many calls is replayed; where a library cannot be captured, events stand around calls
that were queued behind a pause. Every call finds its inputs outside the L2 cache: it is given one of several
sets, or the cache is flushed before it and the time of the flush is taken off.
"""

from __future__ import annotations

import contextlib
import math
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import torch

__all__ = ["Plan", "Timer", "Times", "cold", "interleave", "summary", "timer"]

PAUSE_CYCLES = 20_000_000  # 10 ms, in which some hundred calls can be queued
MOST_CALLS = 1024  # of a graph
FLUSHED_CALLS = 32
WARM_SECONDS = 0.05  # until the clocks are up
CAPACITIES = 4  # a set is used again when this many times the size of the L2 cache has passed through it
MOST_SETS = 256
SMALL_SETS = 4  # of calls so small that the cache is flushed instead

Function = Callable[..., Any]


class Plan(NamedTuple):
    """How to measure.

    Attributes:
        rounds: How often each implementation is measured.
        seconds: How long one measurement should last.
        flush: A buffer larger than the L2 cache, to be read before each call; `None` when the sets rotate.
    """

    rounds: int = 12
    seconds: float = 1e-3
    flush: torch.Tensor | None = None


class Times(NamedTuple):
    """Microseconds a call: the median over the rounds, and the tenth and ninetieth percentile."""

    us: float
    low: float
    high: float
    rounds: int


class Timer(Protocol):
    """Measures one implementation."""

    kind: str

    def measure(self) -> float:
        """Seconds a call, once."""


def cold(size: int, cache: int, device: str) -> tuple[int, torch.Tensor | None, str]:
    """How calls of `size` bytes find a cold cache: number of sets, a buffer to flush with, in words."""
    needed = max(1, -(-CAPACITIES * cache // max(size, 1)))
    if needed <= MOST_SETS:
        return needed, None, f"{needed} set{'s' * (needed > 1)} of inputs in turn"
    return SMALL_SETS, torch.zeros(2 * cache // 4, device=device), "cache flushed before each call"


def timer(call: Function, sets: Sequence[Sequence[Any]], plan: Plan, device: str) -> Timer:
    """The best timer that works for a call; the call has run once before.

    Args:
        call: The implementation.
        sets: Its argument lists; calls go through them in turn.
        plan: How to measure.
        device: `"cpu"` or `"cuda"`.
    """
    if device == "cpu":
        return _Clock(call, sets, plan)
    try:
        return _Graph(call, sets, plan)
    except Exception as error:  # noqa: BLE001  what a library does inside a capture is not ours to know
        why = str(error).partition("\n")[0]
    torch.cuda.synchronize()
    torch.cuda.empty_cache()  # what the broken capture took
    return _Events(call, sets, plan, why)


def interleave(
    timers: Mapping[str, Timer], plan: Plan, note: Callable[[str], None]
) -> tuple[dict[str, Times], dict[str, Exception]]:
    """Measure all implementations in turn, forward and backward, and so on.

    Returns:
        The times by name, and for those that raised the error.
    """
    samples: dict[str, list[float]] = {name: [] for name in timers}
    failed: dict[str, Exception] = {}
    for n in range(plan.rounds):
        for name in list(timers) if n % 2 == 0 else list(timers)[::-1]:
            if name in failed:
                continue
            note(name)
            try:
                samples[name].append(timers[name].measure())
            except Exception as error:  # noqa: BLE001  it is recorded, and the others go on
                traceback.clear_frames(error.__traceback__)  # what it computed until then takes memory
                failed[name] = error
    return {name: summary(found) for name, found in samples.items() if found and name not in failed}, failed


def summary(seconds: Sequence[float]) -> Times:
    """Median and spread of some measurements.

    Raises:
        ValueError: The median is not positive: the call is lost in the noise of the flush.
    """
    us = sorted(1e6 * s for s in seconds)
    middle = len(us) // 2
    median = us[middle] if len(us) % 2 else (us[middle - 1] + us[middle]) / 2
    if not median > 0:
        raise ValueError(f"a time of {median:.3g} µs is not a time")
    edge = len(us) // 10
    return Times(median, us[edge], us[-1 - edge], len(us))


class _Clock:
    """Wall-clock time of calls that return when they are done."""

    kind = "perf_counter"

    def __init__(self, call: Function, sets: Sequence[Sequence[Any]], plan: Plan) -> None:
        self.call, self.sets = call, sets
        self.calls = 1
        self.calls = max(1, min(MOST_CALLS, math.ceil(plan.seconds / max(self.measure(), 1e-9))))

    def measure(self) -> float:
        start = time.perf_counter()
        for n in range(self.calls):
            self.call(*self.sets[n % len(self.sets)])
        return (time.perf_counter() - start) / self.calls


class _Events:
    """Events around queued calls. Right while the queue is longer than the host is behind."""

    kind = "events"

    def __init__(self, call: Function, sets: Sequence[Sequence[Any]], plan: Plan, why: str) -> None:
        self.call, self.sets, self.why = call, sets, why
        self.flush = plan.flush
        self.calls = 3
        estimate = max(self._run(True), 1e-7)
        self.calls = (
            FLUSHED_CALLS if self.flush is not None else max(1, min(64, math.ceil(plan.seconds / estimate)))
        )
        self.overhead = self._run(False) if self.flush is not None else 0.0

    def measure(self) -> float:
        return self._run(True) - self.overhead

    def _run(self, calling: bool) -> float:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(PAUSE_CYCLES)
        start.record()
        for n in range(self.calls):
            if self.flush is not None:
                _read(self.flush)
            if calling:
                self.call(*self.sets[n % len(self.sets)])
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / 1e3 / self.calls


class _Graph:
    """Replays of a CUDA graph of many calls. What runs before the first event keeps the device busy."""

    kind = "CUDA graph"

    def __init__(self, call: Function, sets: Sequence[Sequence[Any]], plan: Plan) -> None:
        self.call, self.sets, self.flush = call, sets, plan.flush
        self.calls = FLUSHED_CALLS
        if plan.flush is not None:
            _read(plan.flush)  # a kernel's first launch must not be captured
        else:
            estimate = max(self._estimate(), 1e-7)
            whole = math.ceil(plan.seconds / (estimate * len(sets)))  # times through all sets
            self.calls = max(1, min(whole * len(sets), max(MOST_CALLS, len(sets))))
        self.graph = self._capture(call)
        self.empty = self._capture(None) if plan.flush is not None else None
        self._warm()

    def _estimate(self) -> float:
        """From a graph of a few calls: what the host does between calls is not in it."""
        self.calls = min(4, len(self.sets)) if len(self.sets) > 1 else 2
        graph = self._capture(self.call)
        return _replay(graph) / self.calls

    def _capture(self, call: Function | None) -> torch.cuda.CUDAGraph:
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        # Outputs of one pass through the sets stay alive: no call writes memory that the cache still holds.
        kept: list[Any] = [None] * len(self.sets)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            # Not torch.cuda.graph(), which empties the allocator's cache, and there are hundreds of captures.
            pool = torch.cuda.graph_pool_handle()
            graph.capture_begin(pool=pool, capture_error_mode="thread_local")
            try:
                try:
                    for n in range(self.calls):
                        if self.flush is not None:
                            _read(self.flush)
                        if call is not None:
                            kept[n % len(self.sets)] = call(*self.sets[n % len(self.sets)])
                finally:
                    graph.capture_end()
            except Exception:
                _leave(pool)
                raise
        torch.cuda.current_stream().wait_stream(stream)
        if call is not None:
            _must_write(graph, kept[0], self.sets[0])
        return graph

    def _warm(self) -> None:
        end = time.perf_counter() + WARM_SECONDS
        while time.perf_counter() < end:
            self.graph.replay()
            torch.cuda.synchronize()

    def measure(self) -> float:
        taken = _replay(self.graph)
        if self.empty is not None:
            taken -= _replay(self.empty)
        return taken / self.calls


def _replay(graph: torch.cuda.CUDAGraph) -> float:
    """Seconds of one replay, queued behind another one."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    graph.replay()
    start.record()
    graph.replay()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3


def _leave(pool: Any) -> None:
    """Tell the allocator that a broken capture is over; PyTorch does so only when the capture ended well."""
    with contextlib.suppress(RuntimeError):
        torch._C._cuda_endAllocateToPool(torch.cuda.current_device(), pool)


def _read(buffer: torch.Tensor) -> torch.Tensor:
    """Fill the cache with other, clean lines."""
    return buffer.sum()


def _must_write(graph: torch.cuda.CUDAGraph, outputs: Any, inputs: Sequence[Any]) -> None:
    """Raise unless a replay writes the output: work that went to another stream is not in the graph."""
    output = outputs if isinstance(outputs, torch.Tensor) else outputs[0]
    shared = {t.data_ptr() for t in inputs if isinstance(t, torch.Tensor)}
    if output.dtype not in (torch.float16, torch.bfloat16, torch.float32) or output.data_ptr() in shared:
        return
    output.fill_(float("nan"))
    graph.replay()
    if bool(output.isnan().all()):
        raise RuntimeError("the captured graph does not write the output")
