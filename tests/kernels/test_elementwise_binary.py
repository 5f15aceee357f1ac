"""The elementwise programs of several operands against PyTorch: special values, integer extremes, shapes."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import tileops
from tileops.kernels.elementwise.broadcasting import MOST, launches, merged, reciprocal
from tileops.spec import load

FLOATS = ("float32", "bfloat16", "float16")
VALUES = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 7.5, 65504.0, -1e-3, math.inf, -math.inf, math.nan)
TWO = {
    "Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Div": torch.div, "FloorDivide": torch.floor_divide,
    "Remainder": torch.remainder, "Pow": torch.pow, "Maximum": torch.maximum, "Minimum": torch.minimum,
    "Eq": torch.eq, "Ne": torch.ne, "Gt": torch.gt, "Lt": torch.lt, "Ge": torch.ge, "Le": torch.le,
    "LogicalAnd": torch.logical_and, "LogicalOr": torch.logical_or, "BitwiseAnd": torch.bitwise_and,
    "BitwiseOr": torch.bitwise_or, "BitwiseXor": torch.bitwise_xor,
}  # fmt: skip
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "bool")
PAIRS = [
    (name, dtype)
    for name in TWO
    for dtype in (*FLOATS, *INTEGERS)
    if dtype in {row["input"] for row in load(f"{name}FwdOp").rows}
]


def special(dtype: str) -> torch.Tensor:
    """Values at which an operator may go wrong."""
    kind = getattr(torch, dtype)
    if dtype == "bool":
        return torch.tensor([False, True])
    if dtype in FLOATS:
        return torch.tensor(VALUES).to(kind)
    ends = torch.iinfo(kind)
    near = range(-4, 5) if dtype != "uint8" else range(9)
    return torch.tensor([*near, ends.min, ends.min + 1, ends.max - 1, ends.max, ends.max // 3], dtype=kind)


def pairs(dtype: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Every value beside every value."""
    a, b = torch.meshgrid(special(dtype), special(dtype), indexing="ij")
    return a.contiguous(), b.contiguous()


def same(got: torch.Tensor, want: torch.Tensor, exact: bool) -> None:
    """Equal; floats that are computed may be a rounding apart."""
    tolerance = {"rtol": 0.0, "atol": 0.0} if exact else {"rtol": torch.finfo(want.dtype).eps, "atol": 1e-30}
    torch.testing.assert_close(got, want, equal_nan=True, **tolerance)


@pytest.mark.parametrize(("name", "dtype"), PAIRS)
def test_special_values_of_two_operands(name: str, dtype: str) -> None:
    a, b = pairs(dtype)
    if name in ("FloorDivide", "Remainder") and dtype in INTEGERS:
        undefined = (b == 0) | ((b == -1) & (a == torch.iinfo(a.dtype).min) & (dtype != "uint8"))
        a, b = a[~undefined], b[~undefined]
    got, want = getattr(tileops, f"{name}FwdOp")()(a, b), TWO[name](a, b)
    same(
        got,
        want,
        not want.is_floating_point() or name not in ("Add", "Sub", "Mul", "Div", "Pow", "Remainder"),
    )


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
def test_integers_divided_by_zero_and_the_smallest_by_minus_one(dtype: str) -> None:
    kind = getattr(torch, dtype)
    a = special(dtype)
    divide, remainder = tileops.FloorDivideFwdOp(), tileops.RemainderFwdOp()
    zero, minus = torch.zeros_like(a), torch.full_like(a, -1 if dtype != "uint8" else 1)
    assert torch.equal(divide(a, zero), torch.full_like(a, -1))
    assert torch.equal(remainder(a, zero), a)
    assert torch.equal(divide(a, minus), torch.zeros_like(a) - a if dtype != "uint8" else a)
    assert torch.equal(remainder(a, minus), torch.zeros(len(a), dtype=kind))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("mode", ["floor", "trunc"])
def test_rounded_quotients(dtype: str, mode: str) -> None:
    a, b = pairs(dtype)
    want = torch.div(a.float(), b.float(), rounding_mode=mode).to(a.dtype)
    same(tileops.DivFwdOp(rounding_mode=mode)(a, b), want, False)


@pytest.mark.parametrize(
    ("dtype", "alpha"), [("float32", 0.1), ("bfloat16", -2), ("int64", 2**62 + 1), ("bool", 0)]
)
def test_alpha(dtype: str, alpha: float) -> None:
    a, b = pairs(dtype)
    same(tileops.AddFwdOp(alpha=alpha)(a, b), torch.add(a, b, alpha=alpha), dtype not in FLOATS)


@pytest.mark.parametrize("weight", [-1.0, 0.0, 0.25, 0.5, 0.75, 1.0, 3.0])
def test_interpolation_on_both_sides_of_a_half(weight: float) -> None:
    a, b = pairs("float32")
    want = torch.lerp(a.double(), b.double(), weight).float()
    finite = a.isfinite() & b.isfinite()
    for got in (
        tileops.LerpFwdOp(weight=weight)(a, b),
        tileops.LerpTensorFwdOp()(a, b, torch.full_like(a, weight)),
    ):
        torch.testing.assert_close(got[finite], want[finite], rtol=1e-6, atol=1e-3)
        assert torch.equal(got.isnan(), torch.lerp(a, b, weight).isnan())


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "uint8"])
def test_bounds(dtype: str) -> None:
    x, low, high = (t.reshape(-1) for t in torch.meshgrid(*[special(dtype)] * 3, indexing="ij"))
    clamp = tileops.ClampFwdOp()
    for bounds in ((low, high), (low, None), (None, high)):
        same(clamp(x, *bounds), torch.clamp(x, *bounds), True)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float32"])
