"""Values of the attention program on the CPU against the oracle, at the sizes where tiles end."""

import pytest
import torch

import tileops
from tests.kernels.building import build, poisoned, randn
from tileops.kernels.attention import grouped_query_attention_dense
from tileops.reference import attention as oracles


def check(
    dtype,
    b,
    s_q,
    s_kv,
    h,
    h_kv,
    d,
    *,
    causal=False,
    left=-1,
    right=-1,
    scale=None,
    cap=0.0,
    short=False,
):
    value = d**-0.5 if scale is None else scale
    run = build(
        grouped_query_attention_dense,
        ("q", "k", "v", "o"),
        dtype,
        D=d,
        adjusted=cap > 0 or value <= 0,
        group=h // h_kv if short else 0,
        interleaved=False,
        long=False,
    )
    q, k, v = (
        randn(b, s, n, d, dtype=dtype, seed=i)
        for i, (s, n) in enumerate([(s_q, h), (s_kv, h_kv), (s_kv, h_kv)])
    )
    o = poisoned(b, s_q, h, d, dtype=dtype)
    run(q, k, v, None, None, None, None, None, o, left, right, value, cap, causal)
    want = oracles.grouped_query_attention_dense(
        q,
        k,
        v,
        *[None] * 5,
        is_causal=causal,
        sm_scale=scale,
        softcap=cap,
        window_size_left=left,
        window_size_right=right,
        pos_encoding_mode="none",
        rotary_dim=None,
        rope_layout="neox",
        out_dtype=None,
    )
    eps = torch.finfo(
        o.dtype
    ).eps  # of the output, and of the weights, which meet the values in the input's dtype
    torch.testing.assert_close(o.double(), want, rtol=2 * eps, atol=2 * eps)


def test_lengths_and_groups():
    for b, s_q, s_kv, h, h_kv in [
        (1, 1, 1, 1, 1),
        (2, 127, 129, 4, 2),
        (1, 130, 128, 3, 1),
        (1, 3, 257, 2, 2),
        (1, 2, 0, 2, 1),
    ]:
        check("float16", b, s_q, s_kv, h, h_kv, 64)


def test_causal_is_aligned_to_the_last_key():
    for s_q, s_kv in [(1, 1), (129, 129), (5, 200), (128, 256)]:
        check("bfloat16", 1, s_q, s_kv, 2, 1, 64, causal=True)


@pytest.mark.parametrize(
    ("left", "right", "causal"), [(5, 3, False), (0, 0, False), (17, -1, True), (-1, 0, False)]
)
def test_windows(left, right, causal):
    """Also with rows that see nothing, before the first key (more queries than keys) or beyond the window."""
    for s_q, s_kv in [(70, 70), (20, 300)] if causal else [(70, 70), (300, 40), (20, 300)]:
        check("float16", 1, s_q, s_kv, 2, 1, 64, causal=causal, left=left, right=right, short=True)


def test_window_of_any_size_fits_in_32_bits():
    check("float16", 1, 3, 5, 1, 1, 64, left=2**40, right=2**40, short=True)


def test_groups_packed():
    check("float16", 2, 16, 150, 8, 2, 64, causal=True, short=True)
    check("float16", 1, 2, 300, 3, 1, 72, left=40, right=3, short=True)


@pytest.mark.parametrize("scale", [-0.2, 0.0])
def test_scale_that_is_not_positive(scale):
    check("float16", 1, 10, 70, 1, 1, 64, causal=True, scale=scale, short=True)


def test_softcap():
    check("float16", 1, 10, 70, 2, 1, 64, causal=True, scale=2.0, cap=3.0, short=True)


@pytest.mark.parametrize("d", [1, 40, 100, 256])
def test_head_dimensions(d):
    check("float16", 1, 66, 70, 2, 1, d, causal=True, short=True)


def test_a_nan_is_not_hidden():
    run = build(
        grouped_query_attention_dense, ("q", "k", "v", "o"), "float16",
        D=64, adjusted=False, group=1, interleaved=False, long=False,
    )  # fmt: skip
    q, k, v = (randn(1, 4, 1, 64, dtype="float16", seed=i) for i in range(3))
    q[0, 2] = float("nan")
    o = torch.zeros_like(q)
    run(q, k, v, None, None, None, None, None, o, -1, -1, 0.125, 0.0, True)
    assert o[0, 2].isnan().all()
    assert o[0, [0, 1, 3]].isfinite().all()


@pytest.mark.parametrize("size", [1e2, 3e4, 1e6, 1e9])
def test_logits_of_any_size_are_weighed_and_never_nan(size):
    """From 2^30 on the product of the largest logit and the factor is off by more than an exponent holds."""
    q, k, v = (torch.randn(1, 70, 2, 64).mul(s).bfloat16() for s in (size, size, 1.0))
    k[0, :3] = k[0, 3]  # equal logits share their weight
    o = tileops.GroupedQueryAttentionDenseFwdOp(is_causal=False)(q, k, v)
    heads = (t.double().transpose(1, 2) for t in (q, k, v))
    want = torch.nn.functional.scaled_dot_product_attention(*heads).transpose(1, 2)
    torch.testing.assert_close(o.double(), want, rtol=2e-2, atol=2e-2)
