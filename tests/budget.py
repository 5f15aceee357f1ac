"""The suite's time budget, measured and enforced at the end of every complete run.

`make test` takes at most 25 minutes on two cores for 200 operators with nothing compiled beforehand. That is
3000 core-seconds: a fixed part for what does not grow with the operators, and the rest divided by 200. Cost
is processor time of the test process and of the compilers that it starts, so that a busy machine does not
change the verdict.

A test counts towards an operator when its id names one: "test_values[RMSNormFwdOp-0]",
"normalization.py::tileops.ops.normalization.RMSNormFwdOp".
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Generator

import pytest

WALL_MINUTES = 25
CORES = 2
OPERATORS = 200
FIXED_CORE_SECONDS = 500.0
CORE_SECONDS_PER_OPERATOR = (WALL_MINUTES * 60 * CORES - FIXED_CORE_SECONDS) / OPERATORS

OPERATOR = re.compile(r"(?<![A-Za-z0-9])[A-Z]\w*?(?:Fwd|Bwd)Op(?![A-Za-z0-9])")
FIXED = "(the rest of the suite)"


def processor_seconds() -> float:
    """Processor time of this process and of the children it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def owner(nodeid: str) -> str:
    """The operator that a test belongs to, or `FIXED`."""
    found = OPERATOR.search(nodeid)
    return found.group(0) if found else FIXED


def implemented_operators() -> list[str]:
    """Names of the operators that the manifest calls implemented."""
    from tileops import spec

    return sorted(entry.name for entry in spec.all_specs().values() if entry.status == "implemented")


def verdict(cost: Counter[str], operators: list[str]) -> tuple[list[str], bool]:
    """Lines of the summary, and whether the run is within the budget."""
    named = sum(seconds for name, seconds in cost.items() if name != FIXED)
    each = named / len(operators) if operators else 0.0
    worst = [f"{name} {seconds:.1f}" for name, seconds in cost.most_common() if name != FIXED][:3]
    lines = [
        f"{each:.1f} of at most {CORE_SECONDS_PER_OPERATOR:.1f} core-seconds an operator, "
        f"mean of {len(operators)}; most: {', '.join(worst)}",
        f"{cost[FIXED]:.1f} of at most {FIXED_CORE_SECONDS:.0f} core-seconds for {FIXED.strip('()')}",
    ]
    within = each <= CORE_SECONDS_PER_OPERATOR and cost[FIXED] <= FIXED_CORE_SECONDS
    return lines, within and bool(operators)


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
        self.cost: Counter[str] = Counter()
        self.lines: list[str] = []
        self.last = processor_seconds()

    def charge(self, name: str) -> None:
        """What was spent since the last charge goes to `name`."""
        now = processor_seconds()
        self.cost[name] += now - self.last
        self.last = now

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.charge(FIXED)  # collection, imports and xdist's own work
        result = yield
        self.charge(owner(item.nodeid))
        return result

    def pytest_testnodedown(self, node: object) -> None:
        """Takes over what a worker measured (a hook of xdist)."""
        output = getattr(node, "workeroutput", None) or {}
        self.cost.update(output.get("tileops_cost", {}))

    # First, since xdist then waits for its workers, and their time would be counted twice.
    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.charge(FIXED)
        if self.is_worker:
            self.config.workeroutput["tileops_cost"] = dict(self.cost)  # type: ignore[attr-defined]
            return
        if not is_complete(self.config):
            return
        self.lines, within = verdict(self.cost, implemented_operators())
        if within:
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
