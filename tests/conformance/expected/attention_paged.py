"""Probes of prefill over a paged cache."""

from __future__ import annotations

import dataclasses
from typing import Any

from tests.conformance.expected.probes import HALF, Bad, Expected, Good, Probe, Shape

_Q, _NEW, _POOL = (6, 4, 64), (6, 2, 64), (64, 2, 64)
_INDICES = ("cu_seqlens_q", "cache_seqlens", "block_table")
_SCALES: dict[str, Shape] = {"k_scale": (1,), "v_scale": (1,)}
_FLOAT8 = {"k_pages": "float8_e4m3fn", "v_pages": "float8_e4m3fn"}
_ROPE = {"fuse_rope": True, "max_position": 99}
_STATIC = {"D": 64, "page_size": 8, "adjusted": False, "half": 0}
_FLOPS = 4 * 2 * 4 * 64
_WRITTEN = frozenset({"k_pages", "v_pages"})


def _probe(
    q: Shape = _Q, new: Shape = _NEW, pool: Shape = _POOL, cu: Shape = (3,), lengths: Shape = (2,),
    table: Shape = (2, 4), dtypes: dict[str, str] | None = None, page_size: int = 8, **more: Any,
) -> Probe:  # fmt: skip
    slots = ("q", "k_new", "v_new", "k_pages", "v_pages", *_INDICES)
    inputs = dict(zip(slots, (q, new, new, pool, pool, cu, lengths, table), strict=True))
    inputs |= {name: more.pop(name, None) for name in _SCALES}
    inputs |= {name: more.pop(name) for name in slots if name in more}
    types = {**dict.fromkeys(_INDICES, "int32"), **dict.fromkeys(_SCALES, "float32")}
    types |= {"k_pages": "float16", "v_pages": "float16"}
    return Probe(inputs, {"page_size": page_size, **more}, "float16", types | (dtypes or {}))


def _good(
    pairs: int | None = None, run: bool = False, static: dict[str, Any] | None = None, **more: Any
) -> Good:
    flops = None if pairs is None else _FLOPS * pairs
    q = more.get("q", _Q)
    return Good(
        _probe(**more), (q,), "flash", _STATIC | (static or {}), flops, out_dtype="float16", run=run,
        written=_WRITTEN,
    )  # fmt: skip


def _unserved(q: tuple[int, ...], new: tuple[int, ...], pool: tuple[int, ...], **more: Any) -> Good:
    return Good(_probe(q, new, pool, **more), (q,), written=_WRITTEN)


def _served(q: tuple[int, ...], new: tuple[int, ...], pool: tuple[int, ...], **more: Any) -> Good:
    return Good(_probe(q, new, pool, **more), (q,), "flash", written=_WRITTEN)


def _bfloat16(probe: Probe) -> Good:
    probe = dataclasses.replace(probe, dtype="bfloat16")
    return Good(probe, (_Q,), "flash", out_dtype="bfloat16", written=_WRITTEN)


