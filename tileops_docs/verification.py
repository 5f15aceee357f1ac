"""Recorded runs of the conformance suite on an H200, and whether they still speak of the current sources.

The file `docs/data/h200/verification.json` maps each operator to its run:

    {"device": "NVIDIA H200", "date": "2026-11-30", "driver": "580.65", "versions": {"torch": "2.11.0", ...},
     "ops": {"RMSNormFwdOp": {"kernel_hash": "...", "passed": 41, "failed": 0,
                              "results": [{"implementation": "rows", "dtypes": {"x": "bfloat16"}, "cases": 6,
                                           "max_error": 0.0039, "bound": 0.0078, "passed": true}]}}}

Every field of a run may stand beside `kernel_hash` instead, for operators that were run on another day.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from tileops_docs.sources import ROOT, current_hash

__all__ = ["RECORD", "Verification", "verification"]

RECORD = ROOT / "docs" / "data" / "h200" / "verification.json"


@dataclass(frozen=True)
class Verification:
    """What a run on an H200 found for one operator.

    Attributes:
        facts: Device, date, driver and versions, as shown.
        results: One entry for each implementation and dtype row.
        passed: Whether every test of the operator passed.
        counts: "41 tests passed" and the like; empty when the record does not say.
        recorded_hash: Hash of the kernel sources that ran.
        current_hash: Hash of the kernel sources now.
    """

    facts: dict[str, str]
    results: list[dict[str, Any]]
    passed: bool
    counts: str
    recorded_hash: str
    current_hash: str

    @property
    def stale(self) -> bool:
        """Whether the kernels changed since."""
        return self.recorded_hash != self.current_hash


def verification(op: str, record: Path = RECORD) -> Verification | None:
    """The run of one operator, or None when it was never run there."""
    data = _read(record)
    entry = data.get("ops", {}).get(op)
    if entry is None:
        return None
    run = {**data, **entry}
    versions = run.get("versions", {})
    facts = {name: str(run[name]) for name in ("device", "date", "driver") if run.get(name)}
    facts |= {name: str(version) for name, version in versions.items()}
    results = list(entry.get("results", []))
    failed = int(entry.get("failed", 0))
    passed = failed == 0 and all(result.get("passed", True) for result in results)
    counts = f"{entry['passed']} tests passed, {failed} failed" if "passed" in entry else ""
    return Verification(facts, results, passed, counts, str(entry["kernel_hash"]), current_hash(op))


@lru_cache(maxsize=8)
def _read(record: Path) -> dict[str, Any]:
    if not record.is_file():
        return {}
    data = json.loads(record.read_text(encoding="utf-8"))
    if not isinstance(data, dict):
        raise ValueError(f"{record}: must hold an object")
    return data
