"""Where an operator is: the module of its class, its entry, its page, and its files in the checkout."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from tileops.ops import _MODULES
from tileops.spec import OpSpec, all_specs
from tileops_docs.sources import ROOT, Source, function

__all__ = ["canonical", "defined_in", "entries", "identifier", "module", "page", "title"]

DOCS = ROOT / "docs"
ENTRY = re.compile(r"^:::[ ]?(?P<path>[\w.]+)\s*$", re.MULTILINE)


def module(name: str) -> str:
    """The module of a class below `tileops.ops`: "normalization", "elementwise.activation"."""
    return str(_MODULES.get(name) or all_specs()[name].family)


def canonical(name: str) -> str:
    """The path where a class is defined."""
    return f"tileops.ops.{module(name)}.{name}"


def identifier(name: str) -> str:
    """The path that its entry names, which is the entry's anchor; where it has none, the canonical one."""
    return entries().get(name, (canonical(name), ""))[0]


def defined_in(label: str, package: str, spec: OpSpec, name: str) -> Source:
    """A function of a family's module in `package`, or of a module of the family's own package.

    Raises:
        LookupError: No module of the family has it.
    """
    folder = ROOT / package / spec.family
    paths = sorted(folder.glob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]
    own = folder / f"{module(spec.name).rpartition('.')[2]}.py"
    for path in sorted(paths, key=lambda path: path != own):
        try:
            return function(label, path.relative_to(ROOT).as_posix(), name)
        except LookupError:
            continue
    raise LookupError(f"no module of {package}/{spec.family} has {name}()")


@cache
def entries() -> dict[str, tuple[str, str]]:
    """(path, page relative to the docs folder) of each `:::` entry, by the last word of its path."""
    found: dict[str, tuple[str, str]] = {}
    for path in sorted((DOCS / "api").rglob("*.md")):
        for entry in ENTRY.finditer(path.read_text(encoding="utf-8")):
            name = entry["path"].rpartition(".")[2]
            found[name] = (entry["path"], path.relative_to(DOCS).as_posix())
    return found


def page(name: str) -> str:
    """The page of an operator, relative to the docs folder: "api/normalization.md"."""
    return entries().get(name, ("", f"api/{module(name).replace('.', '_')}.md"))[1]


@cache
def title(page_name: str) -> str:
    """The first heading of a page."""
    for line in (DOCS / page_name).read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            return line[2:].strip()
    return Path(page_name).stem.replace("_", " ").capitalize()
