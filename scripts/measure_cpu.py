"""Measure the CPU target on this machine, for the page Support: `python scripts/measure_cpu.py`.

Writes docs/data/cpu/measured.json: what compiling and one call of a few programs take, each compiled in an
empty cache folder. A program runs on one thread, so a call is given in processor time, which other work on
the machine hardly changes; compiling is given in wall time. The processor, date and versions are recorded.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "docs" / "data" / "cpu" / "measured.json"
ROUNDS, SECONDS = 7, 0.3
IMPORTS = "import torch, tilelang, tileops; tileops.Op"


def programs() -> list[tuple[str, Any, tuple[Any, ...]]]:
    """What is measured: in words, the operator, its tensors."""
    import tilelang  # noqa: F401  the first program would import it, and that is measured apart
    import torch

    import tileops

    torch.manual_seed(0)
    wide = torch.randn(512, 512)
    heads = torch.randn(1, 256, 4, 64)
    attention = tileops.GroupedQueryAttentionDenseFwdOp(is_causal=True)
    norm = tileops.RMSNormFwdOp(normalized_shape=(4096,))
    return [
        *(
            (f"GEMM, 512 x 512 x 512, {name}", tileops.GemmFwdOp(), (wide.to(dtype), wide.to(dtype)))
            for name, dtype in (("bfloat16", torch.bfloat16), ("float16", torch.float16))
        ),
        ("causal attention, 256 positions, 4 heads of 64, bfloat16", attention, (heads.bfloat16(),) * 3),
        ("RMSNorm, 512 rows of 4096, float32", norm, (torch.randn(512, 4096), torch.randn(4096))),
        ("softmax, 512 rows of 512, float32", tileops.SoftmaxFwdOp(dim=-1), (wide,)),
    ]


def measure(op: Any, tensors: tuple[Any, ...], seconds: float = SECONDS) -> dict[str, float]:
    """Seconds to build the program, milliseconds of a call (median of rounds), GFLOP/s."""
    started = time.perf_counter()
    op.build(*tensors)
    build = time.perf_counter() - started
    op(*tensors)
    rounds = [_round(op, tensors, seconds) for _ in range(ROUNDS)]
    ms = 1e3 * statistics.median(rounds)
    return {
        "build_s": round(build, 2),
        "ms": round(ms, 3),
        "gflops": round(op.eval_roofline().flops / ms / 1e6, 2),
    }


def _round(op: Any, tensors: tuple[Any, ...], seconds: float) -> float:
    """Seconds of processor time a call."""
    calls, started = 0, time.thread_time()
    while (passed := time.thread_time() - started) < seconds:
        op(*tensors)
        calls += 1
    return passed / calls


def facts() -> dict[str, Any]:
    """The machine, the date, the versions, and what the imports take in a process of their own."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", IMPORTS], cwd=ROOT, check=True)
    imports = time.perf_counter() - started
    compiler = subprocess.run(["g++", "-dumpfullversion"], capture_output=True, text=True, check=False)
    versions = {name: importlib.metadata.version(name) for name in ("torch", "tilelang")}
    return {
        "device": processor(),
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "versions": {"python": platform.python_version(), **versions, "g++": compiler.stdout.strip()},
        "imports_s": round(imports, 1),
    }


def processor() -> str:
    """The processor's name, as Linux says it."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def main() -> int:
    """Measure and write the record."""
    parser = argparse.ArgumentParser(
        description="Measure the CPU target on this machine, for the page Support."
    )
    parser.add_argument("--json", type=Path, default=RECORD, help="where to write (default: %(default)s)")
    path: Path = parser.parse_args().json
    found = facts()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TILELANG_CACHE_DIR"] = folder
        found["programs"] = [{"what": what, **measure(op, tensors)} for what, op, tensors in programs()]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    sys.stdout.write(f"{path.read_text(encoding='utf-8')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
