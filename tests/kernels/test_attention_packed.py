"""Packed sequences on the CPU: lengths where tiles end, empty ones, neighbours that must not leak."""

import itertools

import pytest
import torch

import tileops
from tileops.reference import attention as oracles

LENGTHS = [0, 1, 2, 63, 64, 65, 127, 128, 129, 160, 161]


def offsets(lengths):
    return torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int32)


@pytest.mark.parametrize("d", [64, 80, 256])
@pytest.mark.parametrize("causal", [True, False])
def test_lengths_at_the_ends_of_tiles(d, causal):
    cu_q, cu_kv = offsets(LENGTHS), offsets(reversed(LENGTHS))
    q, k, v = (torch.randn(int(cu_q[-1]), n, d).half() for n in (3, 1, 1))
    op = tileops.GroupedQueryAttentionPrefillVarlenFwdOp(is_causal=causal)
    want = oracles.grouped_query_attention_prefill_varlen(
        q,
        k,
        v,
        cu_q,
        cu_kv,
        is_causal=causal,
        sm_scale=None,
        softcap=None,
        max_seqlen_q=None,
        max_seqlen_kv=None,
    )
    torch.testing.assert_close(op(q, k, v, cu_q, cu_kv).double(), want, rtol=2e-3, atol=2e-3)


def test_what_a_neighbour_holds_does_not_matter():
    cu = offsets([70, 50, 130])
    q, k, v = (torch.randn(250, n, 64).half() for n in (2, 1, 1))
    op = tileops.GroupedQueryAttentionPrefillVarlenFwdOp()
    before = op(q, k, v, cu, cu)
    for tensor in (q, k, v):
        tensor[70:120] = float("nan")
    after = op(q, k, v, cu, cu)
    assert torch.equal(before[:70], after[:70]) and torch.equal(before[120:], after[120:])


@pytest.mark.parametrize("window", [(0, 0), (31, 0), (64, 64), (-1, 5)])
def test_windows_of_packed_sequences(window):
    cu_q, cu_k = offsets([65, 0, 128, 7]), offsets([129, 3, 128, 64])
    q, k, v = (torch.randn(n, h, 64).bfloat16() for n, h in ((200, 4), (324, 2), (324, 2)))
    sides = {"window_size_left": window[0], "window_size_right": window[1]}
    op = tileops.GroupedQueryAttentionSlidingWindowVarlenFwdOp(is_causal=False, **sides)
    want = oracles.grouped_query_attention_sliding_window_varlen(
        q, k, v, cu_q, cu_k, is_causal=False, max_seqlen_q=None, **sides
    )
    torch.testing.assert_close(op(q, k, v, cu_q, cu_k).double(), want, rtol=2e-2, atol=2e-2)
