"""Dropout on the CPU: its random numbers bit by bit, and what is random about them."""

import math

import numpy as np
import pytest
import torch

import tileops
from tests.kernels.building import DTYPES, randn
from tileops.reference.dropout import philox

VECTORS = [  # counter, key, result: known answers of Philox4x32-10, the counter's upper 64 bits being 0
    (0, 0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
]


def in_python(counter: int, seed: int) -> list[int]:
    """Philox4x32-10 in Python's integers, from its paper."""
    mask = 2**32 - 1
    c, k = [counter & mask, counter >> 32, 0, 0], [seed & mask, seed >> 32 & mask]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ k[0], b & mask, a >> 32 ^ c[3] ^ k[1], a & mask]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c


def mask(count: int, p: float, seed: int) -> torch.Tensor:
    return tileops.DropoutFwdOp(p=p)(torch.ones(count), seed=seed) > 0


@pytest.mark.parametrize("seed", [0, 1, -1, 2**32, -(2**63), 0x1234567890ABCDEF])
def test_numbers_are_those_of_the_paper(seed):
    for counter, key, want in VECTORS:
        assert tuple(in_python(counter, key)) == want
    counters = [0, 1, 77, 2**32 - 1, 2**32, 2**40 + 3]
    want = torch.tensor([in_python(c, seed) for c in counters])
    assert torch.equal(philox(torch.tensor(counters), seed), want)
    numbers = [n >> 8 for c in range(300) for n in in_python(c, seed)]
    for p in (2**-24, 0.1, 0.5, 1 - 2**-24):
        kept = torch.tensor([n / 2**24 >= p for n in numbers])
        assert torch.equal(mask(1200, p, seed), kept)


def test_a_number_at_the_limit_is_kept():
    number = in_python(0, 5)[2] >> 8
    for p, kept in ((number / 2**24, True), (math.nextafter(number / 2**24, 1.0), False)):
        assert bool(mask(3, p, 5)[2]) is kept


def test_the_mask_is_one_of_the_place_alone():
    want = mask(4096, 0.3, 9)
    for count in (1, 7, 2047, 2049, 4001):
        assert torch.equal(mask(count, 0.3, 9), want[:count])
    op = tileops.DropoutFwdOp(p=0.3)
    for dtype in DTYPES.values():
        for shape in ((4096,), (64, 64), (2, 8, 256)):
            assert torch.equal((op(torch.ones(shape, dtype=dtype), seed=9) > 0).flatten(), want)
    wide = torch.ones(64, 128)[:, ::2]
    assert torch.equal((op(wide, seed=9) > 0).flatten(), want)


@pytest.mark.parametrize("p", [0.05, 0.5, 0.9])
def test_rate_and_independence(p):
    count = 1 << 18
    a, b = mask(count, p, 1).numpy(), mask(count, p, 2).numpy()
    sigma = math.sqrt(p * (1 - p) / count)
    assert abs(a.mean() - (1 - p)) < 5 * sigma
    centered, other = a - a.mean(), b - b.mean()
    for one, two in [
        (centered, other),
        *((centered[:-lag], centered[lag:]) for lag in (1, 2, 3, 4, 64, 2048)),
    ]:
        correlation = float(np.mean(one * two)) / (p * (1 - p))
        assert abs(correlation) < 5 / math.sqrt(len(one))


@pytest.mark.parametrize("dtype", sorted(DTYPES))
def test_values(dtype):
    x = randn(1024, dtype=dtype)
    x[:4] = torch.tensor([math.nan, math.inf, -math.inf, -0.0])
    y = tileops.DropoutFwdOp(p=0.3)(x, seed=4)
    kept = mask(1024, 0.3, 4)
    want = torch.where(kept, x.float() / np.float32(0.7), 0.0).to(x.dtype)
    rtol = 0 if dtype == "float32" else torch.finfo(x.dtype).eps
    torch.testing.assert_close(y, want, rtol=rtol, atol=0, equal_nan=True)
    nothing = tileops.DropoutFwdOp(p=1.0)(x)
    assert not nothing.any() and not torch.signbit(nothing).any()
    for same in (tileops.DropoutFwdOp(p=0.0), tileops.DropoutFwdOp(training=False)):
        copy = same(x)
        assert copy.data_ptr() != x.data_ptr()
        torch.testing.assert_close(copy, x, rtol=0, atol=0, equal_nan=True)


def test_the_gradient_has_the_mask_of_the_forward():
    x = torch.randn(64, requires_grad=True)
    y = tileops.DropoutFwdOp(p=0.4)(x, seed=11)
    gradient = torch.randn(64)
    y.backward(gradient)
    assert torch.equal(x.grad, tileops.DropoutFwdOp(p=0.4)(gradient, seed=11))
