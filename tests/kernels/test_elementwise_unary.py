"""Unary elementwise operators against PyTorch: every 16-bit number, special values, integers, layouts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import tileops
from tests.kernels.building import DTYPES
from tileops.reference import elementwise as oracles

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
NAN, INF = math.nan, math.inf
SPECIAL = torch.tensor(
    [
        *(
            NAN,
            INF,
            -INF,
            0.0,
            -0.0,
            1e-45,
            -1e-40,
            1.2e-38,
            -1e-6,
            0.5,
            -0.5,
            1.5,
            2.5,
            -2.5,
            -1.0,
            3.0,
            -3.0,
        ),
        *(20.5, -20.5, 88.8, -104.0, 105615.0, -1e7, 2.0**24 + 2, 3e38, -3e38),
    ]
)

FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    **{n: getattr(torch, n.lower()) for n in ("Exp", "Expm1", "Log", "Log1p", "Sqrt", "Rsqrt", "Reciprocal")},
    **{n: getattr(torch, n.lower()) for n in ("Sin", "Cos", "Tanh", "Sigmoid", "Erf", "Abs", "Neg", "Sign")},
    **{n: getattr(torch, n.lower()) for n in ("Floor", "Ceil", "Trunc", "Round")},
    **{n: getattr(F, n.lower()) for n in ("Relu", "Elu", "Selu", "Hardtanh", "Hardsigmoid", "Silu", "Mish")},
    "LeakyRelu": F.leaky_relu,
    "Softplus": F.softplus,
    "Hardswish": lambda x: x * F.hardsigmoid(x),  # F.hardswish overflows before it divides
    "Gelu": lambda x: oracles.gelu(x, approximate="none"),  # MKL's is NaN at infinity
}
TESTS = {n: getattr(torch, n) for n in ("isnan", "isinf", "isfinite", "logical_not")}
CANCELS = {"Gelu": 1e-6}  # PyTorch forms 1 + erf(x) in float32 too


def op(name: str, **params: Any) -> Callable[..., Tensor]:
    return getattr(tileops, f"{name}FwdOp")(**params)


def every(dtype: torch.dtype) -> Tensor:
    """All numbers of a 16-bit dtype."""
    return torch.arange(-(2**15), 2**15).to(torch.int16).view(dtype)


def order(x: Tensor) -> Tensor:
    """Integers in the order of the floats: neighbours differ by 1, zeros of both signs not at all."""
    bits = x.view(torch.int32 if x.element_size() == 4 else torch.int16).long()
    least = torch.iinfo(torch.int32 if x.element_size() == 4 else torch.int16).min
    return torch.where(bits < 0, least - bits, bits)


def near(got: Tensor, want: Tensor, places: int, slack: float = 0.0) -> None:
    """Equal to within `places` neighbours or `slack`; NaN, and the signs of zeros, where PyTorch has them."""
    rounded = want.to(got.dtype)
    assert torch.equal(got.isnan(), rounded.isnan())
    there = ~rounded.isnan()
    got, rounded = got[there], rounded[there]
    far = (order(got) - order(rounded)).abs() > places
    far &= ~((got.double() - want[there]).abs() <= slack)
    assert not far.any(), (got[far][:5], rounded[far][:5])
    zeros = (got == 0) & (rounded == 0)
    assert torch.equal(got[zeros].signbit(), rounded[zeros].signbit())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_number_of_16_bits(name: str, dtype: str) -> None:
    x = every(DTYPES[dtype])
    near(op(name)(x), FUNCTIONS[name](x.double()), 1, 1e-12 if name in CANCELS else 0.0)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_float32_at_all_magnitudes(name: str) -> None:
    generator = torch.Generator().manual_seed(0)
    exponents = torch.rand(9000, generator=generator) * 252 - 126
    random = torch.randn(9000, generator=generator).sign() * torch.exp2(exponents)
    x = torch.cat([SPECIAL, random, torch.randn(9000, generator=generator) * 8])
    near(op(name)(x), FUNCTIONS[name](x.double()), 6, CANCELS.get(name, 1e-37))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gelu_with_tanh(dtype: str) -> None:
    x = every(DTYPES[dtype])
    near(op("Gelu", approximate="tanh")(x), oracles.gelu(x, approximate="tanh"), 1, 1e-12)


@pytest.mark.parametrize("name", TESTS)
def test_tests_of_elements(name: str) -> None:
    test = op("".join(word.capitalize() for word in name.split("_")))
    for x in (SPECIAL, every(torch.float16), every(torch.bfloat16), torch.tensor([True, False])):
        assert torch.equal(test(x), TESTS[name](x))
    for dtype in INTEGERS:
        assert torch.equal(test(extremes(dtype)), TESTS[name](extremes(dtype)))


def extremes(dtype: torch.dtype) -> Tensor:
    """The ends of an integer dtype's range, what is next to them and to zero, and what no float32 holds."""
    info = torch.iinfo(dtype)
    near_ends = [info.min, info.min + 1, info.max - 1, info.max]
    middle = [v for v in (-1, 0, 1, 2, -3, 2**24 + 1, 2**53 + 1) if info.min <= v <= info.max]
    return torch.tensor([*near_ends, *middle] * 800, dtype=dtype)  # more than a block


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_are_exact(dtype: torch.dtype) -> None:
    x = extremes(dtype)
    for name in ("Abs", "Neg", "Sign", "Floor", "Ceil", "Trunc", "Round", "Relu"):
        assert torch.equal(op(name)(x), FUNCTIONS[name](x)), name
    assert torch.equal(op("BitwiseNot")(x), ~x)
    assert torch.equal(op("NanToNum")(x), x)
    for low, high in ((1, None), (None, 2), (3, 1), (0, 100)):
        assert torch.equal(op("ClampScalar", min=low, max=high)(x), torch.clamp(x, low, high)), (low, high)
    assert torch.equal(op("Hardtanh", min_val=0.7, max_val=2.9)(x), F.hardtanh(x, 0.7, 2.9))
    near(op("Sqrt")(x), torch.sqrt(x.double()), 1)
    near(op("Sigmoid")(x), torch.sigmoid(x.double()), 4, 1e-37)


