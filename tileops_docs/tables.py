"""Python-Markdown extension: a line `{{ name }}` of a page becomes a table computed from the manifest.

| line                          | becomes                                                  |
| ----------------------------- | -------------------------------------------------------- |
| `{{ operator-index }}`        | every operator: family, dtypes, status, implementations  |
| `{{ operator-index FAMILY }}` | the operators of a family, or of one of its modules      |
| `{{ operator-replaces }}`     | PyTorch functions and their operators                    |
| `{{ performance-coverage }}`  | which operators are measured, in a sentence              |
| `{{ performance-summary }}`   | recorded measurements by family                          |
| `{{ performance-behind }}`    | rows behind their strongest peer, the worst first        |
| `{{ performance-failures }}`  | what failed, and what is stale                           |
| `{{ performance-ceilings }}`  | device, versions and ceilings of the runs                |
| `{{ host-cost }}`             | what a call costs the host                               |
| `{{ cpu-speed }}`             | what the CPU target took on a machine                    |
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from markdown.extensions import Extension
from markdown.preprocessors import Preprocessor

from tileops.spec import OpSpec, all_specs, load_family
from tileops_docs import performance_tables, where
from tileops_docs.cpu_speed import cpu_speed
from tileops_docs.page import OpPage
from tileops_docs.text import family_title, words
from tileops_docs.where import identifier, module

if TYPE_CHECKING:
    from markdown import Markdown

__all__ = ["TablesExtension", "operator_index", "operator_replaces"]

LINE = re.compile(r"\{\{ ([a-z-]+)(?: ([\w.]+))? \}\}")
FENCE = re.compile(r"^\s*(`{3,}|~{3,})")


def operator_index(family: str | None = None) -> list[str]:
    """Lines of the table of operators, of one family or of all."""
    specs = _of(family) if family else all_specs()
    lines = ['<div class="op-index" markdown>', ""]
    head = ["Operator", *([] if family else ["Family"]), "dtypes", "Status", "Implementations", "H200"]
    lines += [_row(head), _row(["---"] * len(head))]
    for spec in sorted(specs.values(), key=lambda s: (s.family, s.status != "implemented", s.name)):
        page = OpPage(spec, "")
        cells = [_link(spec)]
        cells += (
            [] if family else [f"[{family_title(spec.family)}]({PurePosixPath(where.page(spec.name)).name})"]
        )
        cells += [
            _dtypes(spec),
            _status(spec),
            ", ".join(f"`{name}`" for name in spec.implementations) or "–",
            _verified(page),
        ]
        lines.append(_row(cells))
    return [*lines, "", "</div>"]


def operator_replaces(_: str | None = None) -> list[str]:
    """Lines of the table from PyTorch functions to operators."""
    lines = [_row(["PyTorch", "Operator", "Status"]), _row(["---"] * 3)]
    for spec in sorted(all_specs().values(), key=lambda s: s.ref_api or ""):
        if spec.ref_api:
            lines.append(
                _row(
                    [
                        f"`{spec.ref_api}`",
                        _link(spec),
                        _status(spec),
                    ]
                )
            )
    return ["", *lines, ""]


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _link(spec: OpSpec) -> str:
    name = "<wbr>".join(words(spec.name))
    return f"[<code>{name}</code>][{identifier(spec.name)}]"


def _of(group: str) -> dict[str, OpSpec]:
    """The operators of a family, or of one of its modules: "elementwise", "elementwise_activation"."""
    wanted = group.replace(".", "_")
    found = {n: s for n, s in all_specs().items() if wanted in (s.family, module(n).replace(".", "_"))}
    return found or load_family(group)


def _dtypes(spec: OpSpec) -> str:
    page = OpPage(spec, "")
    names = [badge.text for badge in page.badges if badge.kind == "dtype"]
    return " ".join(f"`{name}`" for name in names)


def _status(spec: OpSpec) -> str:
    kind, text = ("good", "implemented") if spec.implemented else ("todo", "spec-only")
    return f'<span class="op-badge op-badge--{kind}">{text}</span>'


def _verified(page: OpPage) -> str:
    run = page.verification
    if run is None:
        return "–"
    kind, text = ("warn", "stale") if run.stale else ("good", "verified") if run.passed else ("bad", "failed")
    return f'<span class="op-badge op-badge--{kind}" title="{run.facts.get("date", "")}">{text}</span>'


TABLES: dict[str, Callable[[str | None], list[str]]] = {
    "operator-index": operator_index,
    "operator-replaces": operator_replaces,
    "performance-coverage": performance_tables.coverage,
    "performance-summary": performance_tables.summary,
    "performance-behind": performance_tables.behind,
    "performance-failures": performance_tables.failures,
    "performance-ceilings": performance_tables.ceilings,
    "host-cost": performance_tables.host_cost,
    "cpu-speed": cpu_speed,
}


class _Tables(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        out: list[str] = []
        fence = ""
        for line in lines:
            if found := FENCE.match(line):
                fence = "" if fence and found[1].startswith(fence) else fence or found[1]
            command = None if fence else LINE.fullmatch(line.strip())
            if command is None:
                out.append(line)
                continue
            if command[1] not in TABLES:
                raise ValueError(f"{line.strip()}: there is no such table; there are {', '.join(TABLES)}")
            out += TABLES[command[1]](command[2])
        return out


class TablesExtension(Extension):
    """Runs before every other preprocessor, so that the tables are Markdown like the rest of the page."""

    def extendMarkdown(self, md: Markdown) -> None:
        md.preprocessors.register(_Tables(md), "tileops-tables", priority=29)


def makeExtension(**options: Any) -> TablesExtension:
    return TablesExtension(**options)
