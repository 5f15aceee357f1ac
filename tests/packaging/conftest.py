"""The wheel, built once, and fresh environments to install it into. Nothing here needs a network."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(*command: str | Path, cwd: Path, timeout: float = 300) -> str:
    """What a command prints; a failure shows both of its streams."""
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, timeout=timeout, check=False
    )
    assert done.returncode == 0, f"{command} returned {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    options = ("--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", folder)
    run(sys.executable, "-m", "pip", "wheel", *options, ROOT, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def other_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of another project: distribution and import name `tileops`."""
    path = tmp_path_factory.mktemp("other") / "tileops-9.9-py3-none-any.whl"
    info = "tileops-9.9.dist-info"
    files = {
        "tileops/__init__.py": "WHOSE = 'theirs'\n",
        "tileops/elsewhere.py": "",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: tileops\nVersion: 9.9\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(name, text)
    return path


@pytest.fixture(scope="session")
def fresh_environment(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A function that makes an environment with the given wheels, in this order, and returns its Python.

    The dependencies come from the environment of this run, by a path entry, so that torch is not installed
    again. The checkout is not reachable from there: an editable install's path entry is not followed through
    another one.
    """

    def make(*wheels: Path) -> Path:
        folder = tmp_path_factory.mktemp("env") / "venv"
        venv.create(folder, with_pip=False, symlinks=True)
        python = folder / "bin" / "python"
        for one in wheels:
            options = ("--quiet", "--no-deps", "--no-index", "--disable-pip-version-check")
            run(sys.executable, "-m", "pip", "--python", python, "install", *options, one, cwd=folder)
        (site_packages,) = folder.glob("lib/python*/site-packages")
        (site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
        return python

    return make
