"""Running sums and products against PyTorch on the CPU: every dtype, pieces, special values, any axis."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import tileops
from tileops.spec import load

TWINS = {"CumsumFwdOp": torch.cumsum, "CumprodFwdOp": torch.cumprod}
ROWS = [(name, row["input"]) for name in TWINS for row in load(name).rows]


@pytest.mark.parametrize(("name", "dtype"), ROWS)
def test_every_dtype(name, dtype):
    x = torch.randint(-2, 3, (5, 40)).to(getattr(torch, dtype))
    torch.testing.assert_close(getattr(tileops, name)(dim=1)(x), TWINS[name](x, 1))


@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize("shape", [(2, 6151), (1, 2048), (1, 2049), (300, 5), (65, 130)])
def test_pieces_start_from_what_came_before(name, shape):
    x = 1 + torch.randn(shape, dtype=torch.float64) / 100
    for axis in (0, 1):
        got = getattr(tileops, name)(dim=axis)(x.float())
        torch.testing.assert_close(got.double(), TWINS[name](x, axis), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", TWINS)
def test_special_values_spread_to_what_comes_after(name):
    x = torch.ones(3, 40)
    x[0, 7], x[1, 20], x[1, 30], x[2, 11], x[2, 12] = math.nan, math.inf, -math.inf, 0.0, math.inf
    torch.testing.assert_close(getattr(tileops, name)()(x), TWINS[name](x, -1), equal_nan=True)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(shape=st.lists(st.integers(1, 6), max_size=4), data=st.data())
def test_any_axis_and_strides(shape, data):
    dim = data.draw(st.integers(-max(len(shape), 1), max(len(shape), 1) - 1))
    x = torch.randn(shape[::-1]).permute(tuple(reversed(range(len(shape)))))
    torch.testing.assert_close(tileops.CumsumFwdOp(dim=dim)(x), x.cumsum(dim), rtol=1e-5, atol=1e-5)
