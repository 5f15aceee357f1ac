"""Results files: what follows from times, what is refused, and that no write can lose a row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tileops.bench.results import Results, ResultsError, derive, problems

RUN = {
    "device": "NVIDIA H200",
    "ceilings": {"copy_tbs": 4.0, "read_tbs": 3.0, "bf16_tflops": 800.0, "fp8_tflops": 1600.0},
}


def row(ours: float | None, peers: dict[str, Any], **facts: Any) -> dict[str, Any]:
    times: dict[str, Any] = {name: {"us": us} if isinstance(us, float) else us for name, us in peers.items()}
    if ours is not None:
        times = {"tileops": {"us": ours}, **times}
    return {
        "key": "k",
        "dtypes": {"x": "bfloat16"},
        "flops": 0,
        "bytes": 40_000_000,
        "times": times,
        "run": 0,
        **facts,
    }


def test_a_memory_bound_row() -> None:
    found = row(20.0, {"slow": 40.0, "fast": 25.0, "gone": {"failed": "no"}, "absent": {"unserved": "no"}})
    derive(found, RUN)
    assert found["bound"] == "memory" and found["unit"] == "TB/s"
    assert found["rate"] == pytest.approx(2.0)
    assert found["floor_us"] == pytest.approx(10.0)
    assert found["share"] == pytest.approx(0.5)
    assert (found["strongest"], found["ratio"], found["verdict"]) == ("fast", 1.25, "ahead")
    assert problems(found) == ["gone: no"]


def test_a_compute_bound_row_uses_the_rate_of_its_dtype() -> None:
    found = row(200.0, {}, flops=80_000_000_000)
    derive(found, RUN)
    assert (found["bound"], found["unit"], found["rate"]) == ("compute", "TFLOP/s", 400.0)
    assert found["share"] == pytest.approx(0.5)
    assert "strongest" not in found
    low = row(200.0, {}, flops=80_000_000_000, dtypes={"q": "float8_e4m3fn"})
    derive(low, RUN)
    assert low["share"] == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("peer", "verdict"), [(9.6, "behind"), (9.8, "level"), (10.2, "level"), (10.4, "ahead")]
)
def test_the_verdict(peer: float, verdict: str) -> None:
    found = row(10.0, {"peer": peer}, bytes=1)
    derive(found, RUN)
    assert found["verdict"] == verdict


def test_faster_than_light_is_a_problem() -> None:
    found = row(9.0, {})
    derive(found, RUN)
    assert found["suspect"] == "111 % of the speed of light: its memory cost is counted wrong"
    assert problems(found) == [found["suspect"]]
    found["times"]["tileops"]["us"] = 12.0
    derive(found, RUN)
    assert problems(found) == []


def test_a_cpu_has_no_share_and_a_failed_row_no_verdict() -> None:
    found = row(1.0, {"peer": 2.0})
    derive(found, {"device": "cpu", "ceilings": {"copy_tbs": 0.01}})
    assert "share" not in found and found["verdict"] == "ahead"
    failed = row(None, {"peer": 2.0}, error="ValueError: no")
    derive(failed, RUN)
    assert "verdict" not in failed
    assert problems(failed) == ["ValueError: no"]


def test_rows_stand_in_order_and_runs_without_rows_go(tmp_path: Path) -> None:
    results = Results(tmp_path, "AFwdOp", "family")
    for date, key in (("1", "b"), ("2", "gone"), ("3", "a"), ("3", "b")):
        found = {**row(1.0, {}), "key": key}
        found["run"] = results.add_run({"date": date})
        results.put(found, ["a", "b"] if key != "gone" else ["gone", "b"])
    again = Results(tmp_path, "AFwdOp", "family")
    assert [r["key"] for r in again.data["rows"]] == ["a", "b"]
    assert again.data["runs"] == [{"date": "3"}]
    assert [r["run"] for r in again.data["rows"]] == [0, 0]
    assert again.row("a") is not None and again.row("gone") is None
    assert [path.name for path in tmp_path.iterdir()] == ["AFwdOp.json"], "no temporary file is left"


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    results = Results(tmp_path, "AFwdOp", "family")
    results.add_run({"date": "1"})
    results.put(row(1.0, {}), ["k"])
    before = results.path.read_text()
    with pytest.raises(TypeError):
        results.put({**row(1.0, {}), "bad": object()}, ["k"])
    assert results.path.read_text() == before
    assert len(list(tmp_path.iterdir())) == 1, "no temporary file is left"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is not JSON"),
        ("[]", "is not a results file"),
        ('{"rows": []}', "is not a results file"),
        ('{"schema": 2, "op": "AFwdOp", "rows": [], "runs": []}', "has schema 2, and this program writes 1"),
        ('{"schema": 1, "op": "BFwdOp", "rows": [], "runs": []}', "holds results of BFwdOp, not of AFwdOp"),
    ],
)
def test_a_file_that_cannot_be_continued_is_refused_and_kept(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "AFwdOp.json"
    path.write_text(text)
    with pytest.raises(ResultsError, match=says) as caught:
        Results(tmp_path, "AFwdOp", "family")
    assert str(path) in str(caught.value)
    assert path.read_text() == text


def test_the_file_is_json_that_people_can_read(tmp_path: Path) -> None:
    results = Results(tmp_path, "AFwdOp", "family")
    results.add_run({"date": "1"})
    results.put(row(1.0, {}), ["k"])
    assert json.loads(results.path.read_text())["schema"] == 1
    assert results.path.read_text().count("\n") > 10
