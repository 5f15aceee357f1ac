"""Programs by themselves, at every edge of a tile: many variants to compile, so they wait for --slow.

CI gives the flag. The conformance suite runs every implementation on every commit.
"""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.slow)
