"""The site of 200 operators builds in 25 seconds, in 10 with formulas and sources known from before."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tileops.spec import all_specs, torch_name

ROOT = Path(__file__).resolve().parents[2]
COPIED = [
    "tileops",
    "tileops_docs",
    "manifest",
    "docs",
    "templates",
    "scripts",
    "mkdocs.yml",
    "pyproject.toml",
]
OPERATORS = 200
COLD, WARM = 25.0, 10.0


def test_the_build_says_where_its_time_went(site: Path) -> None:
    said = (site.parent / "site.log").read_text(encoding="utf-8")
    stages = re.search(r"Time by stage: [\d.]+ s in all: (.+)", said)
    assert stages is not None
    assert "pages" in stages[1] and "templates" in stages[1]


def copy_of(folder: Path) -> Path:
    copy = folder / "checkout"
    copy.mkdir()
    for name in [*COPIED, *(path.name for path in ROOT.glob("*.md"))]:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy / name)
    return copy


def add_clones(copy: Path, wanted: int) -> None:
    """Families once more under other names, until there are enough operators."""
    families: dict[str, list[str]] = {}
    for spec in all_specs().values():
        families.setdefault(spec.family, []).append(spec.name)
    nav, total, number = [], len(all_specs()), 0
    while total < wanted:
        number += 1
        for family, names in families.items():
            if total < wanted:
                nav += clone(copy, family, f"{family}_k{number}", names, f"K{number}")
                total += len(names)
    config = (copy / "mkdocs.yml").read_text(encoding="utf-8")
    lines = "".join(f"      - {page}\n" for page in nav)
    (copy / "mkdocs.yml").write_text(
        config.replace("      - api/index.md\n", f"      - api/index.md\n{lines}")
    )
    subprocess.run([sys.executable, "scripts/write_exports.py"], cwd=copy, check=True)


def clone(copy: Path, family: str, new: str, names: list[str], mark: str) -> list[str]:
    """One family under another name; its pages."""
    changed = {name: re.sub(r"((?:Fwd|Bwd)Op)$", rf"{mark}\1", name) for name in names}

    def renamed(text: str) -> str:
        for name in sorted(names, key=len, reverse=True):
            text = re.sub(rf"\b{name}\b", changed[name], text)
        for kind in ("ops", "kernels", "reference"):
            text = re.sub(rf"tileops\.{kind}\.{family}\b", f"tileops.{kind}.{new}", text)
        return re.sub(
            rf"family: {family}\b|(?<=operator-index ){family}", lambda m: m[0].replace(family, new), text
        )

    manifest = (copy / f"manifest/{family}.yaml").read_text(encoding="utf-8")
    (copy / f"manifest/{new}.yaml").write_text(renamed(manifest), encoding="utf-8")
    for kind in ("ops", "kernels", "reference"):
        source = ROOT / "tileops" / kind / family
        for path in [*source.rglob("*.py"), *source.parent.glob(f"{family}.py")]:
            text = renamed(path.read_text(encoding="utf-8"))
            if kind == "reference":
                for name in names:
                    old, now = torch_name(name), torch_name(changed[name])
                    text = re.sub(rf"^(def )?{old}\b(?=\(| = )", rf"\g<1>{now}", text, flags=re.MULTILINE)
            relative = path.relative_to(source.parent).as_posix()
            target = source.parent / relative.replace(family, new, 1)
            target = copy / target.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    pages = []
    for path in (ROOT / "docs/api").glob("*.md"):
        if path.stem == family or path.stem.startswith(f"{family}_"):
            name = path.name.replace(family, new, 1)
            (copy / "docs/api" / name).write_text(renamed(path.read_text(encoding="utf-8")), encoding="utf-8")
            pages.append(f"api/{name}")
    for name in names:
        record = copy / f"docs/data/h200/{name}.json"
        if record.is_file():
            text = renamed(record.read_text(encoding="utf-8"))
            record.with_name(f"{changed[name]}.json").write_text(text, encoding="utf-8")
    return pages


def build(copy: Path) -> float:
    """Processor seconds of a build, which a busy machine does not change."""
    before = os.times()
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet"]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=copy, env=env, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr, done.stderr[-2000:]
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


@pytest.mark.slow
def test_two_hundred_operators_build_in_time(tmp_path: Path) -> None:
    copy = copy_of(tmp_path)
    add_clones(copy, OPERATORS)
    cold, warm = build(copy), build(copy)
    found = len(
        re.findall(r"^- \[\w+Op\]", (copy / "site/llms.txt").read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert found >= OPERATORS
    assert cold <= COLD and warm <= WARM, f"{cold:.1f} s cold, {warm:.1f} s with what was kept"
