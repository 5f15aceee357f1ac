"""Which tests run in the same worker, for `-n 2 --dist loadscope`.

- The blocks of a page: they share one namespace, and run in order.
- The tests of one operator: its programs are traced and loaded once. Compiled programs are shared through the
  cache folder all the same.
- The packaging tests: they share one wheel.

Every other test goes to whichever worker is free. (`--dist loadgroup` would do, but
pytest-xdist 3.8 ignores its groups under pytest 9.2.)
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.budget import operator_of

PACKAGING = "tests/packaging/"


def scope(nodeid: str) -> str:
    """The name of what a test must share a worker with; its own id if with nothing."""
    path = nodeid.split("::")[0]
    if path.endswith(".md"):
        return path
    if path.startswith(PACKAGING):
        return PACKAGING
    return operator_of(nodeid) or nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A scheduler of pytest-xdist that asks `scope`."""
    if config.getoption("dist") != "loadscope":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return scope(nodeid)

    return Scheduling(config, log)
