"""What the CPU target takes: measured by the script, shown as recorded."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import torch

import tileops
from tileops_docs.cpu_speed import RECORD, cpu_speed

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "measure_cpu.py"


def test_the_record_is_shown() -> None:
    data = json.loads(RECORD.read_text(encoding="utf-8"))
    text = "\n".join(cpu_speed())
    assert all(f"| {program['what']} | " in text for program in data["programs"])
    assert data["device"] in text
    assert data["date"] in text


def test_without_a_record_the_page_says_so(tmp_path: Path) -> None:
    assert "Nothing is recorded yet" in cpu_speed(None, tmp_path / "measured.json")[1]


def test_the_script_measures() -> None:
    spec = importlib.util.spec_from_file_location("measure_cpu", SCRIPT)
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    found = script.measure(tileops.SoftmaxFwdOp(dim=-1), (torch.randn(4, 128),), 1e-4)
    assert set(found) == {"build_s", "ms", "gflops"}
    assert found["ms"] > 0
    assert script.processor()
