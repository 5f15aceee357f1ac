"""Results files: one JSON file an operator, written after every case, and what follows from the times in it.

    {"schema": 1, "op": "RMSNormFwdOp", "family": "normalization",
     "runs": [{"device": "NVIDIA H200", "driver": "580.65", "date": "2026-11-30",
               "versions": {"torch": "2.11.0"},
               "ceilings": {"copy_tbs": 4.27, "read_tbs": 4.3, "bf16_tflops": 780.0, "fp8_tflops": 1300.0},
               "missing": {"flashinfer": "ModuleNotFoundError: No module named 'flashinfer'"}, "rounds": 12}],
     "rows": [{"key": "...", "label": "...", "sizes": "...", "dtypes": {"x": "bfloat16"}, "run": 0,
               "kernel_hash": "...", "implementation": "rows", "flops": 1, "bytes": 1,
               "times": {"tileops": {"us": 12.9, "low": 12.8, "high": 13.1, "rounds": 12, "error": 0.0017,
                                     "timer": "CUDA graph", "cold": "8 sets of inputs in turn"},
                         "flashinfer": {"failed": "..."}, "liger-kernel": {"unserved": "..."}},
               "bound": "memory", "rate": 2.6, "unit": "TB/s", "share": 0.61, "floor_us": 7.9,
               "strongest": "torch.compile", "ratio": 1.27, "verdict": "ahead"}]}

A row that could not be measured has `error` in place of what is derived.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

__all__ = ["OURS", "SCHEMA", "Results", "ResultsError", "derive", "problems", "shorten"]

SCHEMA = 1
OURS = "tileops"
LEVEL = 0.03
"""Ratios up to this far from 1 are level."""
MEMORY_NOISE, COMPUTE_NOISE = 1.02, 1.10
"""Shares of the speed of light that noise explains; above, the count of bytes or operations is wrong."""


class ResultsError(Exception):
    """A results file cannot be continued. The message says what to do; the file is left as it is."""


class Results:
    """The results of one operator on disk.

    Attributes:
        path: The file; it need not exist yet.
        data: What it holds, as the module's docstring says.
    """

    def __init__(self, folder: Path, op: str, family: str) -> None:
        self.path = folder / f"{op}.json"
        self.data: dict[str, Any] = {"schema": SCHEMA, "op": op, "family": family, "runs": [], "rows": []}
        if self.path.exists():
            self.data = read(self.path)
            if self.data["op"] != op:
                raise ResultsError(f"{self.path} holds results of {self.data['op']}, not of {op}")

    def row(self, key: str) -> dict[str, Any] | None:
        """The row of a call, or `None`."""
        return next((row for row in self.data["rows"] if row["key"] == key), None)

    def add_run(self, facts: dict[str, Any]) -> int:
        """The index of a run with these facts."""
        if facts not in self.data["runs"]:
            self.data["runs"].append(facts)
        return int(self.data["runs"].index(facts))

    def put(self, row: dict[str, Any], order: list[str]) -> None:
        """Replace or add a row. Rows stand in `order`, and those whose calls are gone are dropped."""
        kept = {r["key"]: r for r in self.data["rows"]} | {row["key"]: row}
        self.data["rows"] = [kept[key] for key in order if key in kept]
        used = sorted({r["run"] for r in self.data["rows"]})
        self.data["runs"] = [self.data["runs"][n] for n in used]
        for r in self.data["rows"]:
            r["run"] = used.index(r["run"])
        self.save()

    def save(self) -> None:
        """Write the file; a reader finds the old one or the new one, never a part."""
        text = json.dumps(self.data, indent=1) + "\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, self.path)


def read(path: Path) -> dict[str, Any]:
    """A results file.

    Raises:
        ResultsError: It is not JSON, or of another schema.
    """
    again = "measure into another folder (--out), or move the file away"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ResultsError(f"{path} is not JSON ({error}); {again}") from None
    if not isinstance(data, dict) or not {"schema", "op", "rows", "runs"} <= set(data):
        raise ResultsError(f"{path} is not a results file; {again}")
    if data["schema"] != SCHEMA:
        raise ResultsError(f"{path} has schema {data['schema']!r}, and this program writes {SCHEMA}; {again}")
    return data


def derive(row: dict[str, Any], run: dict[str, Any]) -> None:
    """Everything that follows from a row's times, its cost and the ceilings of its run."""
    for name in ("bound", "rate", "unit", "share", "floor_us", "strongest", "ratio", "verdict", "suspect"):
        row.pop(name, None)
    ours = row["times"].get(OURS, {}).get("us")
    if ours is None:
        return
    memory, compute = _floors(row, run["ceilings"])
    row["bound"] = "memory" if memory >= compute else "compute"
    row["unit"] = "TB/s" if row["bound"] == "memory" else "TFLOP/s"
    row["rate"] = (row["bytes"] if row["bound"] == "memory" else row["flops"]) / ours / 1e6
    if run["device"] != "cpu":  # there the caches of the machine would be measured
        row["floor_us"] = max(memory, compute)
        row["share"] = row["floor_us"] / ours
        limit = MEMORY_NOISE if row["bound"] == "memory" else COMPUTE_NOISE
        if row["share"] > limit:
            row["suspect"] = (
                f"{100 * row['share']:.0f} % of the speed of light: its {row['bound']} cost is counted wrong"
            )
    peers = {name: t["us"] for name, t in row["times"].items() if name != OURS and "us" in t}
    if peers:
        row["strongest"] = min(peers, key=lambda name: peers[name])
        row["ratio"] = peers[row["strongest"]] / ours
        row["verdict"] = verdict(row["ratio"])


def verdict(ratio: float) -> str:
    """`"behind"`, `"level"` or `"ahead"` of the strongest peer."""
    if ratio < 1 - LEVEL:
        return "behind"
    return "ahead" if ratio > 1 + LEVEL else "level"


def _floors(row: dict[str, Any], ceilings: dict[str, float | None]) -> tuple[float, float]:
    """Microseconds that moving the bytes takes at best, and computing the operations."""
    bandwidth = max(ceilings.get("copy_tbs") or 0.0, ceilings.get("read_tbs") or 0.0)
    low = any("float8" in str(dtype) for dtype in row["dtypes"].values())
    rate = (ceilings.get("fp8_tflops") if low else None) or ceilings.get("bf16_tflops")
    memory = row["bytes"] / bandwidth / 1e6 if bandwidth else 0.0
    return memory, row["flops"] / rate / 1e6 if rate else 0.0


def shorten(row: dict[str, Any]) -> None:
    """Round what was measured to five digits, which is more than any of it holds."""
    for entry in (row, *row["times"].values()):
        for name, value in entry.items():
            if isinstance(value, float):
                entry[name] = float(f"{value:.5g}")


def problems(row: dict[str, Any]) -> list[str]:
    """What is wrong with a row: each makes the command end with a non-zero code."""
    found = [row["error"]] if "error" in row else []
    found += [row["suspect"]] if "suspect" in row else []
    return found + [
        f"{name}: {t['failed']}" for name, t in row["times"].items() if "failed" in t and name != OURS
    ]
