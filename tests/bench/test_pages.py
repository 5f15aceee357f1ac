"""Measurements on the pages: made-up records in a copy of the project, built as the site is."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.records import write
from tileops.spec import all_specs
from tileops_docs import performance_tables as tables
from tileops_docs.performance import all_performance, number, performance
from tileops_docs.performance_chart import chart

ROOT = Path(__file__).resolve().parents[2]
IMPLEMENTED = [spec.name for spec in all_specs().values() if spec.implemented]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("records")
    for op in ("GemmFwdOp", "RMSNormFwdOp"):
        write(root, op)
    return root


def test_rows_are_read_and_stale_ones_are_known(folder: Path) -> None:
    found = performance("RMSNormFwdOp", folder)
    assert found is not None and found.family == "normalization"
    assert [row.stale for row in found.rows] == [True] + [False] * (len(found.rows) - 1)
    assert found.stale and len(found.measured) == len(found.rows) - 1
    assert found.rows[-1].failed == "DeviceLost: <i>gone</i>"
    assert [row.verdict for row in found.rows[:3]] == ["behind", "level", "ahead"]
    first = found.rows[0]
    assert (first.strongest, round(first.ratio or 0, 2)) == ("PyTorch", 0.8)
    assert (first.error, first.torch_error) == (0.0017, 0.0023)
    assert first.time("flashinfer") == ("–", "two dimensions only")
    assert found.rows[1].time("liger-kernel")[0] == "failed"
    assert found.units == ["TB/s"] and found.peers == ["PyTorch", "liger-kernel", "flashinfer"]
    assert "fla-core" in found.missing
    assert performance("SoftmaxFwdOp", folder) is None


def test_both_units_where_rows_are_bound_by_both(folder: Path) -> None:
    found = performance("GemmFwdOp", folder)
    assert found is not None and sorted(found.units) == ["TB/s", "TFLOP/s"]
    for row in found.measured:
        assert [bool(row.rate(unit)) for unit in found.units].count(True) == 1


def test_the_summary_counts(folder: Path) -> None:
    lines = tables.summary(None, folder)
    assert "[Normalization](api/normalization.md)" in "".join(lines)
    (total,) = (line for line in lines if "**all**" in line)
    cells = [cell.strip() for cell in total.strip("|").split("|")]
    found = all_performance(folder)
    rows = [row for one in found for row in one.measured]
    assert cells[1:3] == ["2", str(sum(len(one.rows) for one in found))]
    assert sum(map(int, cells[3:6])) == len(rows)
    assert cells[7] == "0.80"


def test_what_is_measured_is_said_as_it_is(folder: Path, tmp_path: Path) -> None:
    assert "No measurement is recorded" in tables.coverage(None, tmp_path)[1]
    some = "\n".join(tables.coverage(None, folder))
    assert f"Recorded: 2 of {len(IMPLEMENTED)} implemented operators, on Made-up GPU." in some
    assert re.search(r"^- Reduction: all \d+$", some, re.MULTILINE), "a family without a row is counted"
    (gemm,) = (line for line in some.splitlines() if line.startswith("- GEMM: "))
    assert "`BmmFwdOp`" in gemm and "`GemmFwdOp`" not in gemm, "and of another one the missing are named"
    for op in IMPLEMENTED:
        write(tmp_path / "all", op)
    whole = tables.coverage(None, tmp_path / "all")[1]
    assert whole == f"Recorded: all {len(IMPLEMENTED)} implemented operators, on Made-up GPU."


def test_what_is_behind_stands_worst_first(folder: Path, tmp_path: Path) -> None:
    lines = [line for line in tables.behind(None, folder) if "**" in line]
    ratios = [float(re.findall(r"\*\*(\S+)\*\*", line)[0]) for line in lines]
    assert ratios and ratios == sorted(ratios) and max(ratios) < 0.97
    assert tables.behind(None, tmp_path) == ["", tables.NOTHING, ""]


def test_failures_name_peers_and_stale_rows(folder: Path) -> None:
    text = "\n".join(tables.failures(None, folder))
    assert "liger-kernel failed at" in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt; \\| no kernel" in text
    assert "1 of" in text and "stale" in text


def test_host_costs_are_shown_as_recorded(tmp_path: Path) -> None:
    measured = {"target": "hopper", "lengths": 1000, "tensors": 3, "limit": 8.0, "met": True}
    data = {
        "machine": {"gpu": "Made-up GPU"},
        "us": [
            {"operator": "RMSNormFwdOp", "call": 12.34, "launch": 6.0, "overhead": 6.34, **measured},
            {"operator": "x + x", "call": 8.9, "launch": None, "overhead": None, **measured},
        ],
    }
    (tmp_path / "host_cost.json").write_text(json.dumps(data))
    lines = [line for line in tables.host_cost(None, tmp_path) if line.startswith("|")]
    assert "| `RMSNormFwdOp` | hopper | 1000 | 12.3 | 6 | 6.34 | 8 | " in lines[2] and "met" in lines[2]
    assert lines[3].endswith("| 8.9 |  |  |  |  |")


def test_the_chart_has_a_bar_and_a_mark_a_row(folder: Path) -> None:
    found = performance("RMSNormFwdOp", folder)
    assert found is not None
    svg = chart(found)
    assert svg.count("<rect") == svg.count("op-chart__peer") == len(found.measured)
    assert set(re.findall(r"op-chart__bar--(\w+)", svg)) == {"good", "plain", "bad"}
    assert "style=" not in svg and "fill=" not in svg, "colours come from the page"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12.345, "12.3"),
        (4213.7, "4214"),
        (0.0019341, "0.00193"),
        (3.2e-7, "3.2e-07"),
        (0.0, "0"),
        (None, ""),
        (100, "100"),
    ],
)
def test_numbers(value: float | None, text: str) -> None:
    assert number(value) == text


@pytest.fixture
def built(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    for name in (
        "docs",
        "templates",
        "tileops",
        "tileops_docs",
        "manifest",
        "mkdocs.yml",
        "CHANGELOG.md",
        "README.md",
    ):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, root / name, ignore=shutil.ignore_patterns("__pycache__", "data"))
        else:
            shutil.copy(source, root / name)
    for op in ("GemmFwdOp", "RMSNormFwdOp"):
        write(root / "docs" / "data" / "h200", op)
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict"],
        cwd=root,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return root / "site"


@pytest.mark.slow
def test_the_built_pages_show_the_measurements(built: Path) -> None:
    text = (built / "api" / "normalization.html").read_text(encoding="utf-8")
    start = text.index('data-op="RMSNormFwdOp"')
    block = text[start : text.index("data-op=", start + 1)]
    assert 'data-performance="stale"' in block
    assert block.count("data-workload=") == block.count("<rect") + 1
    assert re.findall(r'data-verdict="(\w+)"', block)[:3] == ["behind", "level", "ahead"]
    assert block.count("data-stale") == 1
    assert "<script>alert" not in block and "<i>gone" not in block
    shown = html.unescape(re.sub(r"<[^>]+>", " ", block))
    for words in (
        "Time, µs",
        "TB/s",
        "Speed of light, %",
        "Strongest peer",
        "DeviceLost: <i>gone</i>",
        "PyTorch's error",
    ):
        assert words in shown
    other = text[text.index('data-op="LayerNormFwdOp"') :]
    assert 'data-performance="none"' in other

    text = (built / "performance.html").read_text(encoding="utf-8")
    shown = html.unescape(re.sub(r"<[^>]+>", " ", text))
    assert "Made-up GPU" in shown and "0.80" in shown
    assert "{{" not in text
    assert "<script>alert" not in text
    assert (built / "data" / "h200" / "RMSNormFwdOp.json").is_file()
