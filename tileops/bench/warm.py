"""First calls of peers compile for seconds: they are made ahead, in many processes at a time.

Everything that compiles keeps its programs on disk, so that the measuring process only loads them. A process
here that fails costs nothing: the measuring process meets the same error and records it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import NamedTuple

__all__ = ["Unit", "batches", "main", "warm"]

LIMIT_SECONDS = 400
POLL_SECONDS = 0.5
SLOW_TOGETHER = 4  # a process imports for as long as it needs for one that others have compiled
BATCHES_A_JOB = 2  # a process imports for as long as it compiles one program; more would end more evenly


class Unit(NamedTuple):
    """One case of an operator, by its number, which a peer serves."""

    op: str
    peer: str
    case: int


def batches(slow: Sequence[Unit], others: Sequence[Unit], jobs: int) -> list[list[Unit]]:
    """What each process calls: first units that compile for long, a few of one operator and peer together.

    They need the same modules, which a library compiles once; processes at the same time would wait for it.
    """
    alike: dict[tuple[str, str], list[Unit]] = {}
    for unit in slow:
        alike.setdefault((unit.op, unit.peer), []).append(unit)
    longest = max(map(len, alike.values()), default=0)
    together = [
        some[n : n + SLOW_TOGETHER] for n in range(0, longest, SLOW_TOGETHER) for some in alike.values()
    ]
    dealt = [list(others[n :: BATCHES_A_JOB * jobs]) for n in range(BATCHES_A_JOB * jobs)]
    return [*filter(None, together), *filter(None, dealt)]


def warm(
    found: Sequence[Sequence[Unit]],
    flags: Sequence[str],
    jobs: int,
    say: Callable[[str], None],
    seconds: float | None = None,
) -> None:
    """Make the first calls of all batches, `jobs` processes at a time, in their order.

    After `seconds` it stops: what is not ready is compiled when it is measured.
    """
    started = time.monotonic()
    limit = "" if seconds is None else f", at most {max(seconds, 0):.0f} s"
    say(f"compiling ahead for peers: {sum(map(len, found))} parts, {jobs} processes{limit}")
    stop = _Stop(None if seconds is None else started + seconds)
    with ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(_run, batch, flags, stop): batch for batch in found}
        try:
            for n, future in enumerate(as_completed(running), 1):
                ready, told = future.result()
                if ready:
                    say(f"  ({n}/{len(found)}) {time.monotonic() - started:4.0f} s")
                for trouble in told:
                    say(f"    {trouble}")
        except BaseException:
            stop.now = True
            raise
    left = sum(len(batch) for future, batch in running.items() if not future.result()[0])
    if left:
        say(f"  the time for it is up: up to {left} parts are compiled when they are measured")


class _Stop:
    """When processes end, whether they are ready or not."""

    def __init__(self, end: float | None) -> None:
        self.end, self.now = end, False

    def __bool__(self) -> bool:
        return self.now or (self.end is not None and time.monotonic() >= self.end)


def _run(batch: Sequence[Unit], flags: Sequence[str], stop: _Stop) -> tuple[bool, list[str]]:
    """Whether the process of a batch came to its end, and what went wrong in it."""
    if stop:
        return False, []
    command = [sys.executable, "-m", "tileops.bench.warm", json.dumps(batch), *flags]
    what = ", ".join(dict.fromkeys(f"{unit.op} {unit.peer}" for unit in batch))
    late = time.monotonic() + LIMIT_SECONDS
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        while True:
            try:
                out, err = process.communicate(timeout=POLL_SECONDS)
                break
            except subprocess.TimeoutExpired:
                if stop or time.monotonic() >= late:
                    os.killpg(process.pid, signal.SIGKILL)  # with the compilers that it started
                    process.communicate()
                    return (False, []) if stop else (True, [f"not ready after {LIMIT_SECONDS} s: {what}"])
    told = out.splitlines()
    if process.returncode not in (0, 1):
        last = (err.strip().splitlines() or ["no message"])[-1]
        told.append(f"exit code {process.returncode}: {last[:200]}; of {what}")
    return True, told


def main(arguments: Sequence[str] | None = None) -> int:
    """One process: let peers serve every case of a batch once; says which of them failed."""
    parser = argparse.ArgumentParser(prog="python -m tileops.bench.warm", description=__doc__)
    parser.add_argument("batch", type=json.loads, help="a JSON list of [operator, peer, number of the case]")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--cases", action="store_true")
    options = parser.parse_args(arguments)
    failed = 0
    for unit in map(Unit._make, options.batch):
        try:
            first_call(unit, options.device, options.cases)
        except Exception as error:  # noqa: BLE001  a library may fail in any way; the next unit has its turn
            failed = 1
            reason = (str(error).splitlines() or [""])[0][:200]
            sys.stdout.write(f"{unit.op} {unit.peer}: {type(error).__name__}: {reason}\n")
    return failed


def first_call(unit: Unit, device: str, small: bool) -> None:
    """Let the peer serve the case of the unit once."""
    import torch

    from tileops.bench import inputs
    from tileops.bench.peer import Call, Unserved, peers
    from tileops.bench.plan import cases
    from tileops.spec import load

    spec, peer = load(unit.op), peers()[unit.peer]
    case = cases(spec, "cpu" if device == "cpu" else "hopper", small=small)[unit.case]
    first = inputs.make(case, device)
    call = Call(case.params, dict(zip(spec.inputs, first, strict=True)), device)
    with contextlib.suppress(Unserved), torch.no_grad():
        peer.ops[unit.op].make(call)(*first)
    if device == "cuda":
        torch.cuda.empty_cache()  # other processes need the memory while this one goes on


if __name__ == "__main__":
    sys.exit(main())
