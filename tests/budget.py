"""The suite's time budget, measured and enforced at the end of every complete run.

`make test` takes at most 25 minutes on two cores for 200 operators with nothing compiled beforehand. That is
3000 core-seconds: what does not grow with the operators, and 200 times what one of them costs now. Cost
is processor time of the test process and of the compilers that it starts, so that a busy machine does not
change the verdict.

What grows with the operators: the conformance suite, the tests of the kernels, the examples in docstrings and
on the API pages, and the tests of the site that name an operator. Their sum, divided by the number of
operators, is what an operator costs. Tests that `make test` leaves to a flag (`--slow`, `--nvcc`) do not
count. Nor does the gate that lowers programs for the H200: it passes what has run on one as it is now, so
what it takes is the price of the programs that have not, and is said apart.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest

WALL_MINUTES = 25
CORES = 2
OPERATORS = 200
CORE_SECONDS = 60.0 * WALL_MINUTES * CORES
MARGIN = 1.15  # processors differ, and so do two runs on one

OPERATOR = re.compile(r"(?<![A-Za-z0-9])[A-Z]\w*?(?:Fwd|Bwd)Op(?![A-Za-z0-9])")
GROWS = ("tests/conformance/", "tests/kernels/", "tileops/", "docs/api/")
GROWS_BY_NAME = ("tests/site/", "tests/bench/", "tests/spec/")
WAITS = "tests/conformance/test_gate.py"
FLAGGED = ("slow", "nvcc")
SHOWN_FILES = 6


def processor_seconds() -> float:
    """Processor time of this process and of the children it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def operator_of(nodeid: str) -> str | None:
    """The operator that a test's id names: "test_values[RMSNormFwdOp-0]"."""
    found = OPERATOR.search(nodeid)
    return found.group(0) if found else None


def grows(nodeid: str) -> bool:
    """Whether there are more such tests when there are more operators."""
    return nodeid.startswith(GROWS) or (nodeid.startswith(GROWS_BY_NAME) and operator_of(nodeid) is not None)


def implemented_operators() -> list[str]:
    """Names of the operators that the manifest calls implemented."""
    from tileops import spec

    return sorted(entry.name for entry in spec.all_specs().values() if entry.status == "implemented")


class Cost:
    """Core-seconds: by operator where a test names one, by file, and what does not grow."""

    def __init__(self) -> None:
        self.growing = 0.0
        self.fixed = 0.0
        self.flagged = 0.0
        self.waiting = 0.0
        self.operators: Counter[str] = Counter()
        self.files: Counter[str] = Counter()

    def add(self, nodeid: str, seconds: float, flagged: bool = False) -> None:
        """What a test took; the id is empty for what belongs to no test."""
        self.files[nodeid.split("::")[0] or "collection and imports"] += seconds
        if flagged:
            self.flagged += seconds
            return
        if nodeid.startswith(WAITS):
            self.waiting += seconds
            return
        if not grows(nodeid):
            self.fixed += seconds
            return
        self.growing += seconds
        self.operators[operator_of(nodeid) or "tests that name none"] += seconds

    def to_dict(self) -> dict[str, Any]:
        """For the channel between processes."""
        return {**vars(self), "operators": dict(self.operators), "files": dict(self.files)}

    def merge(self, other: dict[str, Any]) -> None:
        """Adds what another process measured."""
        self.growing += other["growing"]
        self.fixed += other["fixed"]
        self.flagged += other["flagged"]
        self.waiting += other["waiting"]
        self.operators.update(other["operators"])
        self.files.update(other["files"])


def listed(costs: Counter[str], count: int) -> str:
    """The highest few: "a 3.0, b 1.5"."""
    return ", ".join(f"{name} {seconds:.1f}" for name, seconds in costs.most_common(count))


def verdict(cost: Cost, operators: list[str]) -> tuple[list[str], bool]:
    """Lines of the summary, and whether the run is within the budget."""
    each = cost.growing / len(operators) if operators else 0.0
    total = cost.fixed + OPERATORS * each
    lines = [
        f"{total:.0f} of {CORE_SECONDS:.0f} core-seconds for {OPERATORS} operators at the cost of these",
        f"{each:.1f} core-seconds an operator ({len(operators)})",
        f"{cost.fixed:.1f} core-seconds for the rest of the suite",
        f"{cost.flagged:.1f} core-seconds behind a flag",
        f"{cost.waiting:.1f} core-seconds for programs that have not run on an H200 as they are",
        f"most by operator: {listed(cost.operators, 3)}",
        f"most by file: {listed(cost.files, SHOWN_FILES)}",
    ]
    return lines, total <= MARGIN * CORE_SECONDS and bool(operators)


def is_complete(config: pytest.Config) -> bool:
    """Whether this run is the whole suite as a commit runs it: nothing chosen, nothing added."""
    chosen = config.args_source is not pytest.Config.ArgsSource.TESTPATHS
    options = ("keyword", "markexpr", "lf", "failedfirst", "deselect", "collectonly", "all_rows", "maxfail")
    return not chosen and not any(config.getoption(name, default=None) for name in options)


class Budget:
    """Adds up the cost of each test; with xdist each worker measures and the controller adds."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.is_worker = hasattr(config, "workerinput")
        self.cost = Cost()
        self.lines: list[str] = []
        self.last = processor_seconds()

    def charge(self, nodeid: str, flagged: bool = False) -> None:
        """What was spent since the last charge goes to a test, or to none."""
        now = processor_seconds()
        self.cost.add(nodeid, now - self.last, flagged)
        self.last = now

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.charge("")  # collection, imports and xdist's own work
        result = yield
        self.charge(item.nodeid, any(item.get_closest_marker(mark) for mark in FLAGGED))
        return result

    @pytest.hookimpl(optionalhook=True)  # without xdist it is unknown
    def pytest_testnodedown(self, node: object) -> None:
        """Takes over what a worker measured (a hook of xdist)."""
        output = getattr(node, "workeroutput", None) or {}
        if "tileops_cost" in output:
            self.cost.merge(output["tileops_cost"])

    # First, since xdist then waits for its workers, and their time would be counted twice.
    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.charge("")
        if self.is_worker:
            self.config.workeroutput["tileops_cost"] = self.cost.to_dict()  # type: ignore[attr-defined]
            return
        complete = is_complete(self.config)
        if not complete and not self.config.getoption("--costs"):
            return
        seen = sorted(name for name in self.cost.operators if operator_of(name))
        self.lines, within = verdict(self.cost, implemented_operators() if complete else seen)
        if within or not complete:
            return
        self.lines.append("OVER THE BUDGET: see tests/budget.py")
        if session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.lines:
            return
        terminalreporter.section("time budget")
        for line in self.lines:
            terminalreporter.line(line)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Budget(config), "tileops-budget")
