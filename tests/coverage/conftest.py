from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.coverage.sample import Built, Sample


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    return Sample(tmp_path / "project")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return Built(tmp_path_factory.mktemp("built"))


@pytest.fixture
def site(built: Built, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built.site, tmp_path / "site"))
