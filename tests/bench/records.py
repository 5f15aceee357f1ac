"""Made-up results files for tests of the pages. Nothing here was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tileops.bench.plan import Case, cases
from tileops.bench.results import Results, derive
from tileops.spec import load
from tileops_docs.sources import current_hash

RUN: dict[str, Any] = {
    "device": "Made-up GPU",
    "driver": "1.2.3",
    "date": "2000-01-01",
    "versions": {"torch": "0.0.1", "tilelang": "0.0.2", "cuda": "0.3", "liger-kernel": "0.4"},
    "missing": {"fla-core": "ModuleNotFoundError: No module named 'fla' <b>"},
    "rounds": 12,
    "ceilings": {"copy_tbs": 4.0, "read_tbs": 4.2, "bf16_tflops": 800.0, "fp8_tflops": None},
}
FACTORS = (0.8, 1.0, 1.6)  # of the strongest peer's time to ours


def times(us: float, error: float = 0.0017) -> dict[str, Any]:
    how = {"rounds": 12, "timer": "CUDA graph", "cold": "8 sets of inputs in turn"}
    return {"us": us, "low": us * 0.99, "high": us * 1.02, **how, "error": error}


def row(case: Case, n: int) -> dict[str, Any]:
    floor = max(case.cost.bytes / 4.2e6, case.cost.flops / 800e6)
    ours = floor / 0.7 + 2
    other: dict[str, Any] = (
        {"failed": "RuntimeError: <script>alert(1)</script> | no kernel"} if n % 4 == 1 else times(ours * 3)
    )
    return {
        "key": case.key, "label": case.label, "sizes": case.sizes, "dtypes": dict(case.row), "run": 0,
        "kernel_hash": current_hash(case.spec.name), "flops": case.cost.flops, "bytes": case.cost.bytes,
        "times": {
            "tileops": times(ours),
            "PyTorch": times(ours * FACTORS[n % 3], 0.0023),
            "liger-kernel": other,
            "flashinfer": {"unserved": "two dimensions only"},
        },
    }  # fmt: skip


def write(folder: Path, op: str) -> dict[str, Any]:
    """The file of one operator: ahead, level and behind in turn, the last row failed, the first one stale."""
    found = cases(load(op), "hopper", small=False)
    results = Results(folder, op, load(op).family)
    results.add_run(RUN)
    for n, case in enumerate(found):
        made = row(case, n)
        if n == 0:
            made["kernel_hash"] = "0" * 16
        if n == len(found) - 1:
            made |= {
                "error": "DeviceLost: <i>gone</i>",
                "times": {"tileops": {"failed": "DeviceLost: <i>gone</i>"}},
            }
        derive(made, RUN)
        results.put(made, [case.key for case in found])
    return results.data
