"""First calls compile for seconds: they are made ahead, each operator and library in a process of its own.

Everything that compiles keeps its programs on disk, so that the measuring process only loads them. A process
here that fails costs nothing: the measuring process meets the same error and records it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from tileops.bench.results import OURS

__all__ = ["main", "warm"]

LIMIT_SECONDS = 400


def warm(
    units: Iterable[tuple[str, str]], flags: Sequence[str], jobs: int, say: Callable[[str], None]
) -> None:
    """Make the first calls of (operator, implementation) pairs, `jobs` at a time."""
    wanted = list(units)
    started = time.monotonic()
    say(f"compiling ahead: {len(wanted)} combinations of operator and library, {jobs} at a time")
    with ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(_run, op, name, flags): (op, name) for op, name in wanted}
        for n, future in enumerate(as_completed(running), 1):
            op, name = running[future]
            trouble = future.result()
            took = f"{time.monotonic() - started:4.0f} s"
            say(f"  ({n}/{len(wanted)}) {took}  {op} {name}{trouble and ': ' + trouble}")


def _run(op: str, name: str, flags: Sequence[str]) -> str:
    command = [sys.executable, "-m", "tileops.bench.warm", op, name, *flags]
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
    options = parser.parse_args(arguments)
    import torch

    from tileops.bench import inputs
    from tileops.bench.peer import Call, Unserved, peers
    from tileops.bench.plan import cases, operator
    from tileops.spec import load
    from tileops.testing import make_meta

    spec = load(options.op)
    target = "cpu" if options.device == "cpu" else "hopper"
    for case in cases(spec, target, small=options.cases, limit=options.rows):
        if options.name == OURS:
            operator(spec)(**case.params, target=target).build(*make_meta(spec, case.bound))
            continue
        first = inputs.make(case, options.device)
        call = Call(case.params, dict(zip(spec.inputs, first, strict=True)))
        try:
            with torch.no_grad():
                peers()[options.name].ops[options.op].make(call)(*first)
        except Unserved:
            continue
    return 0


if __name__ == "__main__":
    sys.exit(main())
