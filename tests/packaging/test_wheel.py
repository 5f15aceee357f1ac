"""What is in the wheel, and that it works installed, away from the checkout."""

from __future__ import annotations

import email
import json
import textwrap
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import ROOT, run

IMPORT_SECONDS = 0.100
HEAVY = ("torch", "numpy", "tilelang", "tvm", "tvm_ffi")


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


@pytest.fixture(scope="module")
def installed(wheel: Path, fresh_environment: Callable[..., Path]) -> Callable[[str], str]:
    """Runs a program in a fresh environment, in an empty folder, and returns what it prints."""
    python = fresh_environment(wheel)
    folder = python.parents[2] / "empty"
    folder.mkdir()
    return lambda program: run(python, "-c", textwrap.dedent(program), cwd=folder)


def package_data() -> list[str]:
    """Files that the package needs beside its Python files."""
    found = [
        path
        for path in (ROOT / "tileops").rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    ]
    return [path.relative_to(ROOT).as_posix() for path in found]


def test_manifest_and_package_data_are_in_it(names: set[str]) -> None:
    families = {f"tileops/manifest/{path.name}" for path in (ROOT / "manifest").glob("*.yaml")}
    assert families
    assert families <= names
    data = package_data()
    assert "tileops/py.typed" in data
    assert any(name.endswith(".h") for name in data)
    assert set(data) <= names


def test_every_module_is_in_it_and_nothing_else(names: set[str]) -> None:
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tileops").rglob("*.py")}
    assert modules <= names
    assert {name.split("/")[0] for name in names} == {"tileops", "tileops_h200-0.1.0.dist-info"}


def test_metadata(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    metadata = email.message_from_bytes(archive.read("tileops_h200-0.1.0.dist-info/METADATA"))
    assert metadata["Name"] == "tileops-h200"
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Requires-Python"] == ">=3.11"
    required = [line for line in metadata.get_all("Requires-Dist") if "extra ==" not in line]
    assert sorted(line.split(">")[0].split("=")[0] for line in required) == [
        "apache-tvm-ffi",
        "msgspec",
        "pyyaml",
        "tilelang",
        "torch",
    ]


def test_the_installed_manifest_is_found(installed: Callable[[str], str]) -> None:
    from tileops import spec

    printed = installed("""
        import json
        from tileops import spec
        print(json.dumps([str(spec.manifest_dir()), sorted(spec.all_specs())]))
    """)
    folder, operators = json.loads(printed)
    assert Path(folder).parts[-3:] == ("site-packages", "tileops", "manifest")
    assert operators == sorted(spec.all_specs())


@pytest.mark.parametrize("module", ["tileops", "tileops.spec"])
def test_import_is_quick_and_free_of_torch(module: str, installed: Callable[[str], str]) -> None:
    program = f"""
        import sys, time
        start = time.process_time()  # of the processor, so that a busy machine does not count
        import {module}
        print(time.process_time() - start, *[name for name in {HEAVY} if name in sys.modules])
    """
    runs = [installed(program).split() for _ in range(6)]
    assert [run[1:] for run in runs] == [[]] * len(runs), "import loads what it should not"
    best = min(float(run[0]) for run in runs)
    assert best < IMPORT_SECONDS, f"import {module} takes {1000 * best:.0f} ms"


def test_an_operator_runs_installed(installed: Callable[[str], str]) -> None:
    printed = installed("""
        import tileops, torch
        x, weight = torch.randn(3, 64), torch.randn(64)
        y = tileops.RMSNormFwdOp(normalized_shape=(64,))(x, weight)
        torch.testing.assert_close(y, torch.nn.functional.rms_norm(x, (64,), weight, 1e-6))
        print(tileops.__file__)
    """)
    assert "site-packages" in printed


def test_docstring_examples_run_installed(installed: Callable[[str], str]) -> None:
    printed = installed("""
        import sys, pytest
        options = ["-p", "no:cacheprovider", "-q", "-o", "doctest_optionflags=NUMBER ELLIPSIS", "--rootdir=."]
        sys.exit(pytest.main([*options, "--doctest-modules", "--pyargs", "tileops.ops.normalization"]))
    """)
    assert " passed" in printed


def test_an_editable_install_copies_no_manifest() -> None:
    """Its copies would go stale: the checkout's own are read."""
    from tileops import spec

    assert spec.manifest_dir() == ROOT / "manifest"