_BF16_PAGES = {"k_pages": "bfloat16", "v_pages": "bfloat16"}
_MOST = 128 * 65531 + 127
PAGED = Expected(
    good=[
        Good(
            _probe(max_seqlen_q=0), (_Q,), "flash", _STATIC, _FLOPS * (30 + 31 + 32),
            2 * (2 * 6 * 4 * 64 + 2 * 6 * 2 * 64 + 2 * 64 * 2 * 64) + 4 * (3 + 2 + 8),
            names={"scale": 0.125, "cap": 0.0, "R": 64}, written=_WRITTEN,
        ),
        _good(96, is_causal=False),
        _good(static={"half": 32}, **_ROPE),
        _good(static={"half": 8}, **_ROPE, rotary_dim=16, rope_base=500.0),
        _good(static={"adjusted": True}, softcap=2.0),
        _good(static={"adjusted": True}, sm_scale=-0.5),
        _good(static={"adjusted": True}, sm_scale=0.0),
        _good(sm_scale=0.5, softcap=0.0),
        _good(dtypes=_FLOAT8, **_SCALES),
        _good(**_SCALES),
        _good(static={"page_size": 1}, page_size=1),
        *(_bfloat16(probe) for probe in (_probe(dtypes=_BF16_PAGES), _probe(dtypes=_FLOAT8, **_SCALES))),
        _served((6, 4, 256), (6, 2, 256), (64, 2, 256)),
        _unserved((6, 4, 257), (6, 2, 257), (64, 2, 257)),
        _served((_MOST, 1, 1), (_MOST, 1, 1), (8, 1, 1)),
        _unserved((_MOST + 1, 1, 1), (_MOST + 1, 1, 1), (8, 1, 1)),
        _unserved((_MOST, 1, 1), (_MOST, 1, 1), (8, 1, 1), cu=(4,), lengths=(3,), table=(3, 4)),
        Good(_probe(cu=(1,), lengths=(0,), table=(0, 4)), (_Q,), "flash", flops=0, written=_WRITTEN),
    ],
    bad=[
        *(Bad("page_size must be a power of two", _probe(page_size=n)) for n in (0, -1, 12)),
        Bad("the pool must hold whole pages", _probe(page_size=128)),
        Bad("H must be a multiple of H_kv", _probe((6, 3, 64))),
        Bad("H must be a multiple of H_kv", _probe(new=(6, 0, 64), pool=(64, 0, 64))),
        Bad("the head dimension D must not be empty", _probe((6, 4, 0), (6, 2, 0), (64, 2, 0))),
        *(Bad("sm_scale must be finite", _probe(sm_scale=x)) for x in (float("inf"), float("nan"), 1e39)),
        *(Bad("softcap must be finite", _probe(softcap=x)) for x in (-1.0, float("inf"))),
        Bad("give both k_scale and v_scale", _probe(k_scale=(1,))),
        Bad("give both k_scale and v_scale", _probe(v_scale=(1,))),
        Bad("a float8 cache needs k_scale and v_scale", _probe(dtypes=_FLOAT8)),
        Bad("fuse_rope goes with a cache of 16-bit floats", _probe(dtypes=_FLOAT8, **_SCALES, **_ROPE)),
        Bad("fuse_rope needs max_position", _probe(fuse_rope=True)),
        Bad("fuse_rope needs max_position", _probe(fuse_rope=True, max_position=0)),
        Bad("rotary_dim goes with fuse_rope", _probe(rotary_dim=16)),
        *(Bad("rotary_dim must be even", _probe(rotary_dim=n, **_ROPE)) for n in (0, -2, 15, 66)),
        *(Bad("rope_base must be finite", _probe(rope_base=x)) for x in (0.0, -1.0, float("inf"))),
        Bad("max_seqlen_q must not be negative", _probe(max_seqlen_q=-1)),
        Bad("q must have 3", _probe((6, 64))),
        *(Bad(f"{n} must have 3", _probe(**{n: (6, 64)})) for n in ("k_new", "v_new", "k_pages", "v_pages")),
        *(Bad(f"{n} must have shape", _probe(**{n: (5, 2, 64)})) for n in ("k_new", "v_new")),
        *(Bad("must have shape", _probe(**{n: (6, 1, 64)})) for n in ("k_new", "v_new")),
        *(Bad("must have shape", _probe(**{n: (6, 2, 32)})) for n in ("k_new", "v_new")),
        *(Bad("must have shape", _probe(**{n: (64, 1, 64)})) for n in ("k_pages", "v_pages")),
        *(Bad("must have shape", _probe(**{n: (64, 2, 32)})) for n in ("k_pages", "v_pages")),
        Bad("v_pages must have shape", _probe(v_pages=(32, 2, 64))),
        Bad("cu_seqlens_q must have 1", _probe(cu=(3, 1))),
        Bad("cache_seqlens must have 1", _probe(lengths=(2, 1))),
        Bad("must have shape", _probe(lengths=(3,))),
        Bad("block_table must have 2", _probe(table=(2,))),
        Bad("block_table must have shape", _probe(table=(3, 4))),
        *(Bad(f"{n} must have shape", _probe(**{**_SCALES, n: (2,)})) for n in _SCALES),
        *(Bad(f"{n} must have 1", _probe(**{**_SCALES, n: (1, 1)})) for n in _SCALES),
        *(Bad(f"{n} must have dtype float32", _probe(dtypes={n: "float16"}, **_SCALES)) for n in _SCALES),
        Bad("k_new must have the dtype of q", _probe(dtypes={"k_new": "bfloat16"})),
        Bad("v_new must have the dtype of q", _probe(dtypes={"v_new": "bfloat16"})),
        Bad("v_pages must have the dtype of k_pages", _probe(dtypes={"v_pages": "bfloat16"})),
        Bad("do not go together", _probe(dtypes={"k_pages": "bfloat16", "v_pages": "bfloat16"})),
        *(
            Bad(f"{n} must be a torch.Tensor", _probe(**{n: None}))
            for n in ("k_new", "v_new", "k_pages", "v_pages")
        ),
        Bad("q must be a torch.Tensor", _probe(None)),
        Bad("cu_seqlens_q must be a torch.Tensor", _probe(cu=None)),
        Bad("cache_seqlens must be a torch.Tensor", _probe(lengths=None)),
        Bad("block_table must be a torch.Tensor", _probe(table=None)),
    ],
    dtypes={"q": HALF, "k_pages": {*HALF, "float8_e4m3fn"}, **{name: {"int32"} for name in _INDICES}},
    roundings=2.0,
    made={
        "cu_seqlens_q": (0, 150), "cache_seqlens": (1, 106), "block_table": (0, 79),
        "k_scale": (2, 2), "v_scale": (2, 2),
    },
    values={
        "cu_seqlens_q": ("offsets", 6),
        "cache_seqlens": ("room", "cu_seqlens_q", 32),
        "block_table": ("grown_pages", "cache_seqlens", "cu_seqlens_q", 8, 8),
        "k_scale": ("range", 2.0**-64, 2.0**40),
        "v_scale": ("range", 2.0**-64, 2.0**40),
    },
)  # fmt: skip

EXPECTED: dict[str, Expected] = {"GroupedQueryAttentionPrefillPagedWithKVCacheFwdOp": PAGED}
