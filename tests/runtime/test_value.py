"""An operator is a value: what it shows, equals, and survives."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch

import tileops
from tileops.errors import CallError

OPS = [
    tileops.RMSNormFwdOp(normalized_shape=(64,)),
    tileops.RMSNormFwdOp(normalized_shape=[2, 32], eps=0.5, target="cpu", implementation="long_rows"),
    tileops.SoftmaxFwdOp(),
    tileops.GemmFwdOp(trans_a=True),
    tileops.GroupedQueryAttentionDenseFwdOp(softcap=2, out_dtype=torch.float16),
    tileops.SumFwdOp(dim=(0, -1)),
]
GEMMS = ", ".join(map(repr, tileops.GemmFwdOp.spec.implementations))


class Tuned(tileops.SoftmaxFwdOp):
    """A user's subclass: its own constructor, an attribute, a method."""

    def __init__(self, label: str) -> None:
        super().__init__(dim=-1)
        self.label = label

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return super().forward(input) * 2


def test_repr_shows_what_is_not_default() -> None:
    assert [repr(op) for op in OPS] == [
        "RMSNormFwdOp(normalized_shape=(64,))",
        "RMSNormFwdOp(normalized_shape=(2, 32), eps=0.5, target='cpu', implementation='long_rows')",
        "SoftmaxFwdOp()",
        "GemmFwdOp(trans_a=True)",
        "GroupedQueryAttentionDenseFwdOp(softcap=2.0, out_dtype=torch.float16)",
        "SumFwdOp(dim=(0, -1))",
    ]


def test_repr_is_a_call_that_makes_it_again() -> None:
    for op in OPS:
        assert eval(f"tileops.{op!r}", {"tileops": tileops, "torch": torch}) == op


NAN = tileops.ClampScalarFwdOp(min=float("nan"))


@pytest.mark.parametrize("op", [*OPS, NAN], ids=repr)
def test_copies_and_pickles_are_equal(op: tileops.Op) -> None:
    for other in (copy.copy(op), copy.deepcopy(op), pickle.loads(pickle.dumps(op))):
        assert other is not op
        assert other == op
        assert hash(other) == hash(op)
        assert repr(other) == repr(op)


def test_equality_is_by_class_params_target_and_implementation() -> None:
    assert len(set(OPS)) == len(OPS)
    a = tileops.RMSNormFwdOp(normalized_shape=(64,))
    assert a == tileops.RMSNormFwdOp(normalized_shape=[64], eps=1e-6)
    assert a != tileops.LayerNormFwdOp(normalized_shape=(64,), eps=1e-6)
    assert a != tileops.RMSNormFwdOp(normalized_shape=(64,), eps=1e-5)
    assert a != tileops.RMSNormFwdOp(normalized_shape=(64,), target="cpu")
    assert a != tileops.RMSNormFwdOp(normalized_shape=(64,), implementation="rows")
    assert a != "RMSNormFwdOp(normalized_shape=(64,))"


def test_a_call_does_not_change_the_value() -> None:
    op = tileops.SoftmaxFwdOp(dim=-1)
    before = hash(op), repr(op), pickle.dumps(op)
    op(torch.randn(2, 8))
    assert (hash(op), repr(op), pickle.dumps(op)) == before
    assert op == tileops.SoftmaxFwdOp(dim=-1)


def test_params_read_as_attributes_and_cannot_be_written() -> None:
    op = tileops.RMSNormFwdOp(normalized_shape=[64], eps=1)
    assert (op.normalized_shape, op.eps) == ((64,), 1.0)
    assert type(op.eps) is float
    assert op.params == {"normalized_shape": (64,), "eps": 1.0}
    with pytest.raises(AttributeError, match="no setter"):
        op.eps = 2.0
    op.params["eps"] = 3.0  # a copy
    assert op.eps == 1.0


def test_a_users_subclass_works_and_is_copied_with_its_attributes() -> None:
    x = torch.randn(3, 8)
    op = Tuned("mine")
    torch.testing.assert_close(op(x), 2 * torch.softmax(x, -1))
    for other in (copy.deepcopy(op), pickle.loads(pickle.dumps(op))):
        assert type(other) is Tuned
        assert (other, other.label, other.dim) == (op, "mine", -1)
        assert torch.equal(other(x), op(x))
    assert op != tileops.SoftmaxFwdOp(dim=-1)
    assert repr(op) == "Tuned(dim=-1)"


