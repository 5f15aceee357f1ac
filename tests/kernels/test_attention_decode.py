"""Decoding on the CPU against the oracle, at the edges of tiles, pages and runs of keys."""

from functools import partial

import pytest
import torch

from tests.kernels.building import build, poisoned, randn
from tileops.kernels import attention as programs
from tileops.kernels.attention.decode import BLOCKS, RUNS, runs_of
from tileops.reference import attention as oracles

SLOTS = ("q", "k", "v", "o")


def close(got, want):
    """The weights are rounded to the dtype, and the output is."""
    eps = torch.finfo(got.dtype).eps
    torch.testing.assert_close(got.double(), want, rtol=2 * eps, atol=2 * eps)


def grouped(dtype, b, n, h, h_kv, d, *, scale=None, cap=0.0, factor=1.0):
    value = d**-0.5 if scale is None else scale
    run = build(
        programs.grouped_query_attention_decode, SLOTS, dtype, D=d, adjusted=cap > 0 or value <= 0
    )  # fmt: skip
    q, k, v = (
        randn(*shape, dtype=dtype, seed=i)
        for i, shape in enumerate([(b, h, d), (b, n, h_kv, d), (b, n, h_kv, d)])
    )
    q = q * factor
    o, again = poisoned(b, h, d, dtype=dtype), poisoned(b, h, d, dtype=dtype)
    run(q, k, v, o, value, cap)
    close(o, oracles.grouped_query_attention_decode_with_kv_cache(q, k, v, sm_scale=scale, softcap=cap))
    run(q, k, v, again, value, cap)
    assert torch.equal(o, again)


def several(dtype, b, s, n, h, d):
    run = build(programs.multi_head_attention_decode, SLOTS, dtype, D=d)
    q, k, v = (randn(b, m, h, d, dtype=dtype, seed=i) for i, m in enumerate((s, n, n)))
    o = poisoned(b, s, h, d, dtype=dtype)
    run(q, k, v, o)
    close(o, oracles.multi_head_attention_decode_with_kv_cache(q, k, v))


def scattered(lengths, size, pages):
    """Lengths and a table of distinct pages in no order, with -1 and nonsense past the used ones."""
    order = torch.randperm(len(lengths) * pages, generator=torch.Generator().manual_seed(0))
    table = order.reshape(len(lengths), pages).int()
    for row, length in zip(table, lengths, strict=True):
        row[-(-length // size) :] = -1
        row[-(-length // size) + 1 :: 2] = 2**30
    return torch.tensor(lengths, dtype=torch.int32), table


def paged(lengths, size, pages, h, h_kv, d, *, s=None, causal=False):
    """Grouped heads, or with `s` queries of as many heads; rows of unused pages are NaN."""
    indices = scattered(lengths, size, pages)
    q = randn(len(lengths), *(() if s is None else (s,)), h, d, dtype="float16")
    k, v = (torch.full((len(lengths) * pages * size, h_kv, d), float("nan")).half() for _ in range(2))
    for length, row in zip(lengths, indices[1], strict=True):
        for t in range(length):
            at = int(row[t // size]) * size + t % size
            k[at], v[at] = randn(h_kv, d, seed=7 * at).half(), randn(h_kv, d, seed=9 * at + 1).half()
    o = torch.full_like(q, float("nan"))
    if s is None:
        program = programs.grouped_query_attention_decode_paged
        run = build(program, SLOTS, "float16", D=d, page_size=size, adjusted=False)
        run(q, k, v, *indices, o, d**-0.5, 0.0)
        oracle = oracles.grouped_query_attention_decode_paged_with_kv_cache
    else:
        program = programs.multi_head_attention_decode_paged
        run = build(program, SLOTS, "float16", D=d, page_size=size, causal=causal)
        run(q, k, v, *indices, o)
        oracle = partial(oracles.multi_head_attention_decode_paged_with_kv_cache, is_causal=causal)
    close(o, oracle(q, k, v, *indices, page_size=size))


def test_runs_fill_the_device_and_are_few():
    assert runs_of(256, 32) == 1  # two rounds of blocks
    assert runs_of(1, 1) == 1
    for blocks, tiles in [(1, 1000), (4, 32), (8, 256), (24, 64), (100, 1000)]:
        runs = runs_of(blocks, tiles)
        assert 1 < runs <= min(RUNS, tiles)
        assert blocks * runs > BLOCKS * 0.7 or runs == tiles
    assert all(1 <= runs_of(b, t) <= max(1, 4 * BLOCKS // b) for b in range(1, 700, 9) for t in (1, 3, 2000))


def test_edges_of_tiles():
    for n in (1, 127, 128, 129, 257):
        grouped("float16", 2, n, 4, 2, 64)


@pytest.mark.parametrize(("h", "h_kv"), [(2, 2), (3, 1), (16, 2), (32, 2), (71, 1)])
def test_groups_of_heads(h, h_kv):
    grouped("float16", 1, 70, h, h_kv, 64)


@pytest.mark.parametrize("d", [80, 96, 128, 192, 256, 36])
def test_head_dimensions(d):
    grouped("float16", 1, 300, 4, 2, d)


def test_keys_in_runs():
    """Runs of one tile, of several, of a last one that is shorter."""
    for n in (700, 1025, 5000):
        grouped("float16", 1, n, 3, 1, 64)
    grouped("bfloat16", 2, 2000, 4, 2, 64)


def test_softcap_and_scales():
    for cap, scale in [(0.5, None), (50.0, 2.0), (0.0, -0.2), (0.0, 0.0)]:
        grouped("float16", 1, 600, 2, 1, 64, cap=cap, scale=scale)


def test_large_scores():
    grouped("float16", 1, 700, 4, 1, 64, factor=60.0)


def test_several_queries():
    for s, n in [(1, 63), (2, 64), (3, 65), (65, 700), (3, 1025)]:
        several("float16", 1, s, n, 2, 64)


@pytest.mark.parametrize("size", [16, 1, 4, 64, 256])
def test_pages(size):
    """Requests without keys, of one key, at the edges of pages, and runs without keys."""
    paged([0, 1, 63, 64, 65], size, 128 // size + 1, 4, 2, 64)
    paged([700, 5, 300], size, 800 // size + 1, 2, 2, 64)


@pytest.mark.parametrize("causal", [False, True])
def test_several_queries_over_pages(causal):
    for s in (1, 2, 3):
        paged([0, 1, 63, 64, 65], 16, 20, 2, 2, 64, s=s, causal=causal)
    paged([3, 130], 16, 20, 1, 1, 64, s=70, causal=causal)
    paged([2, 700], 16, 60, 1, 1, 64, s=3, causal=causal)


def test_no_request_has_keys():
    paged([0, 0], 16, 4, 2, 1, 64)
    paged([0, 0], 16, 40, 2, 1, 64)
