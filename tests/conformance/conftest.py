"""Parametrizes tests over the manifest's calls and records what a run on a GPU found."""

from __future__ import annotations

import importlib
import json
import os
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.budget import operator_of
from tests.conformance.plan import calls, first_calls, verified


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record", metavar="FILE", help="write what the conformance suite found, by operator, as JSON"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    all_rows = metafunc.config.getoption("all_rows")
    if "call" in metafunc.fixturenames:
        found = calls(all_rows)
        metafunc.parametrize("call", found, ids=[call.id for call in found])
    if "first_call" in metafunc.fixturenames:
        found = first_calls()
        metafunc.parametrize("first_call", found, ids=[call.spec.name for call in found])
    if "specified_call" in metafunc.fixturenames:
        found = calls(all_rows, False)
        metafunc.parametrize("specified_call", found, ids=[call.id for call in found])


@pytest.fixture
def all_rows(request: pytest.FixtureRequest) -> bool:
    """Whether the run tests every dtype row and every implementation on every case."""
    return bool(request.config.getoption("all_rows"))


class Recorder:
    """Results by operator: tests that passed and failed, the largest error by implementation and row."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tests: dict[str, dict[str, int]] = defaultdict(lambda: {"passed": 0, "failed": 0})
        self.results: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        operator = operator_of(report.nodeid)  # of a test that took its process down there is only the id
        if operator is None or report.skipped or (report.when != "call" and report.passed):
            return
        self.tests[operator]["passed" if report.passed else "failed"] += 1
        for result in dict(report.user_properties).get("results", []):
            self._add(operator, {**result, "passed": report.passed})

    def _add(self, operator: str, result: dict[str, Any]) -> None:
        known = self.results[operator].setdefault(
            f"{result['implementation']} {result['dtypes']}",
            {**result, "cases": 0, "max_error": 0.0, "passed": True},
        )
        known["cases"] += 1
        known["max_error"] = max(known["max_error"], result["max_error"])
        known["passed"] = known["passed"] and result["passed"]

    def pytest_sessionfinish(self) -> None:
        found = {
            name: {**counts, "results": list(self.results[name].values())}
            for name, counts in sorted(self.tests.items())
        }
        self.path.write_text(json.dumps(found, indent=2) + "\n")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With --nvcc=changed only operators whose programs have not run on an H200 as they are now."""
    if config.getoption("nvcc") != "changed":
        return
    done = [
        item
        for item in items
        if item.get_closest_marker("nvcc")
        and _operator(item) in verified()
        and item.path.is_relative_to(Path(__file__).parent)
    ]
    config.hook.pytest_deselected(items=done)
    items[:] = [item for item in items if item not in done]


def _context_lost() -> str | None:
    """Why no call of this process reaches the GPU any more, after a fault of a program on it."""
    import torch

    if not torch.cuda.is_initialized():
        return None
    try:
        torch.cuda.synchronize()
    except RuntimeError as error:
        return str(error).splitlines()[0]
    return None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """A program that faults ends its process: xdist says so of this test and goes on in a fresh one."""
    done = yield
    if item.get_closest_marker("gpu") and (reason := _context_lost()):
        if hasattr(item.config, "workerinput"):
            os._exit(1)
        pytest.exit(f"{item.nodeid} left no usable GPU: {reason}", returncode=1)
    return done


def pytest_collection_finish(session: pytest.Session) -> None:
    """Imports torch.compile's parts before the first test, whose operator would be charged for them."""
    if any(item.path.name == "test_torch.py" for item in session.items):
        importlib.import_module("torch._inductor.compile_fx")


def _operator(item: pytest.Item) -> str | None:
    call = getattr(item, "callspec", None)
    return call.params["first_call"].spec.name if call and "first_call" in call.params else None


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("record", None)
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(Path(path)), "conformance-record")
