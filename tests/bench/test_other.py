"""The other `tileops` in a process of its own; here a stand-in with the same layout."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tileops.bench import other
from tileops.bench.plan import cases
from tileops.spec import load

NORM = """
import torch
class RMSNormFwdOp:
    def __init__(self, normalized_shape, eps):
        self.shape, self.eps = normalized_shape, eps
    def __call__(self, x, weight=None):
        print("a library that talks")
        return torch.nn.functional.rms_norm(x, self.shape, weight, self.eps)
class FusedAddRMSNormFwdOp:
    def __init__(self, eps):
        self.eps = eps
    def __call__(self, x, residual, weight):
        return x, residual
"""
GEMM = """
import os
class GEMMFwdOp:
    def __init__(self, **params): ...
    def __call__(self, a, b):
        os._exit(7)
"""
ATTENTION = """
import torch
class GQADenseFwdOp:
    def __init__(self, is_causal, out_dtype, **params):
        assert out_dtype is None
        self.causal = is_causal
    def __call__(self, q, k, v):
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        attend = torch.nn.functional.scaled_dot_product_attention
        out = attend(q, k, v, is_causal=self.causal, enable_gqa=True)
        return out.transpose(1, 2)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("other")
    (root / "tileops-0.1.0.dist-info").mkdir()
    (root / "tileops").mkdir()
    for name, text in (("__init__", ""), ("norm", NORM), ("gemm", GEMM), ("attention", ATTENTION)):
        (root / "tileops" / f"{name}.py").write_text(text)
    return root


def test_each_row_is_measured_or_says_why_not(folder: Path) -> None:
    chosen = [cases(load(name), "cpu", small=True)[0] for name in other.CLASSES if name != "GemmFwdOp"]
    chosen += cases(load("GemmFwdOp"), "cpu", small=True)[:2]
    said: list[str] = []
    found = list(other.measure(folder, chosen, "cpu", 2, 1e-5, said.append))
    assert [case for case, _ in found] == chosen
    by_op = {case.spec.name: times for case, times in found}
    for name in ("RMSNormFwdOp", "GroupedQueryAttentionDenseFwdOp"):
        assert by_op[name]["us"] > 0 and by_op[name]["process"] == "its own", by_op[name]
        assert 0 < by_op[name]["error"] < 1e-3
    assert "a relative error of" in by_op["FusedAddRMSNormFwdOp"]["failed"]
    assert "has no attribute 'LayerNormFwdOp'" in by_op["LayerNormFwdOp"]["failed"]
    assert "No module named 'tileops.reduction'" in by_op["SoftmaxFwdOp"]["failed"]
    assert by_op["GemmFwdOp"] == {"failed": "its process ended with code 7"}
    assert said == ["tileops 0.1.0: its process ended with code 7 and left 2 cases"]


def test_the_process_ends_when_nobody_wants_the_rest(folder: Path) -> None:
    chosen = cases(load("RMSNormFwdOp"), "cpu", small=True)
    found = other.measure(folder, chosen, "cpu", 1000, 1.0, lambda _: None)
    found.close()
    found = other.measure(folder, chosen, "cpu", 2, 1e-5, lambda _: None)
    assert next(found)[1]["us"] > 0
    started = time.monotonic()
    found.close()
    assert time.monotonic() - started < 5


def test_a_folder_that_is_not_it_is_refused(tmp_path: Path, folder: Path) -> None:
    assert other.unusable(folder) is None
    assert "has no package tileops" in str(other.unusable(tmp_path))
    (tmp_path / "tileops").mkdir()
    (tmp_path / "tileops" / "__init__.py").touch()
    assert "has no metadata" in str(other.unusable(tmp_path))


def test_classes_are_ours() -> None:
    for name in other.CLASSES:
        assert load(name).implemented
