"""Batch, group and instance normalization beside PyTorch in float64: values, statistics, gradients."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

import tileops
from tests.kernels.building import close, randn

SHAPES = [(4, 8, 6, 8), (3, 5, 7, 7), (33, 70), (2, 1, 3), (1, 3, 2), (257, 9), (2, 2, 8200)]


def wide(*tensors: Any) -> list[Any]:
    return [t.double().clone() if isinstance(t, torch.Tensor) else t for t in tensors]


def arguments(shape: tuple[int, ...], dtype: str, affine: str) -> tuple[torch.Tensor, ...]:
    c = shape[1]
    x = randn(*shape, dtype=dtype) * 2 + 3
    factors = (randn(c, dtype=affine, seed=n) for n in (3, 4))
    return x, randn(c, seed=1), randn(c, seed=2).abs() + 0.5, *factors


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm(shape: tuple[int, ...], training: bool) -> None:
    dtype = ("float32", "float16", "bfloat16")[len(shape) % 3]
    x, mean, var, weight, bias = arguments(shape, dtype, "float32")
    wide_x, *others = wide(x, mean, var, weight, bias)
    y = tileops.BatchNormFwdOp(training=training, momentum=0.3)(x, mean, var, weight, bias)
    want = F.batch_norm(wide_x, *others, training, 0.3)
    close(y, want, 1000)
    close(mean, others[0], 1000)
    close(var, others[1], 1000)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("training", [True, False])
def test_gradients_of_batch_norm(shape: tuple[int, ...], training: bool) -> None:
    x, mean, var, weight, bias = arguments(shape, "float32", "float32")
    grad = randn(*shape, seed=9)
    mine = [t.clone().requires_grad_() for t in (x, weight, bias)]
    theirs = [t.double().requires_grad_() for t in (x, weight, bias)]
    tileops.BatchNormFwdOp(training=training)(mine[0], mean.clone(), var.clone(), *mine[1:]).backward(grad)
    F.batch_norm(theirs[0], *wide(mean, var), *theirs[1:], training).backward(grad.double())
    for one, other in zip(mine, theirs, strict=True):
        assert one.grad is not None and other.grad is not None
        scale = max(1.0, float(other.grad.abs().max()))
        torch.testing.assert_close(one.grad.double(), other.grad, rtol=2e-5, atol=2e-5 * scale)


def test_batch_norm_without_factors_is_differentiable() -> None:
    x, grad = randn(4, 3, 5), randn(4, 3, 5, seed=1)
    mine, theirs = x.clone().requires_grad_(), x.double().requires_grad_()
    tileops.BatchNormFwdOp(training=True)(mine).backward(grad)
    F.batch_norm(theirs, None, None, training=True).backward(grad.double())
    torch.testing.assert_close(mine.grad.double(), theirs.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("spatial", [(), (1,), (3,), (7, 7), (4, 8), (3000,)])
def test_group_norm(groups: int, spatial: tuple[int, ...]) -> None:
    dtype = ("float32", "float16", "bfloat16")[len(spatial)]
    x, _, _, weight, bias = arguments((3, 6, *spatial), dtype, dtype)
    y = tileops.GroupNormFwdOp(num_groups=groups)(x, weight, bias)
    close(y, F.group_norm(x.double(), groups, weight.double(), bias.double()), 1000)


@pytest.mark.parametrize("shape", [s for s in SHAPES if len(s) > 2])
@pytest.mark.parametrize("use_input_stats", [True, False])
def test_instance_norm(shape: tuple[int, ...], use_input_stats: bool) -> None:
    dtype = ("float32", "float16", "bfloat16")[len(shape) % 3]
    x, mean, var, weight, bias = arguments(shape, dtype, dtype)
    wide_x, *others = wide(x, mean, var, weight, bias)
    op = tileops.InstanceNormFwdOp(use_input_stats=use_input_stats, momentum=0.3)
    close(op(x, mean, var, weight, bias), F.instance_norm(wide_x, *others, use_input_stats, 0.3), 1000)
    close(mean, others[0], 1000)
    close(var, others[1], 1000)


@pytest.mark.parametrize(("shape", "width"), [((8, 2, 40), 1000), ((300, 2), 1), ((2, 2, 8200), 1)])
def test_a_large_mean_does_not_cancel_the_variance(shape: tuple[int, ...], width: int) -> None:
    x = randn(*shape) + 30000
    y = tileops.BatchNormFwdOp(training=True)(x)
    want = batch(x.double())
    assert (y - want).abs().max() < 1.2e-3  # half a unit in the last place of the mean
    if len(shape) > 2:
        y = tileops.GroupNormFwdOp(num_groups=1)(x)
        assert (y - F.group_norm(x.double(), 1)).abs().max() < 1.2e-3


@pytest.mark.parametrize("shape", [(8, 2, 40), (256, 70), (300, 2), (2, 2, 8200)])
def test_equal_values_have_that_mean_and_no_variance(shape: tuple[int, ...]) -> None:
    x, c = torch.full(shape, 1000.1), shape[1]
    mean, var = torch.zeros(c), torch.ones(c)
    assert not tileops.BatchNormFwdOp(training=True, momentum=1.0)(x, mean, var).any()
    assert torch.equal(mean, x[0].reshape(c, -1)[:, 0]) and not var.any()
    if len(shape) > 2:
        assert not tileops.GroupNormFwdOp(num_groups=1)(x).any()
        mean, var = torch.zeros(c), torch.ones(c)
        assert not tileops.InstanceNormFwdOp(momentum=1.0)(x, mean, var).any()
        torch.testing.assert_close(mean, x[0, :, 0], rtol=2e-7, atol=0)  # an average of the samples'
        assert not var.any()


def batch(x: torch.Tensor) -> torch.Tensor:
    return F.batch_norm(x, None, None, training=True)


def test_batches_without_channels_and_rows_without_values_are_empty() -> None:
    x = torch.randn(2, 0, 4)
    assert tileops.BatchNormFwdOp(training=True)(x).shape == batch(x).shape
    assert tileops.LayerNormFwdOp(normalized_shape=(0, 4))(x).shape == x.shape
    assert tileops.RMSNormFwdOp(normalized_shape=(0, 4))(x).shape == x.shape


@pytest.mark.parametrize(
    ("op", "twin", "shape"),
    [
        (tileops.BatchNormFwdOp(training=True), batch, (1, 4)),
        (tileops.BatchNormFwdOp(training=True), batch, (1, 0)),
        (tileops.BatchNormFwdOp(training=True), batch, (1, 4, 1)),
        (tileops.GroupNormFwdOp(num_groups=4), lambda x: F.group_norm(x, 4), (1, 4, 1)),
        (tileops.InstanceNormFwdOp(), F.instance_norm, (3, 4)),
        (tileops.InstanceNormFwdOp(), F.instance_norm, (3, 4, 1)),
    ],
)
def test_what_pytorch_refuses_is_refused(op: Any, twin: Any, shape: tuple[int, ...]) -> None:
    x = randn(*shape)
    with pytest.raises((ValueError, RuntimeError)):
        twin(x)
    with pytest.raises(tileops.CallError):
        op(x)


@given(
    n=st.integers(1, 4),
    per=st.integers(1, 3),
    groups=st.integers(1, 3),
    size=st.integers(2, 16),
    turned=st.booleans(),
)
@settings(max_examples=15, deadline=None, derandomize=True)
def test_any_shape_and_strides(n: int, per: int, groups: int, size: int, turned: bool) -> None:
    x = randn(n, per * groups, size, size)
    x = x.transpose(1, 2).contiguous().transpose(1, 2) if turned else x[..., ::2]
    close(tileops.GroupNormFwdOp(num_groups=groups)(x), F.group_norm(x.double(), groups), 300)
    close(tileops.BatchNormFwdOp(training=True)(x), batch(x.double()), 300)
