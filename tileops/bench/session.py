"""All cases, one after the other: what is measured is left, and every row is on disk before the next."""

from __future__ import annotations

import datetime
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tileops.bench.measure import Settings, measure
from tileops.bench.peer import Peer
from tileops.bench.plan import Case
from tileops.bench.results import OURS, Results, derive, problems, shorten
from tileops.provenance import kernel_hash

__all__ = ["Session", "line", "now", "remaining"]

LATEST = 9  # cases whose times tell how long the others take


@dataclass
class Session:
    """A run over operators.

    Attributes:
        cases: Calls by operator.
        results: Results files by operator.
        peers: What is there to compare with.
        facts: What the run says of itself; ceilings are in it.
        settings: How to measure.
        say: Where lines for the terminal go.
        since: With a time, rows measured before it are measured again.
        deadline: When to begin no further case, on the monotonic clock.
    """

    cases: Mapping[str, Sequence[Case]]
    results: Mapping[str, Results]
    peers: Sequence[Peer]
    facts: dict[str, Any]
    settings: Settings
    say: Callable[[str], None]
    since: str | None = None
    deadline: float | None = None

    def run(self) -> bool:
        """Measure what is not measured. Whether everything was: `False` when the time was up."""
        todo = self.todo()
        if not todo:
            self.say("everything is measured; --again measures it again")
        taken: list[float] = []
        for n, case in enumerate(todo):
            if self.deadline is not None and time.monotonic() > self.deadline:
                self.say(f"the time is up: {len(todo) - n} cases are left; the same command continues")
                return False
            started = time.monotonic()
            row = measure(case, self.peers, self.settings)
            self.store(case, row)
            taken.append(time.monotonic() - started)
            left = remaining(taken, len(todo) - n - 1)
            self.say(f"[{n + 1}/{len(todo)}] {line(case.spec.name, row)}   {left} left")
            self._report(row)
        return True

    def todo(self) -> list[Case]:
        """Cases without a row that still holds."""
        return [case for found in self.cases.values() for case in found if not self._done(case)]

    def store(self, case: Case, row: dict[str, Any]) -> None:
        """Put a row into its file, with what follows from its times."""
        results = self.results[case.spec.name]
        row["measured"] = now()
        row["run"] = results.add_run(self.facts)
        derive(row, self.facts)
        shorten(row)
        results.put(row, [c.key for c in self.cases_of(case.spec.name)])

    def cases_of(self, op: str) -> list[Case]:
        """The calls that a results file of this operator may hold."""
        return list(self.cases[op])

    def _done(self, case: Case) -> bool:
        results = self.results[case.spec.name]
        row = results.row(case.key)
        if row is None or "error" in row or (self.since and row.get("measured", "") < self.since):
            return False
        run = results.data["runs"][row["run"]]
        same = (row["flops"], row["bytes"]) == (case.cost.flops, case.cost.bytes)
        wanted = {peer.name for peer in self.peers if case.spec.name in peer.ops} | {OURS}
        current = row["kernel_hash"] == kernel_hash(case.spec.name)
        return same and current and wanted <= set(row["times"]) and run["device"] == self.facts["device"]

    def _report(self, row: dict[str, Any]) -> None:
        for problem in problems(row):
            self.say(f"    {problem}")


def now() -> str:
    """The time, as rows keep it."""
    return datetime.datetime.now(tz=datetime.UTC).isoformat(timespec="seconds")


def line(op: str, row: dict[str, Any]) -> str:
    """A row for the terminal."""
    parts = [f"{op:<24}"[: max(24, len(op))], row["label"], "/".join(dict.fromkeys(row["dtypes"].values()))]
    if OURS not in row["times"] or "us" not in row["times"][OURS]:
        return "  ".join([*parts, "FAILED"])
    parts.append(f"{row['times'][OURS]['us']:.4g} µs")
    parts.append(f"{row['rate']:.3g} {row['unit']}")
    if "share" in row:
        parts.append(f"{100 * row['share']:.0f} %")
    if "ratio" in row:
        parts.append(f"{row['ratio']:.2f}x {row['strongest']}")
    return "  ".join(parts)


def remaining(taken: Sequence[float], cases: int) -> str:
    """How long so many cases take if they are like the latest ones: the first ones of a run compile."""
    seconds = statistics.median(taken[-LATEST:]) * cases
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
