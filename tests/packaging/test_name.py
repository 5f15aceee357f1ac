"""Beside the other project of the same import name, importing fails with a word that says so."""

from __future__ import annotations

import importlib.util
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def import_error(python: Path, statement: str) -> str:
    done = subprocess.run(
        [python, "-c", statement], cwd=python.parent, capture_output=True, text=True, timeout=120, check=False
    )
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""


def test_ours_over_the_other(wheel: Path, other_wheel: Path, fresh_environment: Callable[..., Path]) -> None:
    error = import_error(fresh_environment(other_wheel, wheel), "import tileops")
    assert error.startswith("ImportError: two projects share the import name 'tileops'"), error
    assert "tileops-h200" in error
    assert "tileops-9.9.dist-info" in error
    assert "pip uninstall tileops" in error


def test_the_other_over_ours(wheel: Path, other_wheel: Path, fresh_environment: Callable[..., Path]) -> None:
    """Their `__init__.py` is then the one that runs, and our operators refuse."""
    error = import_error(fresh_environment(wheel, other_wheel), "import tileops.op")
    assert error.startswith("ImportError: two projects share the import name 'tileops'"), error


def test_ours_alone(wheel: Path, fresh_environment: Callable[..., Path]) -> None:
    assert import_error(fresh_environment(wheel), "import tileops") == ""


@pytest.mark.parametrize(
    "metadata", ["tileops-1.0.dist-info", "TileOps-0.3.dev1.egg-info", "tileops.egg-info"]
)
def test_metadata_of_the_other_is_recognised(
    metadata: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / metadata).mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match="two projects share"):
        load_guard().refuse_other_distribution()


@pytest.mark.parametrize(
    "metadata", ["tileops_h200-0.1.0.dist-info", "tileops_extra-1.0.dist-info", "tileops"]
)
def test_other_names_pass(metadata: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / metadata).mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    load_guard().refuse_other_distribution()


def test_it_is_cheap() -> None:
    guard = load_guard()
    seconds = []
    for _ in range(10):
        start = time.perf_counter()
        guard.refuse_other_distribution()
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.002


def load_guard():
    """The module on its own, without the package around it."""
    spec = importlib.util.spec_from_file_location("tileops_name_guard", ROOT / "tileops" / "_name.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
