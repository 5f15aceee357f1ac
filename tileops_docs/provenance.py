"""A hash of the sources that make an operator's kernels, so that a page can say when a measurement is stale."""

from __future__ import annotations

import ast
import hashlib
from functools import lru_cache
from pathlib import Path

from tileops.spec import load
from tileops_docs.sources import ROOT

__all__ = ["kernel_hash"]

KERNELS = ROOT / "tileops" / "kernels"


@lru_cache(maxsize=None)
def kernel_hash(op: str) -> str:
    """First 16 hex digits of the SHA-256 of the family's kernel module and of the kernel modules that it imports.

    Comments, docstrings and layout do not count: the syntax trees are hashed.
    """
    digest = hashlib.sha256()
    for path in _closure(KERNELS / f"{load(op).family}.py"):
        digest.update(path.name.encode())
        digest.update(ast.dump(_without_docstrings(ast.parse(path.read_text(encoding="utf-8")))).encode())
    return digest.hexdigest()[:16]


def _closure(first: Path) -> list[Path]:
    found, waiting = set(), [first]
    while waiting:
        path = waiting.pop()
        if path in found or not path.is_file():
            continue
        found.add(path)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tileops.kernels"):
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
                waiting += [KERNELS / f"{str(name).removeprefix('tileops.kernels.')}.py" for name in names]
    return sorted(found)


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return tree
