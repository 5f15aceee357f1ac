"""First calls of peers, made ahead in processes that share their imports."""

from __future__ import annotations

import json

import pytest

from tileops.bench.warm import Unit, batches, main


def test_slow_units_come_first_and_alone_and_the_others_are_dealt_out_without_loss() -> None:
    alone = [Unit("SlowFwdOp", "peer", n) for n in range(2)]
    others = [Unit("FastFwdOp", "peer", n) for n in range(7)]
    found = batches(alone, others, 2)
    assert found[:2] == [[alone[0]], [alone[1]]]
    assert [len(batch) for batch in found[2:]] == [2, 2, 2, 1]
    assert sorted(unit for batch in found[2:] for unit in batch) == others
    assert batches([], [], 3) == []


def test_a_unit_that_fails_is_named_and_the_next_has_its_turn(capsys: pytest.CaptureFixture[str]) -> None:
    batch = [["SoftmaxFwdOp", "no such peer", 0], ["SoftmaxFwdOp", "PyTorch", 0]]
    assert main([json.dumps(batch), "--device", "cpu", "--cases"]) == 1
    assert capsys.readouterr().out == "SoftmaxFwdOp no such peer: KeyError: 'no such peer'\n"
    assert main([json.dumps(batch[1:]), "--device", "cpu", "--cases"]) == 0
