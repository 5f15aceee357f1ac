"""Comparison with an oracle: dtypes that PyTorch does not compare by itself."""

from __future__ import annotations

import pytest
import torch

from tileops.testing import assert_accurate


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.bool])
def test_integers_are_the_oracles(dtype: torch.dtype) -> None:
    want = torch.tensor([[0, 1], [1, 0]])
    assert assert_accurate(want.to(dtype), want, dtype).relative == 0.0
    with pytest.raises(AssertionError, match="1 elements differ"):
        assert_accurate(torch.tensor([[0, 1], [1, 1]]).to(dtype), want, dtype)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_8_bit_floats_are_compared_in_value_and_in_nan(dtype: torch.dtype) -> None:
    want = torch.tensor([1.0, -3.3, float("nan"), 2.0], dtype=torch.float64)
    assert_accurate(want.to(dtype), want, dtype)
    for wrong in (torch.tensor([1.0, -3.3, 0.0, 2.0]), torch.tensor([1.0, 3.3, float("nan"), 2.0])):
        with pytest.raises(AssertionError):
            assert_accurate(wrong.to(dtype), want, dtype)


def test_what_is_beyond_the_range_of_the_dtype_is_infinite_and_no_error() -> None:
    want = torch.tensor([1.0, 1e6, -1e6], dtype=torch.float64)
    assert assert_accurate(want.half(), want, torch.float16).relative == 0.0
    with pytest.raises(AssertionError, match="infinite"):
        assert_accurate(torch.tensor([1.0, 65504.0, -65504.0]).half(), want, torch.float16)
