"""What the CPU target took on a machine, as `scripts/measure_cpu.py` recorded it."""

from __future__ import annotations

import json
from pathlib import Path

from tileops_docs.performance import number
from tileops_docs.sources import ROOT

__all__ = ["RECORD", "cpu_speed"]

RECORD = ROOT / "docs" / "data" / "cpu" / "measured.json"


def cpu_speed(_: str | None = None, record: Path = RECORD) -> list[str]:
    """Lines of the table of programs: compiling in seconds, a call in milliseconds, GFLOP/s."""
    how = "`python scripts/measure_cpu.py` measures it."
    if not record.is_file():
        return ["", f"Nothing is recorded yet; {how}", ""]
    data = json.loads(record.read_text(encoding="utf-8"))
    lines = ["| Program | Compiling, s | A call, ms | GFLOP/s |", "| --- | --: | --: | --: |"]
    for program in data["programs"]:
        cells = [program["what"], *(number(program[name]) for name in ("build_s", "ms", "gflops"))]
        lines.append(f"| {' | '.join(cells)} |")
    versions = ", ".join(f"{name} {version}" for name, version in data["versions"].items())
    said = (
        f"Measured on one thread of: {data['device']}, {data['date']}, {versions}. "
        f"Importing PyTorch and TileLang took {number(data['imports_s'])} s there. {how}"
    )
    return ["", *lines, "", said, ""]
