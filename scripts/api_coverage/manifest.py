"""The manifest as plain data: what each operator declares, with file and line.

It is read here rather than through the package, so that no mistake of the package's loader hides an operator.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from .project import Project, Unusable

STATUSES = ("implemented", "spec-only")
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DTYPE = re.compile(r"(?:b?float\d+\w*|u?int\d+|bool|complex\d+)")


@dataclass(frozen=True)
class ManifestOp:
    """One entry. `rows` holds, for each supported row, the dtype of every slot that has its own."""

    name: str
    family: str
    status: str
    file: str
    line: int
    inputs: tuple[str, ...] = ()
    params: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    rows: tuple[dict[str, str], ...] = ()
    messages: tuple[str, ...] = field(default=())

    @property
    def implemented(self) -> bool:
        return self.status == "implemented"


def read_manifest(project: Project) -> dict[str, ManifestOp]:
    """Every operator by name, in the order of the files."""
    if project.manifest is None:
        return {}
    where = project.relative(project.manifest)
    if not project.manifest.is_dir():
        raise Unusable(f"{where}/: there is no manifest folder in {project.root}", where)
    files = sorted(p for p in project.manifest.iterdir() if p.suffix in (".yaml", ".yml"))
    if not files:
        raise Unusable(f"{where}/: holds no YAML file", where)
    found: dict[str, ManifestOp] = {}
    for path in files:
        for op in _read_file(path, project.relative(path), project.requires("pages")):
            if op.name in found:
                other = found[op.name]
                also = f"is also in {other.file}:{other.line}"
                raise Unusable(f"{op.file}:{op.line}: {op.name} {also}", op.file, op.line)
            found[op.name] = op
    return found


def _read_file(path: Path, file: str, full: bool) -> list[ManifestOp]:
    node, data = load_yaml(path, file)
    if data is None:
        return []
    if not isinstance(data, dict) or not isinstance(node, yaml.MappingNode):
        raise Unusable(f"{file}:1: the file is not a mapping of operators", file, 1)
    lines = {key.value: key.start_mark.line + 1 for key, _ in node.value}
    return [_read_entry(str(n), entry, file, lines.get(str(n), 1), full) for n, entry in data.items()]


def load_yaml(path: Path, file: str) -> tuple[Any, Any]:
    """The node tree, which knows lines, and the data of a YAML file."""
    text = path.read_text(encoding="utf-8")
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        return node, loader.construct_document(node) if node is not None else None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        problem = getattr(error, "problem", None) or error
        raise Unusable(f"{file}:{line}: not YAML: {problem}", file, line) from error


def _read_entry(name: str, entry: Any, file: str, line: int, full: bool) -> ManifestOp:
    """One entry; `full` ones have a family and a known status."""

    def refuse(what: str) -> Unusable:
        return Unusable(f"{file}:{line}: {name} {what}", file, line)

    if not isinstance(entry, dict):
        raise refuse("is not a mapping")
    status, family = entry.get("status"), entry.get("family")
    if not full and isinstance(status, str) and status:
        return ManifestOp(name, str(family or ""), status, file, line)
    if status not in STATUSES:
        raise refuse(f"has status {status!r}; known are {', '.join(STATUSES)}")
    if not isinstance(family, str) or not family:
        raise refuse("has no family")
    signature = entry.get("signature") or {}
    if not isinstance(signature, dict):
        raise refuse("has a signature that is not a mapping")
    slots = {part: signature.get(part) or {} for part in ("inputs", "params", "call", "outputs")}
    if bad := [part for part, value in slots.items() if not isinstance(value, dict)]:
        raise refuse(f"has {bad[0]} that are not a mapping")
    rules = [rule for rule in signature.get("shape_rules") or [] if isinstance(rule, dict)]
    return ManifestOp(
        name=name,
        family=family,
        status=status,
        file=file,
        line=line,
        inputs=tuple(slots["inputs"]),
        params=(*slots["params"], *slots["call"]),
        outputs=tuple(slots["outputs"]),
        rows=tuple(_rows(slots["inputs"] | slots["outputs"], signature.get("dtype_combos"))),
        messages=tuple(str(rule["message"]) for rule in rules if "message" in rule),
    )


def _rows(slots: dict[str, Any], combos: Any) -> list[dict[str, str]]:
    """The supported rows: `dtype_combos`, or every combination of the slots with choices of their own."""
    if isinstance(combos, list):
        return [dict(row) for row in combos if isinstance(row, dict)]
    own: dict[str, list[str]] = {}
    for name, slot in slots.items():
        choices = [word.strip() for word in str((slot or {}).get("dtype", "")).split("|")]
        if all(_DTYPE.fullmatch(choice) for choice in choices):
            own[name] = choices
    return [dict(zip(own, row, strict=True)) for row in itertools.product(*own.values())]
