"""Follows the page "Add an operator" in a copy of the checkout, and runs what it says to run."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.site.markdown_examples import collect_fences

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "add-an-operator.md"
COPIED = [
    "tileops",
    "tileops_docs",
    "manifest",
    "docs",
    "templates",
    "tests",
    "mkdocs.yml",
    "pyproject.toml",
    "conftest.py",
    "scripts",
]
LISTS = {"tileops/ops/__init__.py", "tileops/__init__.py"}  # a command writes the names there


def apply_diff(file: Path, diff: str) -> None:
    """Insert each run of `+` lines after the context line above it, which must be in the file once."""
    lines, at = file.read_text(encoding="utf-8").splitlines(), None
    for line in diff.splitlines():
        if line.startswith("@@"):
            at = None
        elif line.startswith("+"):
            assert at is not None, f"{file.name}: no context above {line!r}"
            at += 1
            lines.insert(at, line[1:])
        else:
            assert lines.count(line[1:]) == 1, (
                f"{file.name}: {line[1:]!r} is there {lines.count(line[1:])} times"
            )
            at = lines.index(line[1:])
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the checkout with everything that the page shows."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in [*COPIED, *(p.name for p in ROOT.glob("*.md"))]:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy / name)
    for fence in collect_fences(PAGE):
        if not fence.title:
            continue
        file = copy / fence.title
        if fence.language == "diff":
            apply_diff(file, fence.source)
        else:
            assert not file.exists(), f"{fence.title} exists already"
            file.write_text(fence.source + "\n", encoding="utf-8")
    run(copy, "scripts/write_exports.py")
    yield copy
    shutil.rmtree(copy)


def run(copy: Path, *arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], cwd=copy, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]
    return done.stdout + done.stderr


def test_the_page_names_every_place(followed: Path) -> None:
    titles = {fence.title for fence in collect_fences(PAGE)} - {""}
    text = PAGE.read_text(encoding="utf-8")
    table = text[text.index("## What a new operator touches") : text.index("## 1.")]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    listed = {path for row in rows for path in re.findall(r"`([^`]+)`", row)}
    assert listed == (titles | LISTS) - {"try_it.py", "mkdocs.yml"}
    assert "python scripts/write_exports.py" in text


def test_the_operator_runs(followed: Path) -> None:
    run(followed, "try_it.py")


def test_the_operator_passes_its_tests(followed: Path) -> None:
    tests = ["tests/conformance", "tileops/ops/residual.py", "-k", "ResidualAddFwdOp"]
    said = run(followed, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)
    assert "1 docstring" in said


def test_the_operator_has_its_page(followed: Path) -> None:
    run(followed, "-m", "mkdocs", "build", "--strict", "--quiet")
    html = (followed / "site" / "api" / "residual.html").read_text(encoding="utf-8")
    assert 'data-op="ResidualAddFwdOp"' in html
    assert 'data-param="alpha"' in html
