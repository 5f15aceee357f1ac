"""First calls compile for seconds: they are made ahead, in many processes at a time.

Everything that compiles keeps its programs on disk, so that the measuring process only loads them. A process
here that fails costs nothing: the measuring process meets the same error and records it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import NamedTuple

from tileops.bench.results import OURS

__all__ = ["Unit", "main", "parts", "warm"]

LIMIT_SECONDS = 400


class Unit(NamedTuple):
    """What one process calls first: cases `start` to `stop` of an operator, through one implementation."""

    op: str
    name: str
    start: int
    stop: int


def parts(op: str, name: str, count: int, size: int = 4) -> list[Unit]:
    """The units of an operator's cases, `size` cases each."""
    return [Unit(op, name, start, min(start + size, count)) for start in range(0, count, size)]


def warm(units: Sequence[Unit], flags: Sequence[str], jobs: int, say: Callable[[str], None]) -> None:
    """Make the first calls of all units, `jobs` processes at a time, in their order."""
    started = time.monotonic()
    say(f"compiling ahead: {len(units)} parts, {jobs} at a time")
    with ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(_run, unit, flags): unit for unit in units}
        for n, future in enumerate(as_completed(running), 1):
            unit, trouble = running[future], future.result()
            took = f"{time.monotonic() - started:4.0f} s"
            say(f"  ({n}/{len(units)}) {took}  {unit.op} {unit.name}{trouble and ': ' + trouble}")


def _run(unit: Unit, flags: Sequence[str]) -> str:
    numbers = ["--start", str(unit.start), "--stop", str(unit.stop)]
    command = [sys.executable, "-m", "tileops.bench.warm", unit.op, unit.name, *numbers, *flags]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"not ready after {LIMIT_SECONDS} s"
    lines = done.stderr.strip().splitlines()
    return "" if done.returncode == 0 else (lines[-1][:200] if lines else f"exit code {done.returncode}")


def main(arguments: Sequence[str] | None = None) -> int:
    """One process: call every case of an operator once through one implementation."""
    parser = argparse.ArgumentParser(prog="python -m tileops.bench.warm", description=__doc__)
    parser.add_argument("op")
    parser.add_argument("name", help="the implementation")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--cases", action="store_true")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--stop", type=int)
    options = parser.parse_args(arguments)
    import torch

    from tileops.bench import inputs
    from tileops.bench.peer import Call, Unserved, peers
    from tileops.bench.plan import cases
    from tileops.spec import load
    from tileops.testing import bound_operator, make_meta

    spec = load(options.op)
    target = "cpu" if options.device == "cpu" else "hopper"
    chosen = cases(spec, target, small=options.cases, limit=options.rows)
    for case in chosen[options.start : options.stop]:
        if options.name == OURS:
            bound_operator(spec, case.params, device="meta", target=target).build(
                *make_meta(spec, case.bound)
            )
            continue
        first = inputs.make(case, options.device)
        call = Call(case.params, dict(zip(spec.inputs, first, strict=True)), options.device)
        try:
            with torch.no_grad():
                peers()[options.name].ops[options.op].make(call)(*first)
        except Unserved:
            continue
    return 0


if __name__ == "__main__":
    sys.exit(main())
