"""Pooling on the CPU where numbers are far from the sizes of tensors, or sizes are 0."""

import pytest
import torch

import tileops
from tileops.errors import CallError


def ints(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


def pairs(*values: tuple[int, int]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


@pytest.mark.parametrize("size", [7, 2**16, 2**30, 2**31, 2**32, 2**40, 2**62])
def test_a_chunk_longer_than_its_sequence_is_the_sequence_and_those_after_it_are_zero(size):
    x = torch.arange(1.0, 11.0).view(1, 10, 1, 1).expand(1, 10, 1, 16).contiguous()
    chunks = pairs((0, 0), (0, 1), (0, 2), (0, 4), (0, 8), (0, 10), (1, 0), (1, 4), (2, 0), (2, 1))
    got = tileops.MeanPoolingFwdOp(chunk_size=size)(x, ints(0, 3, 3, 10), chunks)[0, :, 0, 0]
    assert got.tolist() == [2.0, 0, 0, 0, 0, 0, 0, 0, 7.0, 0]
    assert torch.equal(tileops.MeanPoolingFwdOp(chunk_size=size + 3)(x), x.mean(1, keepdim=True))


def test_the_number_of_a_chunk_times_its_size_may_need_64_bits():
    x = torch.ones(1, 65536, 1, 1)
    got = tileops.MeanPoolingFwdOp(chunk_size=65536)(x, ints(0, 65536), pairs((0, 0), (0, 65535), (0, 65536)))
    assert got.flatten().tolist() == [1.0, 0, 0]


def test_means_of_nothing():
    mean = tileops.MeanPoolingFwdOp(chunk_size=4)
    assert mean(torch.zeros(1, 10, 2, 0)).shape == (1, 3, 2, 0)
    assert mean(torch.zeros(1, 10, 0, 2)).shape == (1, 3, 0, 2)
    assert mean(torch.zeros(0, 10, 2, 2)).shape == (0, 3, 2, 2)
    none = torch.zeros(1, 0, 2, 16)
    assert mean(none, ints(0), torch.zeros(0, 2, dtype=torch.int32)).shape == (1, 0, 2, 16)
    assert torch.equal(mean(none, ints(0, 0), pairs((0, 0))), torch.zeros(1, 1, 2, 16))


def test_a_sequence_or_a_chunk_that_does_not_exist_is_refused():
    mean, x, offsets = tileops.MeanPoolingFwdOp(chunk_size=4), torch.ones(1, 10, 1, 16), ints(0, 3, 3, 10)
    for wrong in ((3, 0), (-1, 0), (0, -1), (0, 11)):
        with pytest.raises(CallError, match=r"indices must hold values in \[0, 2\] in column 0 and values"):
            mean(x, offsets, pairs((2, 0), wrong))


@pytest.mark.parametrize("divisor", [3, -2, 2**31, 2**32, -(2**40), 2**24 + 1])
def test_a_divisor_of_any_size(divisor):
    x = torch.randn(1, 2, 4, 4, 4)
    for op, twin, tensor in (
        (tileops.AvgPool2dFwdOp, torch.nn.functional.avg_pool2d, x[0]),
        (tileops.AvgPool3dFwdOp, torch.nn.functional.avg_pool3d, x),
    ):
        tensor = tensor if tensor.dim() == 5 else tensor.contiguous()
        got = op(kernel_size=2, divisor_override=divisor)(tensor)
        torch.testing.assert_close(got, twin(tensor, 2, divisor_override=divisor), atol=0.0, rtol=1e-6)
