"""Command-line options of the suite, and which marked tests a machine can run.

| mark      | runs when                                                        |
| --------- | ---------------------------------------------------------------- |
| `gpu`     | an NVIDIA GPU of compute capability 9.0 is there                 |
| `gpu2`    | two of them are                                                  |
| `nvcc`    | `--nvcc=changed` or `--nvcc=all`, and TileLang finds nvcc        |
| `browser` | Chromium is on PATH                                              |
| `slow`    | `--slow`                                                         |

`--no-skips` is for CI: a test that is skipped for any reason but a missing GPU fails the run.
"""

from __future__ import annotations

import functools
import shutil
from collections.abc import Iterator

import pytest

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
NVCC_MODES = ("off", "changed", "all")
EXCUSED = {"gpu", "gpu2"}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tileops")
    group.addoption(
        "--all-rows", action="store_true", help="every dtype row, not the ones picked for a commit"
    )
    group.addoption("--slow", action="store_true", help="also tests marked slow")
    group.addoption(
        "--nvcc",
        choices=NVCC_MODES,
        default="off",
        help="compile the generated CUDA source with nvcc: of changed programs, or of all (3-6 s each)",
    )
    group.addoption("--costs", action="store_true", help="show what an operator costs, also for chosen tests")
    group.addoption("--no-skips", action="store_true", help="fail if a test is skipped that needs no GPU")


@functools.cache
def hopper_gpus() -> int:
    """How many GPUs of compute capability 9.0 this machine has."""
    import torch

    if not torch.cuda.is_available():
        return 0
    capabilities = (torch.cuda.get_device_capability(i) for i in range(torch.cuda.device_count()))
    return sum(capability == (9, 0) for capability in capabilities)


@functools.cache
def has_nvcc() -> bool:
    """Whether programs can be compiled for sm_90a here: the library's own rule, CUDA_HOME or PATH."""
    from tileops.targets._tilelang import nvcc_command

    return nvcc_command() is not None


def chromium_path() -> str | None:
    """Chromium or Chrome on PATH."""
    return next(filter(None, map(shutil.which, CHROMIUM)), None)


def missing(item: pytest.Item) -> str | None:
    """What this machine or this run lacks for a test, or None."""
    marks = {mark.name for mark in item.iter_markers()}
    if "slow" in marks and not item.config.getoption("--slow"):
        return "slow: run with --slow"
    if "nvcc" in marks and item.config.getoption("--nvcc") == "off":
        return "nvcc: run with --nvcc=changed or --nvcc=all"
    if "nvcc" in marks and not has_nvcc():
        return "nvcc is neither in CUDA_HOME nor on PATH"
    if "browser" in marks and chromium_path() is None:
        return "Chromium is not on PATH"
    if "gpu2" in marks and hopper_gpus() < 2:
        return "needs two GPUs of compute capability 9.0"
    if "gpu" in marks and hopper_gpus() < 1:
        return "needs a GPU of compute capability 9.0"
    return None


# After the plugins that add marks of their own (examples that use CUDA).
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        reason = missing(item)
        if reason is not None:
            item.add_marker(pytest.mark.skip(reason=reason))
        if item.get_closest_marker("gpu") or item.get_closest_marker("gpu2"):
            item.user_properties.append(("excused", "gpu"))


class SkipWatch:
    """Collects the tests skipped for want of something that can be installed."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.skipped: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if (
            report.skipped
            and not hasattr(report, "wasxfail")
            and ("excused", "gpu") not in map(tuple, report.user_properties)
        ):
            self.skipped.append(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.skipped and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.skipped:
            return
        terminalreporter.section("skipped, and --no-skips forbids it", red=True)
        for nodeid in self.skipped:
            terminalreporter.line(nodeid)


def pytest_configure(config: pytest.Config) -> None:
    is_worker = hasattr(config, "workerinput")
    if config.getoption("--no-skips") and not is_worker:
        config.pluginmanager.register(SkipWatch(config), "tileops-skips")


@pytest.fixture(scope="session")
def chromium() -> Iterator[str]:
    """Path of Chromium; use it with the mark `browser`."""
    path = chromium_path()
    if path is None:
        pytest.skip("Chromium is not on PATH")
    yield path
