"""The measuring process: everything between the command line and the cases."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tileops.bench import ceilings, machine, other
from tileops.bench.forward import forward_key
from tileops.bench.measure import DeviceLost, Settings
from tileops.bench.peer import Peer, peers
from tileops.bench.plan import Case, cases
from tileops.bench.results import Results, derive, problems, shorten
from tileops.bench.session import Session, line, now
from tileops.bench.warm import Unit, batches, warm
from tileops.cache import build_keys
from tileops.runner import make_key
from tileops.spec import OpSpec

__all__ = ["DEVICE_LOST", "Journal", "work"]

DEVICE_LOST = 75
WARM_JOBS = 12
AHEAD_SHARE = 1 / 3  # of the minutes, from the beginning; the rest is for measuring


class Journal:
    """What the measuring process does now, for the process that watches it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.state: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        self.state["started"] = self.state["started"] or now()
        self._write()

    @property
    def blamed(self) -> list[tuple[str, str, str]]:
        """(operator, key, implementation) of what ended earlier processes."""
        return [(op, key, name) for op, key, name in self.state["blamed"]]

    def note(self, *current: str) -> None:
        """Say what runs now; nothing for "between cases"."""
        self.state["current"] = list(current) or None
        self._write()

    def _write(self) -> None:
        self.path.write_text(json.dumps(self.state), encoding="utf-8")


def work(options: argparse.Namespace, specs: Sequence[OpSpec], say: Callable[[str], None]) -> int:
    """Measure; returns the exit code."""
    journal = Journal(options.journal)
    device = options.device
    small = options.cases or device == "cpu"
    target = "cpu" if device == "cpu" else "hopper"
    out = options.out or Path(machine.folder_name(device))
    every = {spec.name: cases(spec, target, small=small) for spec in specs}
    chosen = {name: found[: options.rows] for name, found in every.items()}
    files = {spec.name: Results(out, spec.name, spec.family) for spec in specs}
    present, missing = _peers(options, device)
    settings = Settings(
        device,
        options.rounds or (4 if options.quick else 12),
        2e-4 if options.quick else 1e-3,
        journal.blamed,
        journal.note,
    )
    facts = machine.facts(device, present) | {"missing": missing, "rounds": settings.rounds, "ceilings": {}}
    session = _Session(chosen, files, present, facts, settings, say, every=every)
    session.since = journal.state["started"] if options.again else None
    begin = journal.state["began"]
    session.deadline = options.minutes and time.monotonic() + 60 * options.minutes - (time.time() - begin)
    for name, reason in missing.items():
        say(f"missing: {name} ({reason})")
    try:
        complete = _all(session, options, small, journal, say)
    except DeviceLost as error:
        say(f"the device is lost to this process: {error}")
        os._exit(DEVICE_LOST)  # a normal end would wait for the device
    except KeyboardInterrupt:
        return 130
    return _end(session, out, complete, say)


def _all(
    session: _Session, options: argparse.Namespace, small: bool, journal: Journal, say: Callable[[str], None]
) -> bool:
    todo = session.todo()
    if todo:
        _compile_ahead(session, todo, options, small, say)
        say("measuring the ceilings")
        session.facts["ceilings"] = ceilings.measure(session.settings.device)
        shown = {name: round(value, 2) for name, value in session.facts["ceilings"].items() if value}
        say("  " + ", ".join(f"{name} {value:g}" for name, value in shown.items()))
    complete = session.run()
    journal.note()
    if complete and options.other_tileops is not None:
        return session.add_other(options.other_tileops)
    return complete


