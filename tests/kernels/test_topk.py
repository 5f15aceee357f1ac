"""The selector on the CPU at the sizes where its buffer runs full, for scores that are hard on it."""

import math

import pytest
import torch

import tileops
from tileops.reference import topk as oracles

FULL, PIECE = 8192, 4096  # entries of the buffer, and scores of a step


def rows(length: int) -> dict[str, torch.Tensor]:
    """Distributions: no two alike, all alike, few values, rising, falling, and what is not a number."""
    generator = torch.Generator().manual_seed(length)
    normal = torch.randn(length, generator=generator)
    special = normal.clone()
    for n, value in enumerate((math.nan, -math.nan, math.inf, -math.inf, 0.0, -0.0)):
        special[n::11] = value
    return {
        "normal": normal,
        "constant": torch.full((length,), 2.5),
        "few values": normal.round(),
        "rising": torch.arange(length).float(),
        "falling": -torch.arange(length).float(),
        "close": 1.0 + torch.randperm(length, generator=generator) * 2.0**-23,
        "special": special,
        "nothing": torch.full((length,), -math.inf),
    }


@pytest.mark.parametrize(
    ("length", "topk"),
    [(1, 1), (64, 64), (FULL - PIECE, 7), (FULL, 64), (FULL + 1, 2048), (3 * FULL + 5, 2048), (131072, 2000)],
)
def test_every_distribution(length, topk):
    score = torch.stack([*rows(length).values()])[None, :, :, None]
    ends = torch.full(score.shape[:2], length, dtype=torch.int32)
    got = tileops.TopkSelectorFwdOp(topk=topk)(score, torch.zeros_like(ends), ends)
    want = oracles.topk_selector(score, torch.zeros_like(ends), ends, topk=topk)
    for n, name in enumerate(rows(1)):
        assert torch.equal(got[0, n], want[0, n]), name


def test_ranges_and_groups():
    score = torch.randn(2, 4, 101, 3)
    starts = torch.tensor([[-5, 0, 50, 100], [7, 101, 60, 3]], dtype=torch.int32)
    ends = torch.tensor([[3, 500, 50, 101], [8, 200, 40, 2**31 - 1]], dtype=torch.int32)
    got = tileops.TopkSelectorFwdOp(topk=20)(score, starts, ends)
    assert torch.equal(got, oracles.topk_selector(score, starts, ends, topk=20))
    assert (got[0, 2] == -1).all() and (got[1, 1] == -1).all() and (got[1, 2] == -1).all()
    assert got[0, 0, :, :3].sort().values.tolist() == [[0, 1, 2]] * 3
    for group in range(3):  # as a set of scores, what PyTorch finds
        best = score[0, 1, :, group].topk(20).values
        assert torch.equal(score[0, 1, got[0, 1, group].long(), group], best)


def test_many_best_scores():
    score = torch.randn(1, 1, 20000, 1)
    ends = torch.tensor([[20000]], dtype=torch.int32)
    for topk in (4097, 8192):
        got = tileops.TopkSelectorFwdOp(topk=topk)(score, ends - 20000, ends)
        assert torch.equal(got, oracles.topk_selector(score, ends - 20000, ends, topk=topk))


@pytest.mark.parametrize("groups", [1, 2])
def test_starts_and_ends_far_beyond_the_row_are_held_inside(groups):
    score = torch.randn(1, 4, 9001, groups)
    starts = torch.tensor([[2**31 - 1, 9004, -(2**31), -(2**31)]], dtype=torch.int32)
    ends = torch.tensor([[9001, -(2**31), -(2**31), 2**31 - 1]], dtype=torch.int32)
    got = tileops.TopkSelectorFwdOp(topk=7)(score, starts, ends)
    assert (got[0, :3] == -1).all()
    assert torch.equal(got[0, 3], score[0, 3].topk(7, dim=0).indices.T.int())
