"""One build of the site for all of its tests."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.site.browser import Page, chromium_page

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The strictly built site, one for all workers; a warning of MkDocs fails every test that uses it."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    with (shared / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the first worker builds, the others wait
        said = shared / "site.log"
        if not said.is_file():
            said.write_text(_build(shared / "site"), encoding="utf-8")
    text = said.read_text(encoding="utf-8")
    assert "built in" in text, text
    assert "WARNING" not in text, text
    return shared / "site"


def _build(folder: Path) -> str:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.fixture(scope="session")
def page(site: Path, chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A tab of a headless Chromium."""
    with chromium_page(chromium, tmp_path_factory.mktemp("profile")) as tab:
        yield tab
