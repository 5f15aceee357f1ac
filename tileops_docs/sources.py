"""Where things are in the repository: functions of the library by name, with their text and a link."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tileops.provenance import kernel_hash

__all__ = ["ROOT", "Source", "current_hash", "function", "link", "tests"]

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Source:
    """A piece of a file of the repository.

    Attributes:
        label: What a reader calls it: "Program", "Oracle".
        path: Path in the repository.
        line: First line.
        end: Last line.
        code: The text between them.
        summary: First paragraph of its docstring.
    """

    label: str
    path: str
    line: int
    end: int
    code: str
    summary: str

    @property
    def fragment(self) -> str:
        """Path and lines, as repository hosts link them."""
        return f"{self.path}#L{self.line}-L{self.end}"


def function(label: str, path: str, name: str, root: Path = ROOT) -> Source:
    """The function or class `name` of a file, or what is assigned to that name.

    Raises:
        LookupError: The file or the name is not there.
    """
    file = root / path
    if not file.is_file():
        raise LookupError(f"{path} does not exist; it should hold {name}()")
    lines, named = _parse(file)
    node = named.get(name)
    if node is None:
        raise LookupError(f"{path} has no {name}()")
    end, summary = node.end_lineno or node.lineno, ""
    first = node.lineno
    if not isinstance(node, ast.Assign):
        first = min([first, *(decorator.lineno for decorator in node.decorator_list)])
        summary = (ast.get_docstring(node) or "").partition("\n\n")[0]
    return Source(label, path, first, end, "\n".join(lines[first - 1 : end]), " ".join(summary.split()))


@cache
def current_hash(op: str) -> str:
    """Hash of the kernel sources of an operator; each is read once in a build."""
    return kernel_hash(op)


def link(repository: str, fragment: str) -> str:
    """URL of a path in the repository."""
    return f"{repository.rstrip('/')}/blob/main/{fragment}"


def tests(name: str, family: str, implemented: bool, root: Path = ROOT) -> list[tuple[str, str]]:
    """(what a reader calls it, path) of what tests an operator."""
    probes, twins = f"tests/conformance/expected/{family}.py", "tests/spec/test_twins.py"
    found = [
        ("Conformance suite", "tests/conformance", implemented),
        ("Its probes", probes, _says(root / probes, f'"{name}"')),
        ("Tests of its programs", f"tests/kernels/test_{family}.py", implemented),
        ("Tests of refusals", "tests/spec/test_hostile_calls.py", not implemented),
        ("Tests beside PyTorch", twins, not implemented and _says(root / twins, f'.{name}"')),
    ]
    return [(label, path) for label, path, holds in found if holds and (root / path).exists()]


def _says(file: Path, text: str) -> bool:
    return file.is_file() and text in file.read_text(encoding="utf-8")


@cache
def _parse(file: Path) -> tuple[list[str], dict[str, ast.FunctionDef | ast.ClassDef | ast.Assign]]:
    """The lines of a file, and what it defines or assigns at its top, by name."""
    text = file.read_text(encoding="utf-8")
    named: dict[str, ast.FunctionDef | ast.ClassDef | ast.Assign] = {}
    for node in ast.parse(text).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            named[node.name] = node
        elif isinstance(node, ast.Assign):
            named |= {target.id: node for target in node.targets if isinstance(target, ast.Name)}
    return text.splitlines(), named