def test_booleans() -> None:
    x = torch.tensor([True, False, True] * 3000)
    assert torch.equal(op("BitwiseNot")(x), ~x)
    assert torch.equal(op("Sign")(x), x)
    assert torch.equal(op("NanToNum")(x), x)
    near(op("Exp")(x), torch.exp(x.double()), 1)


def test_elu_is_the_identity_from_zero_on_for_any_alpha() -> None:
    x = torch.tensor([0.0, -0.0, math.nan, -1.0, 2.0, -math.inf])
    for alpha in (math.inf, -math.inf, 1.0):
        y = tileops.EluFwdOp(alpha=alpha)(x)
        torch.testing.assert_close(y, F.elu(x, alpha), equal_nan=True)


@pytest.mark.parametrize("bounds", [(math.nan, 1.0), (-1.0, math.nan), (-math.inf, math.inf)])
def test_hardtanh_takes_bounds_that_are_no_numbers_as_pytorch_does(bounds: tuple[float, float]) -> None:
    x, (low, high) = torch.tensor([-3.0, 0.5, 3.0]), bounds
    y = tileops.HardtanhFwdOp(min_val=low, max_val=high)(x)
    torch.testing.assert_close(y, F.hardtanh(x, low, high), equal_nan=True)
    with pytest.raises(tileops.CallError, match="the bounds of integers must be finite"):
        tileops.HardtanhFwdOp(min_val=low, max_val=high)(x.int())


BOUNDS = [
    (-0.5, None),
    (None, 0.25),
    (-0.5, 0.25),
    (0.5, 0.25),
    (NAN, 1.0),
    (0.5, NAN),
    (-INF, INF),
    (INF, None),
]


@pytest.mark.parametrize(("low", "high"), BOUNDS)
def test_clamp(low: float | None, high: float | None) -> None:
    got, want = op("ClampScalar", min=low, max=high)(SPECIAL), torch.clamp(SPECIAL, low, high)
    torch.testing.assert_close(got, want, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "numbers", [(0.0, None, None), (0.5, None, -7.0), (NAN, 1e30, None), (1.0, INF, -INF)]
)
def test_nan_to_num(dtype: str, numbers: tuple[float, float | None, float | None]) -> None:
    x = SPECIAL.to(DTYPES[dtype])
    names = ("nan", "posinf", "neginf")
    got, want = op("NanToNum", **dict(zip(names, numbers, strict=True)))(x), torch.nan_to_num(x, *numbers)
    torch.testing.assert_close(got, want, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("decimals", [-39, -2, -1, 1, 3, 7])
def test_round_to_a_decimal_place(decimals: int) -> None:
    x = torch.cat([SPECIAL, torch.arange(-2000, 2000) / 8, torch.arange(-500, 500) * 0.05])
    got, want = op("Round", decimals=decimals)(x), torch.round(x, decimals=decimals)
    torch.testing.assert_close(got, want, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize(("beta", "threshold"), [(2.0, 15.0), (0.5, -1.0), (-1.0, 20.0), (0.0, 20.0)])
def test_softplus(beta: float, threshold: float) -> None:
    x = torch.cat([SPECIAL, torch.linspace(-40, 40, 1001)])
    want = F.softplus(x.double(), beta, threshold)
    torch.testing.assert_close(
        op("Softplus", beta=beta, threshold=threshold)(x), want.float(), rtol=2e-6, atol=1e-37, equal_nan=True
    )


@pytest.mark.parametrize(
    "name", ["Relu", "Silu", "Mish", "Selu", "Elu", "LeakyRelu", "Hardtanh", "Hardswish"]
)
def test_in_place(name: str) -> None:
    x = torch.randn(3, 3000)
    want = op(name)(x)
    assert op(name, inplace=True)(x) is x
    assert torch.equal(x, want)
    turned = torch.randn(3000, 3).t()
    want = op(name)(turned)
    assert op(name, inplace=True)(turned) is turned
    assert torch.equal(turned, want)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    shape=st.lists(st.integers(0, 9), max_size=4),
    start=st.integers(0, 3),
    step=st.integers(1, 3),
    turn=st.integers(0, 3),
    name=st.sampled_from(["Neg", "Floor", "Isnan"]),
)
def test_shapes_and_strides(shape: list[int], start: int, step: int, turn: int, name: str) -> None:
    sizes = [size * step + start for size in shape]
    x = torch.randn(sizes)[tuple(slice(start, None, step) for _ in shape)]
    x = x.permute([(d + turn) % x.dim() for d in range(x.dim())])
    want = getattr(torch, name.lower())(x)
    got = op(name)(x)
    assert got.shape == want.shape
    assert torch.equal(got, want)


@pytest.mark.parametrize("seq_len", [1, 70000])
def test_far_positions_are_as_accurate_as_near_ones(seq_len: int) -> None:
    got = op("Sinusoidal", seq_len=seq_len, d_model=16, dtype=torch.float32)(device="cpu")
    want = oracles.sinusoidal(seq_len=seq_len, d_model=16, dtype=torch.float32)
    assert (got - want).abs().max() < 1e-6
