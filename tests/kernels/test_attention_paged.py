"""Prefill over a paged cache on the CPU: page sizes, their order, entries that are no pages, lengths."""

import pytest
import torch

import tileops
from tileops.errors import CallError
from tileops.reference import attention as oracles

NOTHING = {"is_causal": True, "sm_scale": None, "softcap": None, "fuse_rope": False, "rope_base": 1e4}


def integers(*values):
    return torch.tensor(values, dtype=torch.int32)


def check(page_size, d, requests, *, h=2, h_kv=1, spare=-1):
    """`requests` are (cached, new) tokens; pages lie in the pool in reverse, unused entries hold `spare`."""
    used = [-(-(cached + new) // page_size) for cached, new in requests]
    table = torch.full((len(requests), max(used) + 1), spare, dtype=torch.int32)
    page = sum(used)
    for row, count in zip(table, used, strict=True):
        row[:count] = torch.arange(page - 1, page - 1 - count, -1)
        page -= count
    cu = integers(0, *(new for _, new in requests)).cumsum(0).int()
    q, k, v = (torch.randn(int(cu[-1]), n, d).half() for n in (h, h_kv, h_kv))
    pools = [torch.randn((sum(used) + 1) * page_size, h_kv, d).half() for _ in "kv"]
    lengths = integers(*(cached for cached, _ in requests))
    want, *kept = oracles.grouped_query_attention_prefill_paged_with_kv_cache(
        q, k, v, *pools, cu, lengths, table, None, None, page_size=page_size, rotary_dim=None, **NOTHING
    )
    op = tileops.GroupedQueryAttentionPrefillPagedWithKVCacheFwdOp(page_size=page_size)
    o = op(q, k, v, *pools, cu, lengths, table)
    torch.testing.assert_close(o.double(), want, rtol=2e-3, atol=2e-3)
    for pool, expected in zip(pools, kept, strict=True):
        assert torch.equal(pool.double(), expected), "new rows stand in their pages, and nothing else moved"


@pytest.mark.parametrize(("page_size", "d"), [(1, 64), (8, 64), (64, 64), (256, 64), (1, 192), (128, 192)])
def test_any_page_size_serves_lengths_at_the_ends_of_pages_and_tiles(page_size, d):
    check(page_size, d, [(0, 200), (300, 70), (63, 1), (0, 0), (64, 65), (127, 2)])


@pytest.mark.parametrize("spare", [-1, 10**6, 2**28, 2**30, 2**31 - 1, -(2**31)])
def test_entries_of_a_table_that_no_token_needs_may_be_anything(spare):
    check(16, 64, [(0, 2), (17, 1)], spare=spare)


def test_new_rows_need_pages_and_room():
    op = tileops.GroupedQueryAttentionPrefillPagedWithKVCacheFwdOp(page_size=16)
    q, pool = torch.randn(5, 1, 64).half(), torch.ones(64, 1, 64).half()
    tables = {"cache_seqlens": (60, [0, 1, 2, 3]), "block_table": (16, [0, -1, 2, 3])}
    for slot, (cached, table) in tables.items():
        with pytest.raises(CallError, match=f"{slot} must hold"):
            op(q, q, q, pool, pool.clone(), integers(0, 5), integers(cached), integers(*table)[None])
    assert bool((pool == 1).all()), "a call that is refused writes nothing"
    turned = tileops.GroupedQueryAttentionPrefillPagedWithKVCacheFwdOp(
        page_size=16, fuse_rope=True, max_position=8
    )
    with pytest.raises(CallError, match=r"cache_seqlens must hold .* at most 8"):
        turned(q, q, q, pool, pool.clone(), integers(0, 5), integers(4), integers(0, 1, 2, 3)[None])
