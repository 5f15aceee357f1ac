"""Examples are tests: those of docstrings and of pages run and are counted, and a count of zero is a failure.

Docstrings: pytest's own doctest collector, for `tileops/` alone. Pages: the collector in
`tests/site/markdown_examples.py`, which asks the site's Markdown extensions what a page shows. An example
that says "cuda" carries the mark `gpu`.
"""

from __future__ import annotations

import importlib.util
from collections import Counter
from pathlib import Path

import pytest

from tests.budget import is_complete

MARKDOWN_COLLECTOR = "tests.site.markdown_examples"
KINDS = ("docstring", "Markdown")
ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "tileops"


def pytest_configure(config: pytest.Config) -> None:
    if importlib.util.find_spec(MARKDOWN_COLLECTOR) is not None:
        config.pluginmanager.import_plugin(MARKDOWN_COLLECTOR)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(ExampleCount(config), "tileops-example-count")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A docstring collector for each file of the library that has an example."""
    if file_path.suffix != ".py" or LIBRARY not in file_path.parents or ">>>" not in file_path.read_text():
        return None
    doctests = parent.config.pluginmanager.getplugin("doctest")
    assert doctests is not None, "the doctest plugin of pytest is switched off"
    return doctests.DoctestModule.from_parent(parent, path=file_path)


def example_kind(item: pytest.Item) -> str | None:
    """Which of `KINDS` an example is; None for a test that is none."""
    if isinstance(item, pytest.Function):
        return None
    if item.path.suffix == ".md":
        return "Markdown"
    return "docstring" if isinstance(item, pytest.DoctestItem) else None


def example_source(item: pytest.Item) -> str:
    """The code of an example."""
    if isinstance(item, pytest.DoctestItem):
        return "".join(example.source for example in item.dtest.examples)
    return str(getattr(item, "source", ""))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        kind = example_kind(item)
        if kind is None:
            continue
        item.user_properties.append(("example", kind))
        if "cuda" in example_source(item):
            item.add_marker(pytest.mark.gpu)


class ExampleCount:
    """Counts, in the process that reports, the examples that passed."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.ran: Counter[str] = Counter()
        self.seen: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        kind = dict(map(tuple, report.user_properties)).get("example")
        if kind is None:
            return
        self.seen.add(kind)
        if report.when == "call" and report.passed:
            self.ran[kind] += 1

    def wanting(self) -> list[str]:
        """The kinds of which a complete run ran none."""
        return [kind for kind in KINDS if not self.ran[kind]] if is_complete(self.config) else []

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.wanting() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.seen and not self.wanting():
            return
        counts = ", ".join(f"{self.ran[kind]} {kind}" for kind in KINDS)
        terminalreporter.section("examples")
        terminalreporter.line(f"examples that ran: {counts}")
        for kind in self.wanting():
            terminalreporter.line(f"NO {kind} EXAMPLE RAN", red=True)
