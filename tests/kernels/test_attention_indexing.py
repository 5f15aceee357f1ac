"""The lightning indexer on the CPU: ranges that end with tiles, groups, types, the selection behind it."""

import math

import pytest
import torch

import tileops
from tileops.reference import attention as oracles

E4M3 = torch.float8_e4m3fn
TILE, CHUNK = 128, 16 * 128  # keys of a tile, and of a block


def index(q, k, weights, first, end, scale=None):
    got = tileops.FP8LightningIndexerFwdOp()(q, k, weights, first, end, scale)
    want = oracles.fp8_lightning_indexer(q, k, weights, first, end, scale, clean_logits=True)
    assert torch.equal(got.isinf(), want.isinf())
    torch.testing.assert_close(got.double(), want, rtol=1e-5, atol=1e-3)
    return got


def integers(*values):
    return torch.tensor(values, dtype=torch.int32)


def test_ranges_end_where_tiles_end():
    columns = CHUNK + TILE + 1
    ends = [0, 1, TILE - 1, TILE, TILE + 1, CHUNK, CHUNK + 1, columns, columns + 9, 2**31 - 1]
    starts = [-9, 0, TILE - 1, TILE, TILE, 5, CHUNK, CHUNK + TILE, columns, 3]
    q, k = torch.randn(1, 10, 64, 32).to(E4M3), torch.randn(1, columns, 1, 32).to(E4M3)
    got = index(q, k, torch.randn(10, 64), integers(*starts), integers(*ends), torch.rand(1, columns, 1))
    assert got[0, 0].isinf().all() and got[0, 3].isinf().all() and got[0, 8].isinf().all()


@pytest.mark.parametrize(("heads", "groups", "size"), [(1, 1, 32), (6, 3, 24), (96, 2, 64), (128, 1, 128)])
@pytest.mark.parametrize("dtype", [E4M3, torch.bfloat16])
def test_groups_heads_and_types(heads, groups, size, dtype):
    q, k = torch.randn(2, 3, heads, size).to(dtype), (3 * torch.randn(2, 70, groups, size)).to(dtype)
    index(q, k, torch.randn(3, heads), integers(0, 1, 30), integers(70, 60, 40))


def test_large_queries_saturate_and_negative_votes_count_nothing():
    q, k = torch.full((1, 1, 1, 32), 1000.0).bfloat16(), torch.ones(1, 4, 1, 32).to(E4M3)
    k[0, 1] = torch.full((1, 32), -1.0).to(E4M3)
    got = index(q, k, torch.tensor([[2.0]]), integers(0), integers(4))
    assert got.flatten().tolist() == [2.0 * 32 * 448, 0.0, 2.0 * 32 * 448, 2.0 * 32 * 448]


def test_a_query_or_key_that_is_not_a_number_shows():
    q, k = torch.ones(1, 2, 1, 32), torch.ones(1, 3, 1, 32)
    q[0, 0, 0, 0] = k[0, 2, 0, 5] = float("nan")
    op = tileops.FP8LightningIndexerFwdOp()
    got = op(q.to(E4M3), k.to(E4M3), torch.ones(2, 1), integers(0, 0), integers(3, 3))
    assert got[0, :, :, 0].isnan().tolist() == [[True, True, True], [False, False, True]]


def test_the_selector_takes_what_the_indexer_gives():
    q, k = torch.randn(1, 40, 8, 64).to(E4M3), torch.randn(1, 40, 1, 64).to(E4M3)
    rows = torch.arange(40, dtype=torch.int32)
    logits = index(q, k, torch.rand(40, 8), torch.zeros_like(rows), rows + 1)
    chosen = tileops.TopkSelectorFwdOp(topk=40)(logits, torch.zeros(1, 40, dtype=torch.int32), rows[None] + 1)
    for row in range(40):  # every visible key, then padding: sparse attention over them is causal attention
        assert sorted(chosen[0, row, 0, : row + 1].tolist()) == list(range(row + 1))
        assert (chosen[0, row, 0, row + 1 :] == -1).all()
        assert not math.isinf(float(logits[0, row, int(chosen[0, row, 0, row]), 0]))
