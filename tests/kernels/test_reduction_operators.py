"""Reductions against PyTorch on the CPU: every dtype, special values, any shape, axes and strides."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import tileops
from tileops.spec import load

INF = math.inf
TWINS = {
    "AllFwdOp": torch.all,
    "AmaxFwdOp": torch.amax,
    "AminFwdOp": torch.amin,
    "AnyFwdOp": torch.any,
    "ArgmaxFwdOp": torch.argmax,
    "ArgminFwdOp": torch.argmin,
    "CountNonzeroFwdOp": torch.count_nonzero,
    "InfNormFwdOp": lambda x, dim: torch.linalg.vector_norm(x, INF, dim),
    "L1NormFwdOp": lambda x, dim: torch.linalg.vector_norm(x, 1, dim),
    "L2NormFwdOp": lambda x, dim: torch.linalg.vector_norm(x, 2, dim),
    "LogSumExpFwdOp": torch.logsumexp,
    "MeanFwdOp": torch.mean,
    "ProdFwdOp": torch.prod,
    "StdFwdOp": torch.std,
    "SumFwdOp": torch.sum,
    "VarFwdOp": torch.var,
}
ROWS = [(name, *row.values()) for name in TWINS for row in load(name).rows]
SPECIAL = [
    [1.0, math.nan, 2.0, math.nan],
    [-INF] * 4,
    [INF, 1.0, INF, -2.0],
    [INF, -INF, 0.0, 1.0],
    [0.0, -0.0, 0.0, -0.0],
    [-0.0, 0.0, 3.0, 3.0],
    [math.nan] * 4,
    [1e18, 1e18, -1e18, 1.0],
]


@pytest.mark.parametrize(("name", "dtype"), [row[:2] for row in ROWS])
def test_every_dtype(name, dtype):
    x = torch.randint(-2, 3, (5, 40)).to(getattr(torch, dtype))
    x[0], x[1] = 0, 1
    got, want = getattr(tileops, name)(dim=1)(x), TWINS[name](x, dim=1)
    torch.testing.assert_close(got, want)


@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize("axis", [1, 0])
def test_special_values(name, axis):
    x = torch.tensor(SPECIAL)
    x = x if axis == 1 else x.T.contiguous()
    got, want = getattr(tileops, name)(dim=axis)(x), TWINS[name](x, dim=axis)
    torch.testing.assert_close(got, want, equal_nan=True)


@pytest.mark.parametrize("name", ["SumFwdOp", "AmaxFwdOp", "VarFwdOp"])
@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_axes_and_strides(name, data):
    shape = data.draw(st.lists(st.integers(1, 5), max_size=5))
    dim = data.draw(st.none() | st.sets(st.integers(0, max(len(shape) - 1, 0)), min_size=1).map(tuple))
    order = data.draw(st.permutations(range(len(shape))))
    keepdim = data.draw(st.booleans())
    x = torch.randn([shape[i] for i in order]).permute([order.index(i) for i in range(len(shape))])
    dim = () if dim is None else dim
    got = getattr(tileops, name)(dim=dim, keepdim=keepdim)(x)
    want = TWINS[name](x, dim=dim, keepdim=keepdim)
    torch.testing.assert_close(got, want, equal_nan=True, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("correction", [0, 1, 2, 9])
def test_moments_of_few_elements_and_of_a_large_mean(correction):
    for n in (1, 2, 300):
        x = torch.randn(4, n, dtype=torch.float64) + 1e4
        want = torch.var_mean(x.float().double(), 1, correction=correction)
        got = tileops.VarMeanFwdOp(dim=1, correction=correction)(x.float())
        torch.testing.assert_close(got, tuple(w.float() for w in want), equal_nan=True, rtol=1e-3, atol=0)


def moments(x, axis):
    """Variance and mean along an axis that is the last one, or the first."""
    if axis:
        return [y[0] for y in tileops.VarMeanFwdOp(dim=1)(x.expand(3, -1).contiguous())]
    return [y[0] for y in tileops.VarMeanFwdOp(dim=0)(x[:, None].expand(-1, 5).contiguous())]


@pytest.mark.parametrize("axis", [1, 0])
@pytest.mark.parametrize(
    ("values", "var", "mean"),
    [
        ([1e8, 1e8 + 8, 1e8 + 16], 64.0, 1e8 + 8),
        ([1000.1] * 300, 0.0, 1000.1),
        ([1e6] + [0.0] * 299, 1e12 / 300, 1e6 / 300),
        ([1.0, 2.0, INF], math.nan, INF),
        ([-INF, 1.0], math.nan, -INF),
        ([INF, -INF], math.nan, math.nan),
        ([3e38, 3e38, -3e38], INF, 1e38),
        ([3e38, 3e38], 0.0, 3e38),
    ],
)
def test_moments_of_large_and_of_infinite_elements(values, var, mean, axis):
    got = moments(torch.tensor(values), axis)
    want = torch.tensor([var, mean])
    torch.testing.assert_close(torch.stack(got), want, rtol=3e-6, atol=0, equal_nan=True)


@pytest.mark.parametrize("shape", [(20001,), (3, 16400), (4, 2050, 3), (3, 17, 5, 9)])
def test_the_first_of_equal_elements_is_found_however_rows_are_split(shape):
    x = torch.zeros(shape)
    for axis in range(len(shape)):
        assert torch.equal(tileops.ArgmaxFwdOp(dim=axis)(x), x.argmax(axis))
        y = x.clone()
        y.select(axis, shape[axis] // 2).fill_(1)
        y.select(axis, shape[axis] - 1).fill_(1)
        assert torch.equal(tileops.ArgmaxFwdOp(dim=axis)(y), y.argmax(axis))
        assert torch.equal(tileops.ArgminFwdOp(dim=axis)(-y), y.argmax(axis))


@pytest.mark.parametrize("dim", [1, (1, 2), ()])
def test_the_norm_of_one_element_is_its_absolute_value(dim):
    x = torch.tensor([1e30, -1e-25, INF, -0.0]).view(4, 1, 1)
    x = x[:1] if dim == () else x
    assert torch.equal(tileops.L2NormFwdOp(dim=dim)(x), torch.linalg.vector_norm(x, 2, dim or None))


def test_log_sum_exp_of_integers_and_over_an_empty_list_of_axes():
    for dtype in (torch.int64, torch.uint8, torch.bool):
        x = torch.tensor([[0, 1, 3], [200, 1, 0]]).to(dtype)
        torch.testing.assert_close(tileops.LogSumExpFwdOp()(x), torch.logsumexp(x, -1))
    x = torch.randn(2, 3)
    op = tileops.LogSumExpFwdOp(dim=(), keepdim=True)
    torch.testing.assert_close(op(x), torch.logsumexp(x, (), keepdim=True))
    torch.testing.assert_close(tileops.LogSumExpFwdOp(dim=())(x[0, 0]), x[0, 0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8, torch.bool])
def test_all_of_nothing_is_one(dtype):
    for x in (torch.empty(0, dtype=dtype), torch.empty(2, 0, dtype=dtype)):
        assert torch.equal(tileops.AllFwdOp(dim=-1)(x), torch.all(x, -1))


def test_nothing_to_reduce():
    x = torch.empty(2, 0)
    for name, twin in TWINS.items():
        if name not in ("AmaxFwdOp", "AminFwdOp", "ArgmaxFwdOp", "ArgminFwdOp", "InfNormFwdOp"):
            got, want = getattr(tileops, name)(dim=1)(x), twin(x, dim=1)
            torch.testing.assert_close(got, want, equal_nan=True)
