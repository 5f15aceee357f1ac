"""Row-wise e4m3 on the CPU, bit by bit: every value, special rows, and the ends of tiles."""

import math

import pytest
import torch

from tests.kernels.building import build, randn
from tileops.kernels import quantization as kernels

E4M3 = torch.float8_e4m3fn


def exact(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """What float32 makes of the definition, in PyTorch."""
    x = x.float()
    amax = x.abs().amax(-1)
    scale = torch.where(amax < 1e-4, torch.tensor(1e-4), amax) / 448.0
    quotient = x / scale[:, None]
    return scale, quotient.clamp(-448, 448).to(E4M3)


@pytest.mark.parametrize(
    ("factory", "dtype", "static", "lengths"),
    [
        (kernels.fp8_quant, "bfloat16", {"block": 128, "aligned": True}, (72, 128)),
        (kernels.fp8_quant, "float32", {"block": 2048, "aligned": False}, (1025, 2047)),
        (kernels.fp8_quant_long, "float32", {"aligned": False}, (8191, 16385)),
        (kernels.fp8_quant_long, "float16", {"aligned": True}, (8, 8200)),
    ],
)
def test_bits_are_those_of_float32(factory, dtype, static, lengths):
    run = build(factory, ("input_tensor",), dtype, **static)
    for n in lengths:
        x = randn(9, n, dtype=dtype)
        x[1] = 0.0
        x[2] *= 1e-6
        x[3, -1], x[4, 0], x[5, n // 2] = math.nan, math.inf, -math.inf
        x[6, 0] = -5e4
        scale, y = torch.full((9,), -1.0), torch.full((9, n), 3.0).to(E4M3)
        run(x, scale, y, n)
        want_scale, want = exact(x)
        torch.testing.assert_close(scale, want_scale, rtol=0, atol=0, equal_nan=True)
        torch.testing.assert_close(y.float(), want.float(), rtol=0, atol=0, equal_nan=True)
        assert y[3].isnan().all() and bool(scale[3].isnan())
        assert scale[4] == math.inf and bool(y[4, 0].isnan()) and not y[4, 1:].float().any()
        assert not y[1].float().any() and y[6, 0].float() == -448


def test_every_e4m3_value_survives_and_ties_go_to_even():
    run = build(kernels.fp8_quant, ("input_tensor",), "float32", block=1024, aligned=False)
    values = torch.arange(127, dtype=torch.uint8).view(E4M3).float()  # 0 .. 448
    between = (values[1:] + values[:-1]) / 2
    x = torch.cat([values, -values, between])[None]
    scale, y = torch.empty(1), torch.empty(x.shape, dtype=E4M3)
    run(x, scale, y, x.shape[1])
    assert scale.item() == 1.0
    assert torch.equal(y[0, :254].float(), x[0, :254])
    assert not (y[0, 254:].view(torch.uint8) & 1).any()
