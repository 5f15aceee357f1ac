"""The allow-list: names that need no entry, each with its reason, one `name: reason` a line of a YAML file.

An entry that excuses nothing is itself a finding.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .manifest import load_yaml
from .project import Project, Unusable
from .report import Finding
from .surface import Surface


@dataclass(frozen=True)
class Allowed:
    """One entry of the file."""

    name: str
    reason: str
    line: int


def read_allowed(project: Project) -> list[Allowed]:
    """The entries; a missing file is an empty list."""
    if not project.allow.is_file():
        return []
    file = project.relative(project.allow)
    node, data = load_yaml(project.allow, file)
    if data is None:
        return []
    if not isinstance(data, dict):
        raise Unusable(f"{file}:1: the file is not a mapping of names to reasons", file, 1)
    lines = {key.value: key.start_mark.line + 1 for key, _ in node.value}
    allowed = []
    for name, reason in data.items():
        line = lines.get(str(name), 1)
        if not isinstance(reason, str) or not reason.strip():
            raise Unusable(f"{file}:{line}: {name} has no reason", file, line)
        allowed.append(Allowed(str(name), reason, line))
    return allowed


def apply(
    project: Project, surface: Surface, allowed: list[Allowed], findings: Iterable[Finding]
) -> tuple[list[Finding], list[str]]:
    """The findings that stay, and the names that were excused."""
    file = project.relative(project.allow)
    names = {r.canonical: {r.canonical, r.entry, r.name} for r in surface.required.values()}
    by_name = {alias: canonical for canonical, aliases in names.items() for alias in aliases}
    kept, excused = list(findings), []
    for entry in allowed:
        canonical = by_name.get(entry.name)
        required = surface.required.get(canonical or "")
        if required is None:
            problem = "nothing requires an entry for it"
            kept.append(Finding("stale-allowance", entry.name, problem, file=file, line=entry.line))
            continue
        if required.op and required.op.implemented:
            problem = f"it cannot be excused: {required.why[0]}"
            kept.append(Finding("refused-allowance", entry.name, problem, file=file, line=entry.line))
            continue
        about = [finding for finding in kept if finding.subject in names[required.canonical]]
        if not about:
            problem = "it is documented, so there is nothing to excuse; remove it from the allow-list"
            kept.append(Finding("stale-allowance", entry.name, problem, file=file, line=entry.line))
            continue
        kept = [finding for finding in kept if finding not in about]
        excused.append(entry.name)
    return kept, excused
