"""Python-Markdown extension: a line `{{ name }}` of a page becomes a table computed from the manifest.

| line                          | becomes                                                  |
| ----------------------------- | -------------------------------------------------------- |
| `{{ operator-index }}`        | every operator, with a form that filters and sorts them  |
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
from typing import TYPE_CHECKING, Any

from markdown.extensions import Extension
from markdown.preprocessors import Preprocessor

from tileops_docs import performance_tables
from tileops_docs.cpu_speed import cpu_speed
from tileops_docs.operator_index import operator_index, operator_replaces

if TYPE_CHECKING:
    from markdown import Markdown

__all__ = ["TABLES", "TablesExtension", "expanded"]

LINE = re.compile(r"\{\{ ([a-z-]+)(?: ([\w.]+))? \}\}")
FENCE = re.compile(r"^\s*(`{3,}|~{3,})")


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


def expanded(
    lines: list[str], tables: dict[str, Callable[[str | None], list[str]]] | None = None
) -> list[str]:
    """The lines of a page with each table in its place; what stands in a fence stays.

    Raises:
        ValueError: A line names a table that does not exist.
    """
    tables = TABLES if tables is None else tables
    out: list[str] = []
    fence = ""
    for line in lines:
        if found := FENCE.match(line):
            fence = "" if fence and found[1].startswith(fence) else fence or found[1]
        command = None if fence else LINE.fullmatch(line.strip())
        if command is None:
            out.append(line)
            continue
        if command[1] not in tables:
            raise ValueError(f"{line.strip()}: there is no such table; there are {', '.join(tables)}")
        out += tables[command[1]](command[2])
    return out


class _Tables(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        return expanded(lines)


class TablesExtension(Extension):
    """Runs before every other preprocessor, so that the tables are Markdown like the rest of the page."""

    def extendMarkdown(self, md: Markdown) -> None:
        md.preprocessors.register(_Tables(md), "tileops-tables", priority=29)


def makeExtension(**options: Any) -> TablesExtension:
    return TablesExtension(**options)
