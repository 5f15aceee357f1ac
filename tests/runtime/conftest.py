"""A process that has built nothing, and a count of what is built."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tileops import runner
from tileops._once import BuildOnce


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No kernel is known to the process; those in the cache folder are found again without a compiler."""
    monkeypatch.setattr(runner, "_entries", BuildOnce())
    runner.runner_for.cache_clear()
    yield
    runner.runner_for.cache_clear()


class Builds(logging.Handler):
    """The keys of the kernels that were built, from the library's log."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        assert record.msg == "built %s in %.2f s"
        assert isinstance(record.args, tuple)
        self.keys.append(str(record.args[0]))

    def __len__(self) -> int:
        return len(self.keys)


@pytest.fixture
def builds(cold: None) -> Iterator[Builds]:
    logger, handler = logging.getLogger("tileops"), Builds()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(level)
