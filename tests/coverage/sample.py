"""A small project with everything that the check looks at, to be broken one thing at a time."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.api_coverage import cli
from scripts.api_coverage.cli import main
from scripts.api_coverage.pages import check_site
from scripts.api_coverage.project import inside, read_project
from scripts.api_coverage.report import Finding
from scripts.api_coverage.site import built_site

TEMPLATE = Path(__file__).parent / "sample_project"

NORM_PAGE = "docs/api/normalization.md"
CORE_PAGE = "docs/api/core.md"
MANIFEST = "manifest/normalization.yaml"
OPS = "tileops/ops/__init__.py"
NORM = "tileops/ops/normalization.py"
ENTRY = "::: tileops.ops.RMSNormFwdOp"


@dataclass(frozen=True)
class Outcome:
    """What a run gave."""

    code: int
    out: str
    err: str

    @property
    def findings(self) -> list[dict[str, Any]]:
        return json.loads(self.out)["findings"]

    @property
    def codes(self) -> set[tuple[str, str]]:
        return {(finding["subject"], finding["code"]) for finding in self.findings}

    def problem(self, subject: str, code: str) -> str:
        found = [f["problem"] for f in self.findings if (f["subject"], f["code"]) == (subject, code)]
        assert found, f"no {code} of {subject} in {self.out}"
        return found[0]


class Sample:
    """A copy of the project, and the means to change and to check it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        shutil.copytree(TEMPLATE, root, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        for path in root.rglob(
            "*.txt"
        ):  # the sources of the sample are text, so that no tool takes them for ours
            path.rename(path.with_suffix(""))

    def read(self, name: str) -> str:
        return (self.root / name).read_text(encoding="utf-8")

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())

    def edit(self, name: str, old: str, new: str) -> None:
        text = self.read(name)
        assert old in text, f"{name} has no {old!r}"
        self.write(name, text.replace(old, new))

    def append(self, name: str, text: str) -> None:
        self.write(name, self.read(name) + text)

    def check(self, *arguments: str, form: str = "json", stage: str = "1") -> Outcome:
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = main(["--format", form, "--stage", stage, "--root", str(self.root), *arguments])
        return Outcome(code, out.getvalue(), err.getvalue())


class Built:
    """The sample, its site, and what stage 1 knows about it."""

    def __init__(self, root: Path) -> None:
        self.sample = Sample(root / "project")
        self.project = read_project(self.sample.root, {})
        self.site = root / "site"
        with inside(self.project):
            self.surface, self.docs, _, findings = cli._stage_1(self.project)
            assert not findings
            with built_site(self.project, self.docs, None) as site:
                assert isinstance(site, Path), site
                shutil.copytree(site, self.site)

    def check(self, site: Path) -> list[Finding]:
        return check_site(self.project, self.docs, self.surface, site)


Mutation = Callable[[Sample], None]
