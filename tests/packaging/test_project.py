"""The project's own rules: what the first page says, what CI runs, how long a file may be."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from .conftest import ROOT, run

FILE_LINES = 300
FUNCTION_LINES = 80
# Words that would send a reader to the other project; put together here so that this file does not hold them.
WRONG_INSTALL = "pip install " + "tileops"
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def project_files(*suffixes: str) -> list[Path]:
    """Files of the project, committed or not, without what git ignores."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    paths = (ROOT / name for name in listed)
    return [path for path in paths if path.is_file() and (not suffixes or path.suffix in suffixes)]


def fenced_commands(text: str) -> list[str]:
    """The command lines of the shell blocks of a Markdown text, in order, without their comments."""
    blocks = re.findall(r"^```(?:bash|sh|console|shell)\n(.*?)^```", text, flags=re.M | re.S)
    lines = (line.split("#")[0].removeprefix("$ ").strip() for block in blocks for line in block.splitlines())
    return [line for line in lines if line]


def test_the_readme_begins_with_the_two_commands() -> None:
    commands = fenced_commands((ROOT / "README.md").read_text())
    assert commands[:2] == ["make site", "make test"]


def test_nobody_is_sent_to_the_other_project() -> None:
    suffixes = (".md", ".py", ".toml", ".yml", ".yaml", ".txt", ".jinja", ".html", "")
    guilty = [
        str(path) for path in project_files(*suffixes) if WRONG_INSTALL in path.read_text(errors="ignore")
    ]
    assert guilty == []


def test_ci_runs_what_the_readme_says() -> None:
    script = ROOT / ".ci" / "run"
    text = script.read_text()
    assert script.stat().st_mode & 0o111, ".ci/run is not executable"
    assert re.search(r"^\s*\w+ .*\bmake test\b", text, flags=re.M)
    assert text.index("make test") < text.index("make site SERVE=0") < text.index("make check")
    assert "--no-skips" in text


def test_workflows_call_the_make_targets() -> None:
    steps: dict[str, str] = {}
    for path in WORKFLOWS:
        jobs = yaml.safe_load(path.read_text())["jobs"].values()
        steps[path.name] = "\n".join(step.get("run", "") for job in jobs for step in job["steps"])
    assert set(steps) == {"tests.yml", "site.yml", "publish.yml"}
    assert "make test" in steps["tests.yml"]
    assert "make check" in steps["tests.yml"]
    assert "make site SERVE=0" in steps["site.yml"]
    assert "make site SERVE=0" in steps["publish.yml"]


def test_actionlint_accepts_the_workflows() -> None:
    run(Path(sys.executable).with_name("actionlint"), *WORKFLOWS, cwd=ROOT)


def test_every_dependency_is_pinned_to_an_allowed_version() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    pinned = {canonicalize_name(name): version for name, version in pins.items()}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["docs"], *extras["test"], *extras["dev"]]
    for requirement in map(Requirement, wanted):
        if requirement.name == project["name"]:
            continue
        version = pinned.get(canonicalize_name(requirement.name))
        assert version is not None, f"constraints.txt does not pin {requirement.name}"
        assert requirement.specifier.contains(version), f"{requirement} does not admit {version}"


def test_versions_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    import tileops

    assert tileops.__version__ == project["version"]
    assert f"[{project['version']}]" in (ROOT / "CHANGELOG.md").read_text()


def python_files() -> list[Path]:
    return [path for path in project_files(".py") if "vendor" not in path.parts]


def excuse(node: ast.AST, limit: int) -> bool:
    """Whether a docstring gives the reason for being longer than the limit."""
    text = ast.get_docstring(node) or ""  # type: ignore[arg-type]
    return f"Longer than {limit} lines because" in " ".join(text.split())


def too_long(path: Path) -> list[str]:
    """What is longer than allowed in a file, without a reason."""
    text = path.read_text()
    tree = ast.parse(text)
    name = path.relative_to(ROOT).as_posix()
    count = len(text.splitlines())
    found = [] if count <= FILE_LINES or excuse(tree, FILE_LINES) else [f"{name} has {count} lines"]
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        if lines > FUNCTION_LINES and not excuse(node, FUNCTION_LINES):
            found.append(f"{name}:{node.lineno} {node.name} has {lines} lines")
    return found


def test_length_of_files_and_functions() -> None:
    """At most 300 and 80 lines, or a docstring says "Longer than 300 lines because ..."."""
    assert [line for path in python_files() for line in too_long(path)] == []


def test_the_lists_of_operators_are_current() -> None:
    command = [sys.executable, "scripts/write_exports.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
