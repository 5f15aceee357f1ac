"""Values of the normalization programs on the CPU against their oracles, at the sizes where tiles end."""

import pytest
import torch

from tests.kernels.building import build, close, poisoned, randn
from tileops.kernels import normalization as kernels
from tileops.reference import normalization as oracles

RMS = [kernels.rms_norm, kernels.rms_norm_long]
LAYER = [kernels.layer_norm, kernels.layer_norm_long]


@pytest.mark.parametrize("factory", RMS)
@pytest.mark.parametrize(
    ("n", "dtype", "weight"),
    [
        (1, "float32", True),
        (3, "float16", True),
        (129, "bfloat16", False),
        (1032, "bfloat16", True),
        (8193, "float32", True),
    ],
)
def test_rms_norm(factory, n, dtype, weight):
    run = build(factory, ("x", "weight") if weight else ("x",), dtype, N=n)
    for m in (1, 2, 37):
        x, w = randn(m, n, dtype=dtype) * 3, randn(n, dtype=dtype, seed=1) if weight else None
        y = poisoned(m, n, dtype=dtype)
        run(x, w, y, 1e-5)
        close(y, oracles.rms_norm(x, w, normalized_shape=(n,), eps=1e-5), n)


@pytest.mark.parametrize("factory", LAYER)
@pytest.mark.parametrize(
    ("n", "dtype", "slots"),
    [
        (1, "float32", ("x",)),
        (3, "float16", ("x", "weight")),
        (129, "bfloat16", ("x", "bias")),
        (1032, "bfloat16", ("x", "weight", "bias")),
        (8193, "float32", ("x", "weight", "bias")),
    ],
)
def test_layer_norm(factory, n, dtype, slots):
    run = build(factory, slots, dtype, N=n)
    for m in (1, 33):
        x = randn(m, n, dtype=dtype) * 2 + 1
        w = randn(n, dtype=dtype, seed=1) if "weight" in slots else None
        b = randn(n, dtype=dtype, seed=2) if "bias" in slots else None
        y = poisoned(m, n, dtype=dtype)
        run(x, w, b, y, 1e-5)
        close(y, oracles.layer_norm(x, w, b, normalized_shape=(n,), eps=1e-5), n)


@pytest.mark.parametrize("factory", LAYER)
def test_layer_norm_of_a_large_mean(factory):
    """A single-pass variance would lose everything: the mean is 3e4 times the spread."""
    run = build(factory, ("x", "weight", "bias"), "float32", N=8193)
    x, w, b = randn(2, 8193) + 30000, torch.ones(8193), torch.zeros(8193)
    y = poisoned(2, 8193)
    run(x, w, b, y, 1e-5)
    want = oracles.layer_norm(x, w, b, normalized_shape=(8193,), eps=1e-5)
    assert (y - want).abs().max() < 1e-3  # half a unit in the last place of the mean, where it is rounded


@pytest.mark.parametrize("factory", LAYER)
@pytest.mark.parametrize("n", [3, 4096, 32768, 40000])
def test_layer_norm_of_equal_values_is_zero(factory, n):
    run, y = build(factory, ("x",), "float32", N=n), poisoned(2, n)
    run(torch.full((2, n), 1000.1), None, None, y, 1e-5)
    assert not y.any()


@pytest.mark.parametrize("factory", LAYER)
@pytest.mark.parametrize("outlier", [1e6, -3e38, float("inf"), float("nan")])
def test_layer_norm_of_rows_that_begin_with_an_outlier(factory, outlier):
    run, x, y = build(factory, ("x",), "float32", N=8193), 100 + randn(3, 8193), poisoned(3, 8193)
    x[1, 0] = outlier
    run(x, None, None, y, 1e-5)
    want = oracles.layer_norm(x.float(), None, None, normalized_shape=(8193,), eps=1e-5)
    torch.testing.assert_close(y[::2].double(), want[::2], rtol=1e-5, atol=1e-5)
    if abs(outlier) < 1e30:
        torch.testing.assert_close(y[1, 0].double(), want[1, 0], rtol=1e-4, atol=0)
    else:
        assert y[1].isnan().all() or not y[1].any()  # PyTorch: the variance is NaN or infinite


@pytest.mark.parametrize("factory", RMS)
@pytest.mark.parametrize(("n", "dtype"), [(1, "float32"), (129, "bfloat16"), (8193, "float16")])
def test_fused_add_rms_norm(factory, n, dtype):
    run = build(factory, ("x", "residual", "weight", "y", "residual_out"), dtype, N=n)
    for m in (1, 19):
        x, r, w = randn(m, n, dtype=dtype), randn(m, n, dtype=dtype, seed=1), randn(n, dtype=dtype, seed=2)
        y, s = poisoned(m, n, dtype=dtype), poisoned(m, n, dtype=dtype)
        run(x, r, w, y, s, 1e-6)
        want, total = oracles.fused_add_rms_norm(x, r, w, eps=1e-6)
        assert torch.equal(s.double(), total)
        close(y, want, n)


@pytest.mark.parametrize("factory", RMS)
def test_rms_norm_propagates_nan_and_infinity(factory):
    run = build(factory, ("x",), "bfloat16", N=129)
    x = randn(3, 129, dtype="bfloat16")
    x[0, 5], x[2, 128] = float("nan"), float("inf")
    y = poisoned(3, 129, dtype="bfloat16")
    run(x, None, y, 1e-5)
    close(y, oracles.rms_norm(x, None, normalized_shape=(129,), eps=1e-5))
