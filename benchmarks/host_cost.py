"""What a call costs the host: the call minus the bare launch of its kernel with outputs already allocated.

    python benchmarks/host_cost.py [--json FILE] [--op NAME ...] [--target NAME] [--rounds N]

Both are timed over the same tensors, in turn, over one length and over a thousand changing lengths, for
warmed operators on every target of this machine. Figures are processor time of the calling thread, so that
other work on the machine changes little, and medians over rounds. On a GPU the queue never fills; on a CPU,
where a kernel runs inside its launch and takes longer than what is measured, the overhead is that of calls
with an empty launch. The target is at most 5 us and 1 us for each tensor; exit code 1 where it is missed.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

import tileops
from tileops import targets
from tileops.op import Op
from tileops.runner import build

LENGTHS = 1000
QUEUE = 250  # calls between synchronizations; a GPU's queue holds 1024
WIDTH = 8  # of a row: small, since the kernel's own time on a CPU is in both figures
BASE, PER_TENSOR = 5.0, 1.0  # the target, in us
DEVICES = ("cpu", "cpu"), ("cuda", "hopper")

Tensors = tuple[torch.Tensor, ...]
Call = tuple[Callable[..., Any], tuple[Any, ...]]
Case = tuple[Callable[..., Any], Callable[[int], Tensors]]


class Result(NamedTuple):
    """Medians in us, `overhead` of the differences of rounds. PyTorch's own operators have no bare launch."""

    target: str
    operator: str
    lengths: int
    tensors: int
    call: float
    launch: float | None = None
    overhead: float | None = None

    @property
    def limit(self) -> float:
        return BASE + PER_TENSOR * self.tensors

    @property
    def met(self) -> bool:
        return self.overhead is None or self.overhead <= self.limit


def cases(device: str) -> dict[str, Case]:
    """Each operator with the inputs of a call of some length."""

    def made(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, device=device).bfloat16()

    row, matrix = made(WIDTH), made(WIDTH, WIDTH)
    return {
        "RMSNormFwdOp": (tileops.RMSNormFwdOp(normalized_shape=(WIDTH,)), lambda m: (made(m, WIDTH), row)),
        "LayerNormFwdOp": (
            tileops.LayerNormFwdOp(normalized_shape=(WIDTH,)),
            lambda m: (made(m, WIDTH), row, row),
        ),
        "FusedAddRMSNormFwdOp": (
            tileops.FusedAddRMSNormFwdOp(),
            lambda m: (made(m, WIDTH), made(m, WIDTH), row),
        ),
        "SoftmaxFwdOp": (tileops.SoftmaxFwdOp(dim=-1), lambda m: (made(2, m),)),
        "GemmFwdOp": (tileops.GemmFwdOp(), lambda m: (made(m, WIDTH), matrix)),
        "GroupedQueryAttentionDenseFwdOp": (
            tileops.GroupedQueryAttentionDenseFwdOp(is_causal=True),
            lambda m: (made(1, 1, 2, 64), made(1, m, 1, 64), made(1, m, 1, 64)),
        ),
        "F.rms_norm": (
            lambda x, weight: F.rms_norm(x, (WIDTH,), weight, 1e-6),
            lambda m: (made(m, WIDTH), row),
        ),
        "x + x": (torch.add, lambda m: (made(m, WIDTH),) * 2),
    }


def bare_launch(op: Op, tensors: Tensors) -> Call:
    """The kernel's launch function and its arguments, with outputs already allocated."""
    inputs = (*tensors, *[None] * (len(op.spec.inputs) - len(tensors)))
    result = op(*tensors)
    outputs = result if isinstance(result, tuple) else (result,)
    key = op.explain(*tensors).key
    assert key is not None
    entry = build(op.spec, key)
    names = op._facts(tensors, {})["names"]
    scalars = (names[scalar] for scalar in op.spec.implementations[key.implementation].scalars)
    return entry.launch, (entry.run, *inputs, *outputs, *scalars)


def nothing(*arguments: Any) -> None:
    """A launch that does nothing."""


@contextmanager
def empty_launches(op: Op) -> Iterator[None]:
    """Calls of the operator do all but launch."""
    kernels = op._runner.kernels
    before = dict(kernels)
    kernels.update({key: entry._replace(launch=nothing) for key, entry in before.items()})
    yield
    kernels.update(before)


