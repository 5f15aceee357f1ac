"""`python -m tileops.bench`: what it refuses, what it keeps, how it goes on after a crash."""

from __future__ import annotations

import json
import re
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from tileops.bench import cli, machine, results, session, worker
from tileops.bench.peer import Peer, peers

OP = "SoftmaxFwdOp"
BASE = ["--device", "cpu", "--op", OP, "--rows", "2", "--peers", "PyTorch", "--quick"]


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 2
    return capsys.readouterr().err.rpartition("error: ")[2].strip()


def test_bad_command_lines(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert (
        refused(capsys, "--op", "SoftmaxFwd")
        == "there is no operator 'SoftmaxFwd'; did you mean SoftmaxFwdOp?"
    )
    assert "is specified and not yet implemented: there is nothing to measure" in refused(
        capsys, "--op", "MoeUnpermuteFwdOp"
    )
    assert refused(capsys, "--family", "norms").startswith("there is no family 'norms'; ")
    assert refused(capsys, "--family", "moe").startswith("no operator of moe is implemented")
    assert refused(capsys, "--device", "cpu", "--peers", "PyTorch,cudnn").startswith(
        "there is no peer 'cudnn'; did you mean cuDNN"
    )
    assert refused(capsys, "--rounds", "0") == "--rounds must be at least 1, got 0"
    assert refused(capsys, "--minutes", "-1") == "--minutes must be positive, got -1"
    message = refused(capsys, *BASE, "--other-tileops", str(tmp_path))
    assert message == f"cannot measure here: {tmp_path} has no package tileops: unpack its wheel there"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    message = refused(capsys, "--op", OP)
    assert (
        message == "cannot measure here: there is no CUDA GPU; --device cpu tries the harness on small cases"
    )


def test_results_of_another_schema_are_refused_and_kept(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / f"{OP}.json"
    path.write_text('{"schema": 7, "op": "SoftmaxFwdOp", "rows": [], "runs": []}')
    assert "has schema 7, and this program writes 1" in refused(capsys, *BASE, "--out", str(tmp_path))
    assert json.loads(path.read_text())["schema"] == 7


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*BASE, "--list"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{OP}\n  B = [2, 3, 64], dim = -1")
    assert re.search(
        r"^cuDNN: .*GroupedQueryAttentionDenseFwdOp.* \(missing: does not run on cpu\)$", out, re.MULTILINE
    )


def test_a_run_from_the_shell(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*BASE, "--out", str(tmp_path), "--jobs", "1"]) == 0
    out = capfd.readouterr().out
    assert re.search(rf"^ready +{OP}\[", out, re.MULTILINE), "what compiles is compiled ahead"
    assert "[2/2] SoftmaxFwdOp" in out and "0:00 left" in out
    data = json.loads((tmp_path / f"{OP}.json").read_text())
    assert [row["dtypes"] for row in data["rows"]] == [{"input": "float16"}, {"input": "bfloat16"}]
    assert all(row["times"]["PyTorch"]["us"] > 0 and row["verdict"] for row in data["rows"])
    (run,) = data["runs"]
    assert (
        run["device"] == "cpu"
        and run["versions"]["torch"] == torch.__version__
        and run["ceilings"]["copy_tbs"] > 0
    )


class Run:
    """The measuring process, in this one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said: list[str] = []

    def __call__(self, *more: str, blamed: Any = (), started: str | None = None, began: float = 0.0) -> int:
        journal = self.folder / "journal.json"
        state = {"blamed": list(blamed), "current": None, "started": started, "began": began}
        journal.write_text(json.dumps(state))
        options = cli._parser().parse_args(
            [*BASE, "--out", str(self.folder / "out"), *more, "--journal", str(journal)]
        )
        specs = cli._chosen(cli._parser(), options)
        self.said.clear()
        return worker.work(options, specs, self.said.append)

    @property
    def rows(self) -> list[dict[str, Any]]:
        return list(json.loads((self.folder / "out" / f"{OP}.json").read_text())["rows"])


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(
        machine, "facts", lambda *_: {"device": "cpu", "driver": None, "date": "2026-11-30", "versions": {}}
    )
    return Run(tmp_path)


def test_what_is_measured_is_left_and_what_changed_is_not(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("--rows", "1") == 0
    (first,) = run.rows
    assert run() == 0
    assert run.rows[0]["measured"] == first["measured"] and len(run.rows) == 2
    assert "[1/1]" in " ".join(run.said)
    before = run.rows
    assert run() == 0
    assert run.said[0].startswith("everything is measured") and run.rows == before
    assert run("--again", started="2020-01-01") == 0
    assert run.rows == before, "measured since this command began"
    assert run("--again", started="2999-01-01") == 0
    assert run.rows != before
    monkeypatch.setattr(session, "kernel_hash", lambda _: "other")
    assert run("--rows", "1") == 0
    assert "[1/1]" in " ".join(run.said), "the kernels changed"


def test_a_new_peer_measures_the_row_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("--rows", "1", "--peers", "none") == 0
    assert "strongest" not in run.rows[0]
    assert run("--rows", "1") == 0
    assert run.rows[0]["strongest"] == "PyTorch"


def test_a_peer_that_raises_ends_with_code_1_and_loses_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = Peer("bad", devices=("cpu",))

    @bad.serves(OP)
    def softmax(call: Any) -> Any:
        raise RuntimeError("out of order")

    monkeypatch.setattr(worker, "peers", lambda: {**peers(), "bad": bad})
    assert run("--peers", "PyTorch,bad") == 1
    assert any("bad: RuntimeError: out of order" in text for text in run.said[-3:])
    assert all(row["times"]["PyTorch"]["us"] > 0 for row in run.rows)


def test_faster_than_light_ends_with_code_1(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        machine, "facts", lambda *_: {"device": "NVIDIA H200", "driver": "1", "date": "x", "versions": {}}
    )
    monkeypatch.setattr(worker.ceilings, "measure", lambda _: {"copy_tbs": 1e-12})
    assert run("--rows", "1") == 1
    assert any("its memory cost is counted wrong" in text for text in run.said)
    assert run.rows[0]["times"]["tileops"]["us"] > 0, "the row is kept"


def test_time_that_is_up_keeps_what_is_measured(run: Run) -> None:
    assert run("--minutes", "1") == 1, "the command began long ago"
    assert "the time is up: 2 cases are left; the same command continues" in run.said


def test_the_time_left_is_told_from_the_latest_cases() -> None:
    assert session.remaining([600.0], 5) == "50:00"
    assert session.remaining([600.0, 10.0, 12.0], 5) == "1:00", "the first case compiled for ten minutes"
    assert session.remaining([90.0] * 20 + [2.0] * session.LATEST, 40) == "1:20"


@pytest.mark.parametrize(("minutes", "seconds"), [(None, None), ("9", 180.0)])
def test_compiling_ahead_takes_a_third_of_the_time(
    run: Run, monkeypatch: pytest.MonkeyPatch, minutes: str | None, seconds: float | None
) -> None:
    limits: list[float | None] = []
    batches: list[Any] = []

    def warm(found: Any, flags: Any, jobs: int, say: Any, limit: float | None) -> None:
        limits.append(limit)
        batches.extend(found)

    monkeypatch.setattr(worker, "warm", warm)
    monkeypatch.setattr(worker, "build_keys", lambda *_: 0)
    assert run("--rows", "1", "--peers", "none") == 0
    more = [] if minutes is None else ["--minutes", minutes]
    assert run("--jobs", "1", "--peers", "torch.compile,PyTorch", *more, began=time.time()) == 0
    assert limits == [None if seconds is None else pytest.approx(seconds, abs=20)]
    assert sorted(unit for batch in batches for unit in batch) == [
        (OP, "torch.compile", 0),
        (OP, "torch.compile", 1),
    ]


def test_the_other_tileops_joins_the_rows(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    times = [{"us": 0.001, "error": 0.0}, {"failed": "no such class"}]
    monkeypatch.setattr(worker.other, "measure", lambda folder, chosen, *_: zip(chosen, times, strict=True))
    assert run("--other-tileops", str(tmp_path)) == 1, "one row failed"
    first, second = run.rows
    assert (first["strongest"], first["verdict"]) == ("tileops 0.1.0", "behind")
    assert second["times"]["tileops 0.1.0"] == {"failed": "no such class"}
    assert second["strongest"] == "PyTorch"
    monkeypatch.setattr(
        worker.other, "measure", lambda folder, chosen, *_: zip(chosen, times[:1], strict=True)
    )
    assert run("--other-tileops", str(tmp_path)) == 0, "only the failed row is tried again"


CRASH = """
import json, os, sys
path = sys.argv[sys.argv.index("--journal") + 1]
state = json.load(open(path))
print("blamed", state["blamed"], flush=True)
blamed = [name for _, _, name in state["blamed"]]
if {first!r} not in blamed:
    json.dump({{**state, "current": ["AFwdOp", "key", {first!r}]}}, open(path, "w"))
    os.kill(os.getpid(), 11)
"""


def supervise(tmp_path: Path, script: str) -> int:
    file = tmp_path / "script.py"
    file.write_text(textwrap.dedent(script))
    return cli.supervise([sys.executable, str(file)], tmp_path / "journal.json")


def test_a_crash_is_blamed_on_what_ran_and_the_rest_goes_on(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert supervise(tmp_path, CRASH.format(first="flashinfer")) == 1
    out = capfd.readouterr().out
    assert "flashinfer ended the measuring process with code -11: AFwdOp, key" in out
    assert "blamed [['AFwdOp', 'key', 'flashinfer']]" in out


def test_crashes_without_end_end(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script = CRASH.format(first="x").replace("'x' not in blamed", "True")
    assert supervise(tmp_path, script) == 1
    assert "ended 5 times" in capfd.readouterr().out


def test_exit_codes_of_the_measuring_process_are_passed_on(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert [supervise(tmp_path, f"raise SystemExit({code})") for code in (0, 1, 2, 130)] == [0, 1, 2, 130]
    assert supervise(tmp_path, "raise SystemExit(9)") == 1
    assert "ended with code 9 outside of a case" in capfd.readouterr().out


def test_a_lost_device_ends_the_process_with_its_own_code(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*_: Any) -> Any:
        raise worker.DeviceLost("flashinfer: an illegal memory access")

    codes: list[int] = []

    def leave(code: int) -> None:
        codes.append(code)
        raise SystemExit(code)

    monkeypatch.setattr(session, "measure", lost)
    monkeypatch.setattr(worker.os, "_exit", leave)
    with pytest.raises(SystemExit):
        run()
    assert codes == [worker.DEVICE_LOST]
    assert "an illegal memory access" in run.said[-1]


def test_schema_is_what_readers_expect() -> None:
    assert results.SCHEMA == 1
