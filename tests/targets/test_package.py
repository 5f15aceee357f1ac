"""Importing the targets is cheap, and another TileLang is refused with a sentence."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

from tileops import targets

ROOT = Path(__file__).resolve().parents[2]


def python(code: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)


def test_import_loads_neither_torch_nor_tilelang() -> None:
    done = python(
        "import sys; from tileops import targets; targets.get('cpu'); targets.hopper;"
        "assert not {'torch', 'tilelang', 'tvm'} & set(sys.modules), sys.modules.keys()"
    )
    assert done.returncode == 0, done.stderr


def test_another_tilelang_is_refused() -> None:
    done = python(
        "import importlib.metadata as m; m.version = lambda name: '0.1.16'\nimport tileops.targets._tilelang"
    )
    assert (
        "TargetError: TileLang 0.1.15 is needed to compile a program, and 0.1.16 is installed" in done.stderr
    )


def test_a_missing_tilelang_is_named() -> None:
    done = python(
        "import importlib.metadata as m\n"
        "def version(name): raise m.PackageNotFoundError(name)\n"
        "m.version = version\n"
        "import tileops.targets._tilelang"
    )
    assert "and TileLang is not installed" in done.stderr


def test_the_pin_is_the_installed_version() -> None:
    from tileops.targets import _tilelang

    assert importlib.metadata.version("tilelang").startswith(_tilelang.VERSION)


def test_targets_by_name() -> None:
    assert [targets.get(name).__name__.rpartition(".")[2] for name in targets.names] == ["hopper", "cpu"]
    with pytest.raises(ValueError, match="unknown target 'tpu'; the targets are hopper, cpu"):
        targets.get("tpu")


def test_only_one_module_touches_tilelang() -> None:
    folder = ROOT / "tileops" / "targets"
    modules = [p for p in folder.rglob("*.py") if p.name != "_tilelang.py"]
    for path in modules:
        lines = path.read_text().splitlines()
        imports = [line for line in lines if line.lstrip().startswith(("import ", "from "))]
        assert not [line for line in imports if line.split()[1].split(".")[0] in ("tilelang", "tvm")], path
