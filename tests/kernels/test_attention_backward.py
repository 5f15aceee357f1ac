"""Gradients of attention against float64 autograd, at the sizes where tiles end, and through the forward."""

import pytest
import torch
import torch.nn.functional as F

import tileops
from tests.kernels.building import DTYPES, build, poisoned, randn
from tileops.kernels.attention import grouped_query_attention_gradient
from tileops.reference import attention as oracles
from tileops.testing import assert_accurate

LENGTHS = [1, 2, 63, 64, 65, 95, 96, 97, 127, 128, 129, 193]  # tiles are of 64, 96 and 128 rows


def tensors(dtype, b, s, h, h_kv, d, *, causal, grow=1.0):
    """q, k, v, o, do and lse; `o` is rounded, `lse` is PyTorch's, in the natural logarithm."""
    q, k, v = (randn(b, s, n, d, dtype=dtype, seed=100 * i) for i, n in enumerate([h, h_kv, h_kv]))
    q, do = q * grow, randn(b, s, h, d, dtype=dtype, seed=700)
    queries = q.double().transpose(1, 2)
    keys = k.double().transpose(1, 2).repeat_interleave(h // h_kv, 1)
    scores = queries @ keys.mT * d**-0.5
    if causal:
        scores = scores.masked_fill(torch.ones(s, s, dtype=torch.bool).triu(1), -torch.inf)
    o = oracles.grouped_query_attention(q, k, v, is_causal=causal)
    return q, k, v, o.to(q.dtype).contiguous(), do, torch.logsumexp(scores, -1).float()


def gradients(given, *, causal):
    """What the programs write, twice and into memory that shows what they leave out."""
    q, k, v = given[:3]
    dtype = str(q.dtype).removeprefix("torch.")
    run = build(grouped_query_attention_gradient, ("q",), dtype, D=q.shape[3])
    first, second = ([poisoned(*t.shape, dtype=dtype) for t in (q, k, v)] for _ in range(2))
    run(*given, *first, causal)
    run(*given, *second, causal)
    assert all(torch.equal(one, other) for one, other in zip(first, second, strict=True))
    return first


def check(dtype, b, s, h, h_kv, d, *, causal, grow=1.0):
    given = tensors(dtype, b, s, h, h_kv, d, causal=causal, grow=grow)
    want = oracles.grouped_query_attention_bwd(*given, is_causal=causal)
    for name, mine, theirs in zip("qkv", gradients(given, causal=causal), want, strict=True):
        where = f"d{name} of {b} x {s} x {h} / {h_kv} x {d}"
        assert_accurate(mine, theirs, DTYPES[dtype], roundings=2.0, name=where)


@pytest.mark.parametrize("causal", [False, True])
def test_lengths_at_the_edges_of_tiles(causal):
    for s in LENGTHS:
        if s > 1:  # one key: its gradient and the query's are 0, but for the rounding of the output
            check("float16", 1, s, 2, 1, 64, causal=causal)
        check("bfloat16", 2, s, 1, 1, 128, causal=causal)


def test_a_single_key():
    given = tensors("float16", 1, 1, 2, 1, 64, causal=True)
    dq, dk, dv = gradients(given, causal=True)
    torch.testing.assert_close(dv.double(), given[4].double().sum(2, keepdim=True), rtol=1e-3, atol=1e-3)
    for small in (dq, dk):
        assert small.abs().max() < 0.02


def test_groups():
    for h, h_kv in [(1, 1), (3, 3), (3, 1), (8, 1), (16, 2)]:
        check("float16", 1, 70, h, h_kv, 64, causal=True)
    check("float16", 1, 70, 8, 8, 64, causal=False)


@pytest.mark.parametrize("d", [80, 96, 100, 192, 256])
def test_head_dimensions(d):
    check("float16", 1, 130, 2, 1, d, causal=True)
    check("float16", 1, 33, 1, 1, d, causal=False)


def test_large_scores():
    """Weights of 0 and 1 beside each other, and log-sum-exps far from 0 in rows that a tile ends in."""
    for causal in (False, True):
        check("bfloat16", 1, 130, 2, 1, 128, causal=causal, grow=100.0)


def test_scores_far_below_zero():
    """Keys beyond the end score 0, far above all others; they must not count."""
    q, k, v, _, do, _ = tensors("bfloat16", 1, 70, 2, 1, 128, causal=False)
    q, k = q.abs() * 30, -k.abs()
    o, lse = oracles.attend(q, k, v)
    assert lse.max() < -100  # e^100 is no float32
    given = (q, k, v, o.to(q.dtype).contiguous(), do, lse.float())
    want = oracles.grouped_query_attention_bwd(*given, is_causal=False)
    for name, mine, theirs in zip("qkv", gradients(given, causal=False), want, strict=True):
        assert_accurate(mine, theirs, q.dtype, roundings=2.0, name=name)


def test_a_row_that_sees_nothing_gives_nothing():
    given = tensors("float16", 1, 70, 2, 1, 64, causal=True)
    lse = given[5].clone()
    lse[:, :, ::3] = -torch.inf
    given = (*given[:5], lse)
    dq, dk, dv = gradients(given, causal=True)
    assert dq[:, ::3].eq(0).all()
    assert dq[:, 1::3].ne(0).any()
    want = oracles.grouped_query_attention_bwd(*given, is_causal=True)
    for mine, theirs in zip((dq, dk, dv), want, strict=True):
        assert_accurate(mine, theirs, mine.dtype, roundings=2.0)


@pytest.mark.parametrize("causal", [False, True])
def test_the_oracle_is_the_gradient(causal):
    """The formula that everything is compared with, against float64 autograd through the forward's oracle."""
    leaves = [randn(2, 33, n, 16, seed=100 * i).double().requires_grad_() for i, n in enumerate([6, 2, 2])]
    do = randn(2, 33, 6, 16, seed=700).double()
    o, lse = oracles.attend(*leaves, is_causal=causal)
    want = torch.autograd.grad(o, leaves, do)
    detached = [t.detach() for t in (*leaves, o, do, lse)]
    for mine, theirs in zip(
        oracles.grouped_query_attention_bwd(*detached, is_causal=causal), want, strict=True
    ):
        torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("h_kv", [4, 1])
def test_backward_through_the_forward_is_that_of_pytorch(causal, h_kv):
    cls = tileops.MultiHeadAttentionFwdOp if h_kv == 4 else tileops.GroupedQueryAttentionFwdOp
    leaves = [
        randn(1, 97, n, 64, dtype="float16", seed=100 * i).requires_grad_()
        for i, n in enumerate([4, h_kv, h_kv])
    ]
    do = randn(1, 4, 97, 64, dtype="float16", seed=700).transpose(1, 2)  # as layers behind it may give it
    cls(is_causal=causal)(*leaves).backward(do)
    exact = [t.detach().double().requires_grad_() for t in leaves]
    heads_first = [t.transpose(1, 2) for t in exact]
    theirs = F.scaled_dot_product_attention(*heads_first, is_causal=causal, enable_gqa=True)
    theirs.transpose(1, 2).backward(do.double())
    for name, mine, want in zip("qkv", leaves, exact, strict=True):
        assert_accurate(mine.grad, want.grad, torch.float16, roundings=3.0, name=name)


def test_only_the_gradients_that_are_wanted():
    q, k, v = (randn(1, 5, 2, 64, dtype="float16", seed=100 * i) for i in range(3))
    k.requires_grad_()
    tileops.MultiHeadAttentionFwdOp()(q, k, v).sum().backward()
    assert k.grad is not None
    assert q.grad is None
    assert v.grad is None