def timed(device: str, calls: Sequence[Call]) -> float:
    """Time of these calls in us, begun with an empty queue."""
    if device == "cuda":
        torch.cuda.synchronize()
    started = time.thread_time()
    for function, arguments in calls:
        function(*arguments)
    return (time.thread_time() - started) * 1e6


def measure(device: str, rounds: int, columns: Sequence[Sequence[Call]]) -> list[list[float]]:
    """For each column of calls the us a call in every round. Columns take turns: noise meets all alike."""
    count = len(columns[0])
    out: list[list[float]] = [[] for _ in columns]
    for n in range(rounds + 1):
        spent = [0.0] * len(columns)
        for start in range(0, count, QUEUE):
            for i, column in enumerate(columns):
                spent[i] += timed(device, column[start : start + QUEUE])
        for total, one in zip(out, spent, strict=True):
            total += [one / count] if n else []  # the first round warms
    return out


def results(device: str, chosen: Sequence[str], rounds: int) -> Iterator[Result]:
    target = "hopper" if device == "cuda" else "cpu"
    for name, (function, make) in cases(device).items():
        if name in tileops.__all__ and name not in chosen:
            continue
        for lengths in (1, LENGTHS):
            made = [make(m) for m in range(1, LENGTHS + 1)] if lengths > 1 else [make(16)] * LENGTHS
            calls: list[Call] = [(function, tensors) for tensors in made]
            if not isinstance(function, Op):
                (call,) = measure(device, rounds, [calls])
                yield Result(target, name, lengths, len(made[0]) + 1, statistics.median(call))
                continue
            launches = [bare_launch(function, tensors) for tensors in made]
            call, launch = measure(device, rounds, [calls, launches])
            whole, bare = call, launch
            if device == "cpu":
                with empty_launches(function):
                    empty: list[Call] = [(nothing, arguments) for _, arguments in launches]
                    whole, bare = measure(device, rounds, [calls, empty])
            yield Result(
                target=target,
                operator=name,
                lengths=lengths,
                tensors=len(made[0]) + len(function.spec.outputs),
                call=statistics.median(call),
                launch=statistics.median(launch),
                overhead=statistics.median(a - b for a, b in zip(whole, bare, strict=True)),
            )


HEAD = f"{'target':<8}{'operator':<33}{'lengths':>7}{'call':>9}{'launch':>9}{'overhead':>10}{'target':>8}"


def line(result: Result) -> str:
    text = f"{result.target:<8}{result.operator:<33}{result.lengths:>7}{result.call:>9.2f}"
    if result.overhead is None or result.launch is None:
        return text
    verdict = "met" if result.met else "MISSED"
    return f"{text}{result.launch:>9.2f}{result.overhead:>10.2f}{result.limit:>8.0f}  {verdict}"


def machine() -> dict[str, str]:
    return {
        "date": time.strftime("%Y-%m-%d"),
        "cpu": platform.processor() or platform.machine(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "tileops": tileops.__version__,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    operators = [name for name in cases("cpu") if name in tileops.__all__]
    parser = argparse.ArgumentParser(description="Host cost of a call, in us.")
    parser.add_argument("--op", nargs="+", choices=operators, default=operators, metavar="NAME")
    parser.add_argument("--target", choices=targets.names, help="default: every target of this machine")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    wanted = [options.target] if options.target else targets.names
    missing = {target: targets.get(target).unavailable() for target in wanted}
    devices = [device for device, target in DEVICES if target in wanted and missing[target] is None]
    if not devices:
        parser.error(
            "; ".join(f"the target {target} cannot run here: {why}" for target, why in missing.items())
        )
    print(HEAD)
    found = []
    gc.collect()
    gc.disable()
    try:
        for device in devices:
            for result in results(device, options.op, options.rounds):
                found.append(result)
                print(line(result), flush=True)
    finally:
        gc.enable()
    missed = sum(not result.met for result in found)
    verdict = f"missed {missed} times" if missed else "met by all"
    print(f"at most {BASE:g} us + {PER_TENSOR:g} us a tensor: {verdict}")
    if options.json:
        figures = [{**result._asdict(), "limit": result.limit, "met": result.met} for result in found]
        options.json.write_text(json.dumps({"machine": machine(), "us": figures}, indent=2) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
