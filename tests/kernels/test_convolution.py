"""Convolution on the CPU where tiles end: rows, channels and steps of K, in every pair of layouts."""

from typing import Any

import pytest
import torch

import tileops
from tileops.reference import convolution as oracles


def laid_out(x: torch.Tensor, last: bool) -> torch.Tensor:
    return x.movedim(1, -1).contiguous().movedim(-1, 1) if last else x


@pytest.mark.parametrize("input_last", [False, True])
@pytest.mark.parametrize("weight_last", [False, True])
@pytest.mark.parametrize(
    ("x", "w", "params"),
    [
        ((3, 16, 7, 19), (72, 8, 2, 3), {"groups": 2, "stride": (1, 2), "padding": (1, 2)}),  # whole 16 bytes
        ((1, 9, 12, 12), (17, 9, 3, 2), {"padding": "same", "dilation": 2}),  # nothing is whole
    ],
)
def test_tensor_cores(x: Any, w: Any, params: Any, input_last: bool, weight_last: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    tensors = [torch.randn(shape, generator=generator).half() for shape in (x, w, w[:1])]
    tensors[:2] = laid_out(tensors[0], input_last), laid_out(tensors[1], weight_last)
    conv = tileops.Conv2dFwdOp(**params)
    got = conv(*tensors)
    assert got.movedim(1, -1).is_contiguous() == input_last
    full = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1, **params}
    torch.testing.assert_close(got.double(), oracles.conv2d(*tensors, **full), rtol=1e-3, atol=1e-2)


def test_an_image_is_worth_the_same_in_every_batch() -> None:
    """Rows of one tile belong to several images: what an output is does not depend on its neighbours."""
    x, w = torch.randn(40, 8, 5, 5).half(), torch.randn(16, 8, 3, 3).half()
    conv = tileops.Conv2dFwdOp()
    whole = conv(x, w, None)
    assert torch.equal(whole[17:18], conv(x[17:18].contiguous(), w, None))
