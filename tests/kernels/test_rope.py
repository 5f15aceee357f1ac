"""What is special in rotary embedding on the CPU: far positions, ids, widths, and what rotation keeps."""

import math

import pytest
import torch

import tileops
from tests.kernels.building import DTYPES, randn
from tileops import targets
from tileops.errors import CallError
from tileops.kernel import Key
from tileops.kernels import rope as kernels
from tileops.reference import rope as oracles

FAR = (0, 1, 2, 4095, 131071, 131072, 1048575, 2**24 + 1, 2**31 - 2)


@pytest.mark.parametrize("base", [10000.0, 500000.0, 0.5])
def test_far_positions_are_as_accurate_as_near_ones(base):
    x, ids = randn(len(FAR), 2, 64), torch.tensor(FAR)
    got = tileops.RopeNeoxPositionIdsFwdOp(max_position=2**31 - 1, base=base)(x, ids)
    want = oracles.rope_neox_position_ids(x, ids, max_position=2**31 - 1, base=base, rotary_dim=None)
    size = x.double().norm(dim=-1, keepdim=True)
    worst = ((got.double() - want).abs() / size).amax((1, 2))
    # The float64 angle of the oracle is itself uncertain by 2^-53 of its size, and so is its frequency.
    slack = torch.tensor([place * math.ulp(1.0) for place in FAR])
    assert (worst < 1.5e-7 + slack).all(), worst


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_ids_that_count_are_the_place_in_the_sequence(dtype):
    x = randn(33, 5, 96, dtype=dtype)
    packed = tileops.RopeNeoxPositionIdsFwdOp(max_position=33)(x, torch.arange(33, dtype=torch.int32))
    assert torch.equal(packed, tileops.RopeNeoxFwdOp(layout="2d")(x[None])[0])
    alone = tileops.RopeNeoxFwdOp()(x[:, 2].contiguous())
    assert torch.equal(packed[:, 2], alone)


@pytest.mark.parametrize("dtype", sorted(DTYPES))
def test_what_is_not_turned_is_copied_bit_by_bit(dtype):
    x = randn(7, 3, 64, dtype=dtype)
    x[0, 0, 32:] = torch.tensor([math.inf, -math.inf, -0.0, 1e-7] * 8)
    y = tileops.RopeNeoxPositionIdsFwdOp(max_position=9, rotary_dim=32)(
        x, torch.tensor([8, 0, 3, 3, 1, 2, 8])
    )
    bits = torch.int32 if dtype == "float32" else torch.int16
    assert torch.equal(y[..., 32:].contiguous().view(bits), x[..., 32:].contiguous().view(bits))
    assert torch.equal(y[1].contiguous().view(bits), x[1].view(bits))  # position 0


def test_ids_out_of_range_are_refused_on_the_cpu_and_held_inside_by_the_program():
    op, x = tileops.RopeNeoxPositionIdsFwdOp(max_position=16), randn(4, 1, 64)
    ids = torch.tensor([-5, 0, 15, 16])
    with pytest.raises(CallError, match=r"position_ids must hold values in \[0, 15\], got -5 at \[0\]"):
        op(x, ids)
    with pytest.raises(CallError, match="position_ids must hold"):
        op.validate(x, ids)
    dtypes = (("x", "float32"), ("position_ids", "int64"))
    key = Key("test", "angles", "cpu", dtypes, (("D", 64), ("R", 64), ("heads", 1)))
    kernel, y = kernels.rope_position_ids(key), torch.full_like(x, math.nan)
    kernel.launch(targets.get("cpu").compile(*kernel.programs), x, ids, y, 16, 10000.0)
    assert torch.equal(y, op(x, ids.clamp(0, 15)))


def test_products_depend_on_the_distance_only():
    op = tileops.RopeNonNeoxFwdOp()
    q, k = (op(randn(1, 64, seed=s).repeat(300, 1)).double() for s in (0, 1))
    scores = q @ k.T
    for offset in (0, 1, 100):
        along = scores.diagonal(offset)
        assert (along - along[0]).abs().max() < 3e-5
    assert (q.norm(dim=-1) - q[0].norm()).abs().max() < 1e-6 * q[0].norm()


@pytest.mark.parametrize("width", [2, 6, 30, 96, 130, 256])
@pytest.mark.parametrize("name", ["RopeNeoxFwdOp", "RopeNonNeoxFwdOp"])
def test_every_even_width(name, width):
    for dtype in ("float32", "float16"):
        x = randn(2, 5, 3, width, dtype=dtype)
        want = getattr(oracles, getattr(tileops, name).spec.torch_name)(x, layout="2d", base=10000.0)
        got = getattr(tileops, name)(layout="2d")(x)
        torch.testing.assert_close(got.double(), want, rtol=torch.finfo(x.dtype).eps, atol=1e-6)


def test_schedules_have_the_ends_that_their_papers_say():
    rate, a, b, c, slow, amplitude = kernels.yarn(128, 10000.0, 16.0, 4096, 32.0, 1.0, 1.0)
    shares = [min(max(a + b * m, 0.0), 1.0) for m in range(64)]
    assert math.isclose(shares[20], 1.0) and shares[46] == 0.0 and c == 0.0  # d(32) = 20.9, d(1) = 45.03
    assert slow == 1 / 16 and math.isclose(amplitude, 1.0 + 0.1 * math.log(16.0))
    rate, a, b, c, slow, amplitude = kernels.llama31(128, 500000.0, 8.0, 1.0, 4.0, 8192)
    shares = [min(max(a + c * math.exp(-rate * m), 0.0), 1.0) for m in range(64)]
    assert shares[28] == 1.0 and shares[35] == 0.0 and 0.0 < shares[30] < 1.0 and amplitude == 1.0
    assert kernels.long_rope(96, 10000.0, 131072, 4096)[-1] == math.sqrt(1.0 + 5 / 12)