def test_choices(dtype: str) -> None:
    a, b = pairs(dtype)
    mask = torch.arange(a.numel()).view(a.shape) % 3 == 0
    same(tileops.WhereFwdOp()(mask, a, b), torch.where(mask, a, b), True)
    same(tileops.MaskedFillFwdOp()(a, mask, b[0, 1]), a.masked_fill(mask, b[0, 1]), True)
    values = (
        (math.inf, math.nan, -2.5, True)
        if dtype in FLOATS
        else (2.75, 3, True, 2 if dtype == "bool" else 200 % 128)
    )
    for value in values:
        same(tileops.MaskedFillScalarFwdOp(value=value)(a, mask), a.masked_fill(mask, value), True)


def test_large_integers_keep_every_bit() -> None:
    a, b = torch.tensor([2**53 + 1, -(2**62) - 1]), torch.tensor([2, 3])
    assert torch.equal(tileops.AddFwdOp()(a, b), a + b)
    assert torch.equal(tileops.FloorDivideFwdOp()(a, b), a // b)
    assert torch.equal(tileops.MaximumFwdOp()(a, a + 1), a + 1)
    assert tileops.MaskedFillScalarFwdOp(value=2**53 + 1)(b, b == 2).tolist() == [2**53 + 1, 3]


@st.composite
def shapes(draw: st.DrawFn, count: int) -> list[tuple[int, ...]]:
    """Shapes that broadcast: sizes of a common shape, some of them 1, some of them left out in front."""
    full = draw(st.lists(st.integers(0, 9), max_size=6))
    out = []
    for _ in range(count):
        kept = [n if draw(st.booleans()) else 1 for n in full]
        out.append(tuple(kept[draw(st.integers(0, len(full))) :]))
    return out


def strided(shape: tuple[int, ...], seed: int, dtype: torch.dtype) -> torch.Tensor:
    """Whole numbers; every other tensor has its axes in reverse in memory."""
    generator = torch.Generator().manual_seed(seed)
    back = torch.randint(-99, 99, shape[::-1], generator=generator).permute(
        tuple(reversed(range(len(shape))))
    )
    return (back if seed % 2 else back.contiguous()).to(dtype)


@settings(max_examples=150, deadline=None)
@given(shapes=shapes(2), seed=st.integers(0, 99), vector=st.booleans())
def test_two_operands_of_any_shapes(shapes: list[tuple[int, ...]], seed: int, vector: bool) -> None:
    pair = [(*shape, 8) if vector else shape for shape in shapes]
    a, b = (strided(shape, seed + n, torch.int32) for n, shape in enumerate(pair))
    assert torch.equal(tileops.SubFwdOp()(a, b), a - b)


@settings(max_examples=100, deadline=None)
@given(shapes=shapes(3), seed=st.integers(0, 99), vector=st.booleans())
def test_three_operands_of_any_shapes(shapes: list[tuple[int, ...]], seed: int, vector: bool) -> None:
    three = [(*shape, 4) if vector else shape for shape in shapes]
    c, a, b = (strided(shape, seed + n, torch.float32) for n, shape in enumerate(three))
    assert torch.equal(tileops.WhereFwdOp()(c > 0, a, b), torch.where(c > 0, a, b))


@pytest.mark.parametrize("n", [1, 2047, 2048, 2049, 4095, 6145])
def test_sizes_where_blocks_end(n: int) -> None:
    a, b = torch.arange(n), torch.arange(n).flip(0)
    a, b = a.float(), b.float()
    assert torch.equal(tileops.AddFwdOp()(a, b), a + b)
    assert torch.equal(tileops.AddFwdOp()(a, b[:1]), a + b[:1])


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 8), (2, 3, 5, 7), (3, 3, 2, 2, 2)])
def test_slopes_of_channels(shape: tuple[int, ...], channels: int) -> None:
    x, weight = torch.randn(shape), torch.rand(channels)
    same(tileops.PreluFwdOp()(x, weight), torch.nn.functional.prelu(x, weight), True)


@given(size=st.integers(1, 2**31 - 1), index=st.integers(0, 2**31 - 1))
def test_division_by_multiplication(size: int, index: int) -> None:
    packed = reciprocal(size)
    factor, shift = packed & 0xFFFFFFFF, packed >> 32
    for i in {index, index // size * size, max(0, index // size * size - 1), 2**31 - 1}:
        assert (i * factor) % 2**64 >> shift == i // size
    assert packed < 2**63


@pytest.mark.parametrize(
    ("shapes", "count"),
    [
        (((2048, 4096), (4096,)), 2),
        (((16, 256, 56, 56), (256, 1, 1)), 3),
        (((5, 1, 7), (1, 3, 7)), 3),
        (((4, 5), ()), 1),
    ],
)
def test_axes_that_all_operands_walk_alike_are_one(shapes: tuple[tuple[int, ...], ...], count: int) -> None:
    assert len(merged(shapes)) == count


def test_results_that_an_int32_does_not_count_are_launched_in_pieces() -> None:
    huge = launches(((3, 2**31), (2**31,)), 8)
    elements = [launch[1] * 8 for launch in huge]
    assert sum(elements) == 3 * 2**31
    assert all(launch[1] <= MOST for launch in huge)
    starts = [launch[-1] * 8 for launch in huge]
    assert starts == [sum(elements[:n]) for n in range(len(huge))]
    scalar = launches(((2**31 + 5,), (1,)), 8)
    assert [(launch[1], launch[-1]) for launch in scalar] == [(MOST, 0), (2**31 + 5 - MOST, MOST)]
