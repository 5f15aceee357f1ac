"""First calls of peers compile for seconds: they are made ahead, in many processes at a time.

Everything that compiles keeps its programs on disk, so that the measuring process only loads them. A process
here that fails costs nothing: the measuring process meets the same error and records it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import NamedTuple

__all__ = ["Unit", "batches", "main", "warm"]

LIMIT_SECONDS = 400
BATCHES_A_JOB = 2  # a process imports for as long as it compiles one program; more would end more evenly


class Unit(NamedTuple):
    """One case of an operator, by its number, which a peer serves."""

    op: str
    peer: str
    case: int


def batches(alone: Sequence[Unit], others: Sequence[Unit], jobs: int) -> list[list[Unit]]:
    """What each process calls: units that compile for long alone and first, the others dealt out."""
    dealt = [list(others[n :: BATCHES_A_JOB * jobs]) for n in range(BATCHES_A_JOB * jobs)]
    return [*([unit] for unit in alone), *filter(None, dealt)]


def warm(
    found: Sequence[Sequence[Unit]], flags: Sequence[str], jobs: int, say: Callable[[str], None]
) -> None:
    """Make the first calls of all batches, `jobs` processes at a time, in their order."""
    started = time.monotonic()
    say(f"compiling ahead for peers: {sum(map(len, found))} parts, {jobs} processes")
    with ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(_run, batch, flags): batch for batch in found}
        for n, future in enumerate(as_completed(running), 1):
            say(f"  ({n}/{len(found)}) {time.monotonic() - started:4.0f} s")
            for trouble in future.result():
                say(f"    {trouble}")


def _run(batch: Sequence[Unit], flags: Sequence[str]) -> list[str]:
    """What went wrong in the process of a batch."""
    command = [sys.executable, "-m", "tileops.bench.warm", json.dumps(batch), *flags]
    what = ", ".join(dict.fromkeys(f"{unit.op} {unit.peer}" for unit in batch))
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return [f"not ready after {LIMIT_SECONDS} s: {what}"]
    told = done.stdout.splitlines()
    if done.returncode not in (0, 1):
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        told.append(f"exit code {done.returncode}: {last[:200]}; of {what}")
    return told


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
