"""Which code a measurement belongs to: a hash of the sources that decide an operator's programs.

The site and the records of runs on the H200 keep it; where it differs from today's, a number is stale.
Comments, docstrings and layout do not count: the hash is over syntax trees. Needs neither torch nor TileLang.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from tileops.spec import OpSpec, load

__all__ = ["kernel_hash", "kernel_sources"]

_PACKAGE = "tileops.kernels"
_FOLDER = Path(__file__).parent / "kernels"
_LENGTH = 16  # hex digits: short enough for a table, long enough for never


def kernel_hash(op_name: str, folder: str | os.PathLike[str] = _FOLDER) -> str:
    """A short hash of the programs of an operator and of how its manifest entry chooses and launches them.

    Args:
        op_name: Class name, `"RMSNormFwdOp"`.
        folder: Where the modules of `tileops.kernels` lie.

    Returns:
        16 hexadecimal digits, the same on every machine and Python version.

    Raises:
        ManifestError: The manifest has no such operator.
        ValueError: The operator is not implemented: it has no programs.
    """
    spec = load(op_name)
    if not spec.implementations:
        raise ValueError(f"{op_name} is not implemented: there are no programs to hash")
    digest = hashlib.sha256()
    digest.update(msgspec.json.encode([_choices(spec), spec.let], order="deterministic"))
    programs = frozenset(i.program for i in spec.implementations.values())
    for path in kernel_sources(spec.family, folder, programs):
        digest.update(f"\0{path.relative_to(folder)}\0".encode())
        digest.update(_code(path.read_text(encoding="utf-8")).encode())
    return digest.hexdigest()[:_LENGTH]


def _choices(spec: OpSpec) -> dict[str, Any]:
    """The implementations of an entry without their messages."""
    return {
        name: [
            i.program,
            i.rank,
            i.targets,
            i.static,
            i.scalars,
            *([i.channels_last] if i.channels_last else []),
            [rule.rule for rule in i.domain],
        ]
        for name, i in spec.implementations.items()
    }


@functools.cache
def _code(text: str) -> str:
    """What counts of a file."""
    return _normal_form(_without_docstrings(ast.parse(text)))


def kernel_sources(
    family: str, folder: str | os.PathLike[str] = _FOLDER, programs: Iterable[str] = ()
) -> list[Path]:
    """The files of a family's programs: its module, and what that imports of `tileops.kernels`, in turn.

    Of a package only the modules count from which it takes the `programs`, when they are named.
    """
    found: set[Path] = set()
    module = _file(Path(folder), family.split("."))
    waiting = [module]
    if module is not None and module.name == "__init__.py" and programs:
        waiting = [_file(Path(folder), name) for name in _homes(module, Path(folder), frozenset(programs))]
    while waiting:
        path = waiting.pop()
        if path is None or path in found:
            continue
        found.add(path)
        waiting += [_file(Path(folder), name) for name in _imports(path, Path(folder))]
    if not found:
        raise FileNotFoundError(f"there is no module {_PACKAGE}.{family} in {folder}")
    return sorted(found)


@functools.cache
def _import_statements(text: str) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """The imports of a file, also those inside functions."""
    return tuple(node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.Import, ast.ImportFrom)))


def _file(folder: Path, name: list[str]) -> Path | None:
    """The file of a module below `folder`, or `None` where the name is not a module's."""
    if not name:
        return None
    module = folder.joinpath(*name)
    candidates = (module.with_name(f"{module.name}.py"), module / "__init__.py")
    return next((path for path in candidates if path.is_file()), None)


def _homes(package: Path, folder: Path, programs: frozenset[str]) -> list[list[str]]:
    """Dotted names below `tileops.kernels` of the modules from which a package takes programs."""
    depth = len(_PACKAGE.split("."))
    homes = [
        _base(node, package, folder)[depth:]
        for node in _import_statements(package.read_text(encoding="utf-8"))
        if isinstance(node, ast.ImportFrom)
        and programs & {alias.asname or alias.name for alias in node.names}
    ]
    return homes or [list(package.parent.relative_to(folder).parts)]


def _base(node: ast.ImportFrom, path: Path, folder: Path) -> list[str]:
    """The module of `from ... import`, with a relative one resolved."""
    here = [*_PACKAGE.split("."), *path.relative_to(folder).parent.parts]
    base = here[: len(here) - node.level + 1] if node.level else []
    return [*base, *(node.module.split(".") if node.module else [])]


def _imports(path: Path, folder: Path) -> list[list[str]]:
    """Dotted names below `tileops.kernels` that a file imports, also inside functions."""
    names: list[list[str]] = []
    for node in _import_statements(path.read_text(encoding="utf-8")):
        if isinstance(node, ast.Import):
            names += [alias.name.split(".") for alias in node.names]
        else:
            base = _base(node, path, folder)
            names += [base, *([*base, alias.name] for alias in node.names)]
    prefix = _PACKAGE.split(".")
    return [name[len(prefix) :] for name in names if name[: len(prefix)] == prefix]


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:] if isinstance(first.value.value, str) else node.body
    return tree


def _normal_form(node: Any) -> str:
    """A tree as text; unlike `ast.dump`, without empty fields, which come and go between Python versions."""
    if isinstance(node, ast.AST):
        fields = ((name, value) for name, value in ast.iter_fields(node) if value is not None and value != [])
        return f"{type(node).__name__}({','.join(f'{name}={_normal_form(value)}' for name, value in fields)})"
    if isinstance(node, list):
        return f"[{','.join(map(_normal_form, node))}]"
    return repr(node)
