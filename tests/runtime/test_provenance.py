"""A measurement is stale when code that makes the program changed, and only then."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tileops import provenance
from tileops.errors import ManifestError
from tileops.provenance import kernel_hash, kernel_sources
from tileops.spec import load


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    """A copy of the programs that a test may edit."""
    return Path(shutil.copytree(Path(provenance.__file__).parent / "kernels", tmp_path / "kernels"))


def test_the_hash_is_short_and_the_same_for_a_copy(kernels: Path) -> None:
    assert len(kernel_hash("RMSNormFwdOp")) == 16
    assert int(kernel_hash("RMSNormFwdOp"), 16)
    assert kernel_hash("RMSNormFwdOp", kernels) == kernel_hash("RMSNormFwdOp")


def sources(op: str, kernels: Path) -> list[Path]:
    """The files of an operator's programs."""
    spec = load(op)
    return kernel_sources(spec.family, kernels, [i.program for i in spec.implementations.values()])


def test_modules_that_a_program_imports_count(kernels: Path) -> None:
    assert kernels / "rows.py" in sources("RMSNormFwdOp", kernels)
    assert len(sources("RMSNormFwdOp", kernels)) > 1


def test_operators_of_one_family_differ_by_their_entries() -> None:
    assert kernel_hash("RMSNormFwdOp") != kernel_hash("LayerNormFwdOp")


def test_docstrings_comments_and_layout_change_nothing(kernels: Path) -> None:
    before = kernel_hash("RMSNormFwdOp", kernels)
    for path in sources("RMSNormFwdOp", kernels):
        text = path.read_text()
        end = text.index('"""', 3) + 3
        path.write_text('"""Another docstring."""\n\n# a comment\n\n' + text[end:].replace(", ", ",  "))
    assert kernel_hash("RMSNormFwdOp", kernels) == before


def test_code_changes_the_hash_also_in_an_imported_module(kernels: Path) -> None:
    known = {name: sources(name, kernels) for name in ("RMSNormFwdOp", "SoftmaxFwdOp")}
    for file in known["RMSNormFwdOp"]:
        before = {name: kernel_hash(name, kernels) for name in known}
        text = file.read_text()
        file.write_text(text + "\nTHREADS = 128\n")
        first = kernel_hash("RMSNormFwdOp", kernels)
        file.write_text(text + "\nTHREADS = 256\n")
        assert len({before["RMSNormFwdOp"], first, kernel_hash("RMSNormFwdOp", kernels)}) == 3
        changed = kernel_hash("SoftmaxFwdOp", kernels) != before["SoftmaxFwdOp"]
        assert changed == (file in known["SoftmaxFwdOp"])  # they share rows.py


@pytest.mark.parametrize(
    "line",
    [
        "import tileops.kernels.extra",
        "from tileops.kernels import extra",
        "from tileops.kernels.extra import f",
        "from . import extra",
        "from .extra import f",
        "def late():\n    from tileops.kernels.extra import f",
    ],
)
def test_every_form_of_import_is_followed(kernels: Path, line: str) -> None:
    (kernels / "extra.py").write_text("f = 1\n")
    (kernels / "own.py").write_text(f"{line}\nimport tileops.kernel, torch\n")
    assert [path.name for path in kernel_sources("own", kernels)] == ["extra.py", "own.py"]


def test_a_family_may_be_a_package(kernels: Path) -> None:
    (kernels / "big").mkdir()
    (kernels / "big" / "__init__.py").write_text("from .part import f\nfrom ..elements import stored\n")
    (kernels / "big" / "part.py").write_text("f = 1\n")
    found = [str(path.relative_to(kernels)) for path in kernel_sources("big", kernels)]
    assert found == ["big/__init__.py", "big/part.py", "elements.py"]


def test_what_has_no_programs_says_so(kernels: Path) -> None:
    with pytest.raises(ValueError, match="MoeUnpermuteFwdOp is not implemented"):
        kernel_hash("MoeUnpermuteFwdOp")
    with pytest.raises(ManifestError, match="NoSuchOp"):
        kernel_hash("NoSuchOp")
    with pytest.raises(FileNotFoundError, match=r"tileops\.kernels\.nothing"):
        kernel_sources("nothing", kernels)


def test_it_needs_neither_torch_nor_tilelang() -> None:
    code = (
        "import sys, tileops.provenance as p; p.kernel_hash('RMSNormFwdOp'); "
        "sys.exit(any(m in sys.modules for m in ('torch', 'tilelang')))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_of_a_package_only_the_modules_of_the_programs_count(kernels: Path) -> None:
    (kernels / "big").mkdir()
    text = "from tileops.kernels.big.one import f\nfrom .two import g as h\n"
    (kernels / "big" / "__init__.py").write_text(text)
    (kernels / "big" / "one.py").write_text("from tileops.kernels.elements import stored\nf = 1\n")
    (kernels / "big" / "two.py").write_text("g = 1\n")
    for programs, files in (
        (["f"], ["one.py", "elements.py"]),
        (["h"], ["two.py"]),
        (["f", "h"], ["one.py", "two.py", "elements.py"]),
    ):
        assert [path.name for path in kernel_sources("big", kernels, programs)] == files
