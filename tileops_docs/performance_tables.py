"""Tables of the page Performance, from the recorded measurements."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

from tileops.spec import all_specs, families
from tileops_docs.performance import RECORDS, VERDICTS, Performance, Row, all_performance, number
from tileops_docs.text import family_title
from tileops_docs.where import identifier, page

__all__ = ["behind", "ceilings", "coverage", "failures", "host_cost", "summary"]

NOTHING = "Nothing is recorded yet."


def coverage(_: str | None = None, folder: Path = RECORDS) -> list[str]:
    """Which implemented operators are measured, and on what."""
    wanted = {spec.name: spec.family for spec in all_specs().values() if spec.implemented}
    found = all_performance(folder)
    if not found:
        return ["", "No measurement is recorded in this version.", ""]
    devices = dict.fromkeys(str(row.run["device"]) for one in found for row in one.rows)
    where = _text(" and ".join(devices))
    have = {one.op for one in found}
    if have >= set(wanted):
        return ["", f"Recorded: all {len(wanted)} implemented operators, on {where}.", ""]
    missing = {
        family: [name for name, own in wanted.items() if own == family and name not in have]
        for family in dict.fromkeys(wanted.values())
    }
    named = [
        f"{family_title(family)}: {', '.join(f'`{name}`' for name in names)}"
        if any(wanted[name] == family for name in have)
        else f"{family_title(family)}: all {len(names)}"
        for family, names in missing.items()
        if names
    ]
    said = f"Recorded: {len(have)} of {len(wanted)} implemented operators, on {where}. Not measured:"
    return ["", said, "", *(f"- {line}" for line in named), ""]


def summary(family: str | None = None, folder: Path = RECORDS) -> list[str]:
    """One line a family, or with a family one line an operator."""
    found = [one for one in all_performance(folder) if family in (None, one.family)]
    if not found:
        return ["", NOTHING, ""]
    head = ["Operator" if family else "Family", "Operators", "Rows", "Ahead", "Level", "Behind"]
    head += ["Speed of light, median %", "Worst ratio"]
    lines = [_line(head), _line(["---", *["--:"] * 7])]
    for name in sorted({one.family for one in found}, key=list(families()).index):
        lines.append(_summary(name, [one for one in found if one.family == name]))
    lines.append(_summary("**all**", found))
    return _table(lines)


def _summary(title: str, found: list[Performance]) -> str:
    rows = [row for one in found for row in one.measured]
    verdicts = [sum(row.verdict == verdict for row in rows) for verdict in VERDICTS]
    shares = sorted(row.share for row in rows if row.share is not None)
    ratios = [row.ratio for row in rows if row.ratio is not None]
    total = sum(len(one.rows) for one in found)
    pages = {page(one.op) for one in found}
    name = title if title.startswith("*") else family_title(title)
    if not title.startswith("*"):  # a family in several pages is the index's to show
        name = f"[{name}]({pages.pop() if len(pages) == 1 else 'api/index.md'})"
    median = f"{100 * shares[len(shares) // 2]:.0f}" if shares else ""
    worst = f"{min(ratios):.2f}" if ratios else ""
    return _line([name, str(len(found)), str(total), *map(str, verdicts), median, worst])


def behind(_: str | None = None, folder: Path = RECORDS) -> list[str]:
    """Every row that is behind its strongest peer, the worst first."""
    found = [row for one in all_performance(folder) for row in one.measured if row.verdict == "behind"]
    if not all_performance(folder):
        return ["", NOTHING, ""]
    if not found:
        return ["", "No row is behind.", ""]
    head = ["Operator", "Workload", "dtype", "Time, µs", "Strongest peer", "Its time, µs", "Ratio"]
    lines = [_line(head), _line(["---", "---", "---", "--:", "---", "--:", "--:"])]
    for row in sorted(found, key=lambda row: row.ratio or 0.0):
        stale = ' <span class="op-badge op-badge--warn">stale</span>' if row.stale else ""
        cells = [_op(row), _text(row.label) + stale, f"`{row.dtypes}`", number(row.us), _text(row.strongest)]
        lines.append(_line([*cells, number(row.peer_us), f"**{row.ratio:.2f}**"]))
    return _table(lines)


def failures(_: str | None = None, folder: Path = RECORDS) -> list[str]:
    """Rows without a time, rows that are stale, and what peers failed at."""
    lines: list[str] = []
    for one in all_performance(folder):
        lines += [f"- {_op(row)}, {_text(row.label)}: {_text(row.failed)}" for row in one.rows if row.failed]
        if stale := sum(row.stale for row in one.rows):
            lines.append(
                f"- {_op(one.rows[0])}: {stale} of {len(one.rows)} rows are stale: its kernels changed since"
            )
        for peer in one.peers:
            failed = [row for row in one.rows if "failed" in row.data["times"].get(peer, {})]
            if failed:
                why = _text(failed[0].data["times"][peer]["failed"])
                lines.append(f"- {_text(peer)} failed at {len(failed)} rows of {_op(failed[0])}: {why}")
    return [
        "",
        *(lines or ["Nothing failed, and no row is stale." if all_performance(folder) else NOTHING]),
        "",
    ]


def ceilings(_: str | None = None, folder: Path = RECORDS) -> list[str]:
    """Device, versions and ceilings of every run."""
    runs: list[dict[str, Any]] = []
    for row in (row for one in all_performance(folder) for row in one.rows):
        if row.run not in runs:
            runs.append(row.run)
    if not runs:
        return ["", NOTHING, ""]
    head = [
        "Device",
        "Date",
        "Driver",
        "torch",
        "tilelang",
        "Copy, TB/s",
        "Read, TB/s",
        "bf16, TFLOP/s",
        "fp8, TFLOP/s",
    ]
    lines = [_line(head), _line([*["---"] * 5, *["--:"] * 4])]
    for run in sorted(runs, key=lambda run: str(run["date"])):
        versions, best = run["versions"], run["ceilings"]
        cells = [
            run["device"],
            run["date"],
            run.get("driver") or "",
            versions.get("torch", ""),
            versions.get("tilelang", ""),
        ]
        cells += [number(best.get(name)) for name in ("copy_tbs", "read_tbs", "bf16_tflops", "fp8_tflops")]
        lines.append(_line(cells))
    peers = {
        n: v for run in runs for n, v in run["versions"].items() if n not in ("torch", "tilelang", "tileops")
    }
    return _table(
        lines, f"Versions: {', '.join(f'{name} {version}' for name, version in peers.items())}.", ""
    )


def host_cost(_: str | None = None, folder: Path = RECORDS) -> list[str]:
    """What a call costs the host, from `benchmarks/host_cost.py`."""
    path = folder / "host_cost.json"
    if not path.is_file():
        return ["", NOTHING, ""]
    data = json.loads(path.read_text(encoding="utf-8"))
    head = [
        "Operator",
        "Target",
        "Lengths",
        "Call, µs",
        "Bare launch, µs",
        "Difference (median of rounds), µs",
        "Goal, µs",
        "",
    ]
    lines = [_line(head), _line(["---", "---", *["--:"] * 5, "---"])]
    for result in data["us"]:
        bare = result["overhead"] is not None
        kind, text = ("good", "met") if result["met"] else ("bad", "missed")
        badge = f'<span class="op-badge op-badge--{kind}">{text}</span>' if bare else ""
        cells = [f"`{result['operator']}`", result["target"], str(result["lengths"]), number(result["call"])]
        cells += [
            number(result["launch"]),
            number(result["overhead"]),
            number(result["limit"]) if bare else "",
            badge,
        ]
        lines.append(_line(cells))
    machine = ", ".join(f"{name} {value}" for name, value in data["machine"].items())
    return _table(lines, f"Measured on: {machine}.", "")


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _op(row: Row) -> str:
    return f"[`{row.op}`][{identifier(row.op)}]"


def _table(lines: list[str], *after: str) -> list[str]:
    return ['<div class="op-records" markdown>', "", *lines, "", "</div>", "", *after]


def _text(text: str | None) -> str:
    """Text of a record in Markdown, where nothing in it is markup."""
    marked = "".join(f"\\{c}" if c in "\\`*_{}[]|#" else c for c in escape(str(text), quote=False))
    return marked.replace("\n", " ")