def test_a_deep_copied_module_keeps_its_operator() -> None:
    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = tileops.RMSNormFwdOp(normalized_shape=(8,))

    block = Block()
    assert copy.deepcopy(block).norm == block.norm


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: tileops.RMSNormFwdOp(normalized_shape=64),
            "RMSNormFwdOp: normalized_shape must be tuple[int, ...], got 64 of type int",
        ),
        (
            lambda: tileops.RMSNormFwdOp(normalized_shape=(64,), eps="1e-6"),
            "RMSNormFwdOp: eps must be float, got '1e-6' of type str",
        ),
        (
            lambda: tileops.GemmFwdOp(trans_a=1),
            "GemmFwdOp: trans_a must be bool, got 1 of type int",
        ),
        (
            lambda: tileops.SoftmaxFwdOp(dim=True),
            "SoftmaxFwdOp: dim must be int | None, got True of type bool",
        ),
        (
            lambda: tileops.GroupedQueryAttentionDenseFwdOp(pos_encoding_mode="alibi"),
            "GroupedQueryAttentionDenseFwdOp: pos_encoding_mode must be one of 'none', 'rope', got 'alibi'",
        ),
        (
            lambda: tileops.GroupedQueryAttentionDenseFwdOp(out_dtype="float16"),
            "GroupedQueryAttentionDenseFwdOp: out_dtype must be dtype | None, got 'float16' of type str",
        ),
        (
            lambda: tileops.RMSNormFwdOp(normalized_shape=()),
            "RMSNormFwdOp: normalized_shape must name at least one axis (got normalized_shape=())",
        ),
        (
            lambda: tileops.GroupedQueryAttentionDenseFwdOp(window_size_left=-2),
            "GroupedQueryAttentionDenseFwdOp: window sizes must be at least -1 (unlimited) "
            "(got window_size_left=-2, window_size_right=-1)",
        ),
        (
            lambda: tileops.AvgPool2dFwdOp(kernel_size=(7, 7, 7)),
            "AvgPool2dFwdOp: kernel_size must be one number or two, got (7, 7, 7)",
        ),
        (
            lambda: tileops.MaxPool1dFwdOp(kernel_size=2, stride=(1, 2)),
            "MaxPool1dFwdOp: stride must be one number, got (1, 2)",
        ),
        (
            lambda: tileops.Conv3dFwdOp(stride=(1, 1)),
            "Conv3dFwdOp: stride must be one number or three, got (1, 1)",
        ),
        (
            lambda: tileops.MaxPool2dFwdOp(kernel_size=3, padding=2),
            "MaxPool2dFwdOp: padding must be at most half of kernel_size (got padding=2, kernel_size=3)",
        ),
        (
            lambda: tileops.MeanPoolingFwdOp(chunk_size=2**63),
            "MeanPoolingFwdOp: chunk_size must fit 64 bits, got 9223372036854775808",
        ),
        (
            lambda: tileops.GemmFwdOp(implementation="fast"),
            f"GemmFwdOp: implementation='fast' does not exist; there are {GEMMS}",
        ),
        (
            lambda: tileops.MoeUnpermuteFwdOp(implementation="fast"),
            "MoeUnpermuteFwdOp: implementation='fast' does not exist; there are none",
        ),
        (
            lambda: tileops.GemmFwdOp(target="tpu"),
            "GemmFwdOp: target must be one of 'hopper', 'cpu', got 'tpu'",
        ),
    ],
)
def test_a_wrong_param_is_refused_by_the_constructor(make, message: str) -> None:
    with pytest.raises(CallError) as caught:
        make()
    assert str(caught.value) == message


def test_params_are_keywords_and_the_base_is_no_operator() -> None:
    with pytest.raises(TypeError, match="positional"):
        tileops.RMSNormFwdOp((64,))
    with pytest.raises(TypeError, match="dtype"):
        tileops.RMSNormFwdOp(normalized_shape=(64,), dtype=torch.float16)
    with pytest.raises(TypeError, match="normalized_shape"):
        tileops.RMSNormFwdOp()
    with pytest.raises(TypeError, match="base of operators"):
        tileops.Op()


def test_a_target_that_cannot_run_here_is_refused_by_the_constructor() -> None:
    from tileops import targets

    reason = targets.get("hopper").unavailable()
    if reason is None:
        assert tileops.GemmFwdOp(target="hopper") == tileops.GemmFwdOp(target="hopper")
        return
    with pytest.raises(tileops.UnsupportedDeviceError) as caught:
        tileops.GemmFwdOp(target="hopper")
    assert str(caught.value) == f"GemmFwdOp: target='hopper' cannot run here: {reason}"
