"""The command line: what to measure, where results go, and a process that outlives a library's crash.

Exit code 0: all measured; 1: something failed, is wrong or faster than light, or the time was up; 2: the
command line, the machine or a results file cannot be used, and nothing was measured.
"""

from __future__ import annotations

import argparse
import difflib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tileops.bench import results
from tileops.spec import OpSpec, all_specs, families

__all__ = ["main"]

RESTARTS = 5


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = _parser()
    options = parser.parse_args(given)
    specs = _chosen(parser, options)
    _check_numbers(parser, options)
    if options.journal is not None:
        from tileops.bench.worker import work

        return work(options, specs, say)
    if (code := _unusable(parser, options, specs)) is not None:
        return code
    with tempfile.TemporaryDirectory(prefix="tileops-bench-") as folder:
        return supervise([sys.executable, "-m", "tileops.bench", *given], Path(folder, "journal.json"))


def say(text: str) -> None:
    """A line on the terminal, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tileops.bench",
        description="Measure operators on this machine beside other libraries.",
    )
    what = parser.add_argument_group("what to measure (default: every implemented operator)")
    what.add_argument("--op", nargs="+", action="extend", default=[], metavar="NAME", help="class names")
    what.add_argument("--family", nargs="+", action="extend", default=[], metavar="NAME")
    what.add_argument("--rows", type=int, metavar="N", help="only the first N rows of each operator")
    what.add_argument("--cases", action="store_true", help="the tests' small cases instead of the workloads")
    what.add_argument("--again", action="store_true", help="also what is measured already")
    how = parser.add_argument_group("how")
    how.add_argument(
        "--device", choices=("cuda", "cpu"), default="cuda", help="cpu tries the harness on small cases"
    )
    how.add_argument("--peers", metavar="A,B", help="only these of: see --list; `none` for none")
    how.add_argument("--rounds", type=int, metavar="N", help="rounds of measurements (default: 12)")
    how.add_argument("--quick", action="store_true", help="4 short rounds, to see that everything works")
    how.add_argument(
        "--minutes",
        type=float,
        metavar="M",
        help="begin no case after this time, and compile ahead for peers for a third of it",
    )
    how.add_argument(
        "--jobs", type=int, metavar="N", help="processes that compile ahead (default: 12; cpu: 0)"
    )
    how.add_argument(
        "--other-tileops",
        type=Path,
        metavar="FOLDER",
        help="also the distribution tileops 0.1.0, unpacked there",
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="results (default: bench/<device>)")
    parser.add_argument("--list", action="store_true", help="show operators, rows and peers; measure nothing")
    parser.add_argument("--journal", type=Path, help=argparse.SUPPRESS)
    return parser


def _chosen(parser: argparse.ArgumentParser, options: argparse.Namespace) -> list[OpSpec]:
    """The specs to measure; a wrong name ends the command with exit code 2."""
    known = all_specs()
    for name in options.op:
        _require_known(parser, "operator", name, list(known))
        if not known[name].implemented:
            parser.error(f"{name} is specified and not yet implemented: there is nothing to measure")
    for name in options.family:
        _require_known(parser, "family", name, list(families()))
    everything = not options.op and not options.family
    found = [
        spec
        for spec in known.values()
        if spec.implemented and (everything or spec.name in options.op or spec.family in options.family)
    ]
    if not found:
        parser.error(
            f"no operator of {', '.join(options.family)} is implemented: there is nothing to measure"
        )
    return found


def _require_known(parser: argparse.ArgumentParser, kind: str, name: str, known: list[str]) -> None:
    if name in known:
        return
    folded = {one.lower(): one for one in known}
    near = [folded[one] for one in difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.5)]
    parser.error(
        f"there is no {kind} {name!r}; "
        + (f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}")
    )


def _check_numbers(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    for name, least in (("rows", 1), ("rounds", 1), ("jobs", 0)):
        value = getattr(options, name)
        if value is not None and value < least:
            parser.error(f"--{name} must be at least {least}, got {value}")
    if options.minutes is not None and options.minutes <= 0:
        parser.error(f"--minutes must be positive, got {options.minutes:g}")


def _unusable(
    parser: argparse.ArgumentParser, options: argparse.Namespace, specs: list[OpSpec]
) -> int | None:
    """Exit code 2 with the reason where nothing can be measured; 0 where only a list was asked for."""
    from tileops.bench import machine, other
    from tileops.bench.peer import peers

    if options.peers not in (None, "none"):
        for name in options.peers.split(","):
            _require_known(parser, "peer", name, list(peers()))
    if options.list:
        _list(options, specs)
        return 0
    reason = machine.unavailable(options.device)
    if reason is None and options.other_tileops is not None:
        reason = other.unusable(options.other_tileops)
    if reason is not None:
        parser.error(f"cannot measure here: {reason}")
    try:
        out = options.out or Path(machine.folder_name(options.device))
        for spec in specs:
            results.Results(out, spec.name, spec.family)
    except results.ResultsError as error:
        parser.error(str(error))
    return None


def _list(options: argparse.Namespace, specs: list[OpSpec]) -> None:
    from tileops.bench.peer import peers
    from tileops.bench.plan import cases

    target = "cpu" if options.device == "cpu" else "hopper"
    for spec in specs:
        say(spec.name)
        found = cases(spec, target, small=options.cases or options.device == "cpu", limit=options.rows)
        for case in found:
            say(f"  {case.label}: {case.sizes}, {case.dtypes}")
    for peer in peers().values():
        missing = peer.missing(options.device)
        say(f"{peer.name}: {', '.join(peer.ops)}{f' (missing: {missing})' if missing else ''}")


def supervise(command: list[str], journal: Path) -> int:
    """Run the measuring process, and again after each crash, without what was running then.

    The process writes what it does to the journal before it does it.
    """
    state: dict[str, Any] = {"blamed": [], "current": None, "started": None, "began": time.time()}
    for _ in range(RESTARTS):
        journal.write_text(json.dumps(state), encoding="utf-8")
        try:
            code = subprocess.run([*command, "--journal", str(journal)], check=False).returncode
        except KeyboardInterrupt:
            say("stopped; what is measured is kept, and the same command continues")
            return 130
        if code in (0, 1, 2, 130):
            return 1 if code == 0 and state["blamed"] else code
        state = json.loads(journal.read_text(encoding="utf-8"))
        if state["current"] is None:
            say(f"the measuring process ended with code {code} outside of a case; what is measured is kept")
            return 1
        op, key, name = state["current"]
        say(f"{name} ended the measuring process with code {code}: {op}, {key}. Going on without it there")
        state["blamed"].append(state["current"])
        state["current"] = None
    say(f"the measuring process ended {RESTARTS} times; what is measured is kept")
    return 1