class _Session(Session):
    """A session that knows every call of its operators, and the other `tileops`."""

    def __init__(self, *arguments: Any, every: Mapping[str, Sequence[Case]]) -> None:
        super().__init__(*arguments)
        self.every = every

    def cases_of(self, op: str) -> list[Case]:
        return list(self.every[op])

    def add_other(self, folder: Path) -> bool:
        """Measure the other distribution for every row that lacks it; whether there was time for all."""
        todo = [case for found in self.cases.values() for case in found if self._lacks_other(case)]
        if not todo:
            return True
        self.say(f"{other.NAME}: {len(todo)} cases, in a process of its own")
        settings = self.settings
        found = other.measure(folder, todo, settings.device, settings.rounds, settings.seconds, self.say)
        for n, (case, times) in enumerate(found, 1):
            files = self.results[case.spec.name]
            row = files.row(case.key)
            assert row is not None
            row["times"][other.NAME] = times
            derive(row, files.data["runs"][row["run"]])
            shorten(row)
            files.put(row, [c.key for c in self.cases_of(case.spec.name)])
            told = f"{times['us']:.4g} µs" if "us" in times else times.get("failed") or times.get("unserved")
            self.say(f"[{n}/{len(todo)}] {line(case.spec.name, row)}   {other.NAME}: {told}")
            self._report({**row, "times": {other.NAME: times}})
            if n < len(todo) and self.deadline is not None and time.monotonic() > self.deadline:
                found.close()
                self.say(f"the time is up: {len(todo) - n} cases are left; the same command continues")
                return False
        return True

    def _lacks_other(self, case: Case) -> bool:
        row = self.results[case.spec.name].row(case.key)
        return (
            case.spec.name in other.CLASSES
            and row is not None
            and "us" not in row["times"].get(other.NAME, {})
        )


def _peers(options: argparse.Namespace, device: str) -> tuple[list[Peer], dict[str, str]]:
    """The peers that are there, and why the others are not."""
    wanted = list(peers().values())
    if options.peers is not None:
        wanted = [peer for peer in wanted if peer.name in options.peers.split(",")]
    missing = {peer.name: reason for peer in wanted if (reason := peer.missing(device))}
    return [peer for peer in wanted if peer.name not in missing], missing


def _compile_ahead(
    session: Session,
    todo: Sequence[Case],
    options: argparse.Namespace,
    small: bool,
    say: Callable[[str], None],
) -> None:
    jobs = options.jobs
    if jobs is None:
        jobs = 0 if options.device == "cpu" else min(WARM_JOBS, max(1, (os.cpu_count() or 2) - 2))
    if not jobs:
        return
    target = "cpu" if options.device == "cpu" else "hopper"
    say(f"compiling ahead: the programs of {len(todo)} cases")
    keys = {make_key(case.spec, case.chosen(target), case.facts, target): None for case in todo}
    keys |= {key: None for case in todo if (key := forward_key(case, target)) is not None}
    build_keys(list(keys), jobs)
    numbers = _numbers(session, todo)
    served = [
        (op, peer, peer.ops[op])
        for peer in session.peers
        for op in numbers
        if op in peer.ops and (peer.compiles or peer.ops[op].slow)
    ]
    slow = [Unit(op, peer.name, n) for op, peer, how in served if how.slow for n in numbers[op]]
    others = [Unit(op, peer.name, n) for op, peer, how in served if not how.slow for n in numbers[op]]
    flags = ["--device", options.device, *(["--cases"] if small else [])]
    left = None if session.deadline is None else session.deadline - time.monotonic()
    seconds = None if left is None else left - (1 - AHEAD_SHARE) * 60 * options.minutes
    warm(batches(slow, others, jobs), flags, jobs, say, seconds)


def _numbers(session: Session, todo: Sequence[Case]) -> dict[str, list[int]]:
    """By operator, which of its cases are to be measured.

    Those of the same dtypes are beside each other: libraries compile a module for each.
    """
    keys = {(case.spec.name, case.key) for case in todo}
    return {
        op: sorted(
            (n for n, case in enumerate(found) if (op, case.key) in keys), key=lambda n: found[n].dtypes
        )
        for op, found in session.cases.items()
    }


def _end(session: Session, out: Path, complete: bool, say: Callable[[str], None]) -> int:
    rows = [row for files in session.results.values() for row in files.data["rows"]]
    say(f"{len(rows)} rows in {out}; ceilings, times and errors are in the files")
    failed = []
    for op, files in session.results.items():
        for row in files.data["rows"]:
            where = f"{op}, {row['label']}, {'/'.join(dict.fromkeys(row['dtypes'].values()))}"
            failed += [f"{where}: {problem}" for problem in problems(row)]
    if failed:
        say("\n  ".join([f"{len(failed)} problem{'s' * (len(failed) > 1)}:", *failed]))
    return 1 if failed or not complete else 0
