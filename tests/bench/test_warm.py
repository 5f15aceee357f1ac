"""First calls of peers, made ahead in processes that share their imports."""

from __future__ import annotations

import json
import time

import pytest

from tileops.bench.warm import Unit, batches, main, warm


def test_slow_units_come_first_with_their_like_and_the_others_are_dealt_out_without_loss() -> None:
    slow = [Unit("SlowFwdOp", "peer", n) for n in range(6)] + [
        Unit("SlowFwdOp", "other", n) for n in range(3)
    ]
    others = [Unit("FastFwdOp", "peer", n) for n in range(7)]
    found = batches(slow, others, 2)
    assert found[:3] == [slow[:4], slow[6:], slow[4:6]], "what compiles in common is in one process"
    assert [len(batch) for batch in found[3:]] == [2, 2, 2, 1]
    assert sorted(unit for batch in found[3:] for unit in batch) == others
    assert batches([], [], 3) == []


@pytest.mark.parametrize("seconds", [0.0, 0.2])
def test_when_the_time_is_up_processes_end_and_the_terminal_says_so(seconds: float) -> None:
    found = [[Unit("SoftmaxFwdOp", "PyTorch", n)] for n in range(3)]
    said: list[str] = []
    started = time.monotonic()
    warm(found, ["--device", "cpu", "--cases"], 1, said.append, seconds)
    assert time.monotonic() - started < 5, "nothing waits for what they do"
    assert said == [
        f"compiling ahead for peers: 3 parts, 1 processes, at most {seconds:.0f} s",
        "  the time for it is up: up to 3 parts are compiled when they are measured",
    ]


def test_what_is_ready_in_time_is_told() -> None:
    said: list[str] = []
    warm([[Unit("SoftmaxFwdOp", "no such peer", 0)]], ["--device", "cpu", "--cases"], 1, said.append, 300.0)
    assert said[1].startswith("  (1/1) ") and "KeyError: 'no such peer'" in said[2]
    assert len(said) == 3


def test_a_unit_that_fails_is_named_and_the_next_has_its_turn(capsys: pytest.CaptureFixture[str]) -> None:
    batch = [["SoftmaxFwdOp", "no such peer", 0], ["SoftmaxFwdOp", "PyTorch", 0]]
    assert main([json.dumps(batch), "--device", "cpu", "--cases"]) == 1
    assert capsys.readouterr().out == "SoftmaxFwdOp no such peer: KeyError: 'no such peer'\n"
    assert main([json.dumps(batch[1:]), "--device", "cpu", "--cases"]) == 0
