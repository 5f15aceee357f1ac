"""Probes of decoding."""

from __future__ import annotations

import dataclasses
from typing import Any

from tests.conformance.expected.probes import HALF, Bad, Expected, Good, Probe, Shape

_INDICES = ("real_seqlen_kv", "block_table")
_LARGE = 1 + 65535


def _dense(q: Shape, k: Shape, dtypes: dict[str, str] | None = None, **more: Any) -> Probe:
    return Probe({"q": q, "k": k, "v": more.pop("v", k)}, more, "float16", dtypes or {})


def _paged(
    q: Shape, k: Shape, dtypes: dict[str, str] | None = None, lengths: Shape = (3,), table: Shape = (3, 2),
    page_size: int = 16, **more: Any,
) -> Probe:  # fmt: skip
    inputs = {"q": q, "k": k, "v": more.pop("v", k), "real_seqlen_kv": lengths, "block_table": table}
    types = {**dict.fromkeys(_INDICES, "int32"), **(dtypes or {})}
    return Probe(inputs, {"page_size": page_size, **more}, "float16", types)


def _served(probe: Probe, flops: int | None = None, **more: Any) -> Good:
    return Good(probe, (probe.inputs["q"] or (),), "split", more.pop("static", {}), flops, **more)


def _unserved(probe: Probe) -> Good:
    return Good(probe, (probe.inputs["q"] or (),))


def _bfloat16(probe: Probe) -> Good:
    return _served(dataclasses.replace(probe, dtype="bfloat16"), out_dtype="bfloat16")


def _scales(probe: Any, q: Shape, k: Shape) -> list[Bad]:
    return [
        *(
            Bad("sm_scale must be finite", probe(q, k, sm_scale=x))
            for x in (float("inf"), float("nan"), 1e39)
        ),
        *(Bad("softcap must be finite", probe(q, k, softcap=x)) for x in (-0.25, float("inf"))),
    ]


def _missing(probe: Any, q: Shape, k: Shape) -> list[Bad]:
    return [
        Bad("q must be a torch.Tensor", probe(None, k)),
        Bad("k must be a torch.Tensor", probe(q, None, v=k)),
        Bad("v must be a torch.Tensor", probe(q, k, v=None)),
        Bad("k must have the dtype of q", probe(q, k, {"k": "bfloat16"})),
        Bad("v must have the dtype of q", probe(q, k, {"v": "bfloat16"})),
    ]


def _pages(q: Shape, k: Shape) -> list[Bad]:
    return [
        *(Bad("page_size must be a power of two", _paged(q, k, page_size=n)) for n in (0, -1, 24)),
        Bad("the pool must hold whole pages", _paged(q, k, page_size=256)),
        Bad("real_seqlen_kv must have 1", _paged(q, k, lengths=(3, 1))),
        Bad("real_seqlen_kv must have shape", _paged(q, k, lengths=(4,))),
        Bad("block_table must have 2", _paged(q, k, table=(3,))),
        Bad("block_table must have shape", _paged(q, k, table=(4, 2))),
        Bad("real_seqlen_kv must be a torch.Tensor", _paged(q, k, lengths=None)),
        Bad("block_table must be a torch.Tensor", _paged(q, k, table=None)),
    ]


_Q4, _K4 = (2, 3, 4, 64), (2, 129, 4, 64)
MHA = Expected(
    good=[
        _served(_dense(_Q4, _K4), 4 * 2 * 3 * 4 * 64 * 129, static={"D": 64},
                bytes=2 * (2 * 2 * 3 * 4 * 64 + 2 * 2 * 129 * 4 * 64)),
        _bfloat16(_dense(_Q4, _K4)),
        _served(_dense((2, 3, 4, 256), (2, 0, 4, 256)), 0, static={"D": 256}),
        _unserved(_dense((2, 3, 4, 257), (2, 5, 4, 257))),
        _served(_dense((_LARGE - 1, 1, 1, 1), (_LARGE - 1, 1, 1, 1))),
        _unserved(_dense((_LARGE, 1, 1, 1), (_LARGE, 1, 1, 1))),
        _served(_dense((1, 4194240, 1, 1), (1, 5, 1, 1))),
        _unserved(_dense((1, 4194241, 1, 1), (1, 5, 1, 1))),
    ],
    bad=[
        Bad("the head dimension D must not be empty", _dense((2, 3, 4, 0), (2, 129, 4, 0))),
        Bad("q must have 4", _dense((2, 4, 64), _K4)),
        Bad("k must have 4", _dense(_Q4, (129, 4, 64))),
        Bad("v must have 4", _dense(_Q4, _K4, v=(129, 4, 64))),
        *(
            Bad("k must have shape", _dense(_Q4, k))
            for k in ((3, 129, 4, 64), (2, 129, 2, 64), (2, 129, 4, 32))
        ),
        *(
            Bad("v must have shape", _dense(_Q4, _K4, v=v))
            for v in ((3, 129, 4, 64), (2, 128, 4, 64), (2, 129, 2, 64), (2, 129, 4, 32))
        ),
        *_missing(_dense, _Q4, _K4),
    ],
    dtypes={"q": HALF},
    roundings=2.0,
)  # fmt: skip

_Q3, _K3 = (2, 4, 64), (2, 129, 2, 64)
_STATIC = {"D": 64, "adjusted": False}
GQA = Expected(
    good=[
        _served(
            _dense(_Q3, _K3),
            4 * 2 * 4 * 64 * 129,
            static=_STATIC,
            names={"scale": 0.125, "cap": 0.0},
            bytes=2 * (2 * 2 * 4 * 64 + 2 * 2 * 129 * 2 * 64),
        ),
        _bfloat16(_dense(_Q3, _K3)),
        _served(
            _dense(_Q3, _K3, sm_scale=0.5, softcap=0.0), static=_STATIC, names={"scale": 0.5, "cap": 0.0}
        ),
        _served(_dense(_Q3, _K3, softcap=2.0), static=_STATIC | {"adjusted": True}, names={"cap": 2.0}),
        *(_served(_dense(_Q3, _K3, sm_scale=x), static=_STATIC | {"adjusted": True}) for x in (0.0, -0.5)),
        _served(_dense((2, 4, 256), (2, 0, 2, 256)), 0),
        _unserved(_dense((2, 4, 257), (2, 5, 2, 257))),
        _served(_dense((_LARGE - 1, 1, 1), (_LARGE - 1, 1, 1, 1))),
        _unserved(_dense((_LARGE, 1, 1), (_LARGE, 1, 1, 1))),
    ],
    bad=[
        *_scales(_dense, _Q3, _K3),
        Bad("H must be a multiple of H_kv", _dense((2, 3, 64), _K3)),
        Bad("H must be a multiple of H_kv", _dense(_Q3, (2, 129, 0, 64))),
        Bad("the head dimension D must not be empty", _dense((2, 4, 0), (2, 129, 2, 0))),
        Bad("q must have 3", _dense((2, 1, 4, 64), _K3)),
        Bad("k must have 4", _dense(_Q3, (129, 2, 64))),
        Bad("v must have 4", _dense(_Q3, _K3, v=(129, 2, 64))),
        *(Bad("k must have shape", _dense(_Q3, k)) for k in ((3, 129, 2, 64), (2, 129, 2, 32))),
        *(
            Bad("v must have shape", _dense(_Q3, _K3, v=v))
            for v in ((3, 129, 2, 64), (2, 128, 2, 64), (2, 129, 1, 64), (2, 129, 2, 32))
        ),
        *_missing(_dense, _Q3, _K3),
    ],
    dtypes={"q": HALF},
    roundings=2.0,
)

_QP, _POOL = (3, 2, 4, 64), (128, 4, 64)
_KEPT = {
    "real_seqlen_kv": ("range", 0, 32),
    "block_table": ("pages", "real_seqlen_kv", 16, 8),
}
_MOST = {"lengths": (_LARGE - 1,), "table": (_LARGE - 1, 1), "page_size": 1}
_MORE = {"lengths": (_LARGE,), "table": (_LARGE, 1), "page_size": 1}
MHA_PAGED = Expected(
    good=[
        _served(
            _paged(_QP, _POOL),
            4 * 3 * 4 * 64 * 2 * 32,
            static={"D": 64, "page_size": 16, "causal": False},
            bytes=2 * (2 * 3 * 2 * 4 * 64 + 2 * 96 * 4 * 64) + 4 * (3 + 6),
        ),
        _served(_paged(_QP, _POOL, is_causal=True), 4 * 3 * 4 * 64 * (31 + 32), static={"causal": True}),
        _served(_paged(_QP, (64, 4, 64)), bytes=2 * (2 * 3 * 2 * 4 * 64 + 2 * 64 * 4 * 64) + 4 * (3 + 6)),
        _bfloat16(_paged(_QP, _POOL)),
        _served(_paged(_QP, _POOL, page_size=1), static={"page_size": 1}),
        _served(_paged(_QP, _POOL, table=(3, 0)), 0),
        _served(_paged((3, 2, 4, 256), (128, 4, 256))),
        _unserved(_paged((3, 2, 4, 257), (128, 4, 257))),
        _served(_paged((_LARGE - 1, 1, 1, 1), (8, 1, 1), **_MOST)),
        _unserved(_paged((_LARGE, 1, 1, 1), (8, 1, 1), **_MORE)),
        _served(_paged((1, 4194240, 1, 1), (16, 1, 1), lengths=(1,), table=(1, 1))),
        _unserved(_paged((1, 4194241, 1, 1), (16, 1, 1), lengths=(1,), table=(1, 1))),
    ],
    bad=[
        Bad("the head dimension D must not be empty", _paged((3, 2, 4, 0), (128, 4, 0))),
        Bad("q must have 4", _paged((3, 4, 64), _POOL)),
        Bad("k must have 3", _paged(_QP, (128, 64))),
        Bad("v must have 3", _paged(_QP, _POOL, v=(128, 64))),
        *(Bad("k must have shape", _paged(_QP, k)) for k in ((128, 2, 64), (128, 4, 32))),
        *(
            Bad("v must have shape", _paged(_QP, _POOL, v=v))
            for v in ((64, 4, 64), (128, 2, 64), (128, 4, 32))
        ),
        *_missing(_paged, _QP, _POOL),
        *_pages(_QP, _POOL),
    ],
    dtypes={"q": HALF, **{name: {"int32"} for name in _INDICES}},
    roundings=2.0,
    made={"real_seqlen_kv": (1, 160), "block_table": (0, 49)},
    values=_KEPT,
)

_QG, _POOL2 = (3, 4, 64), (128, 2, 64)
_PAGED_STATIC = {"D": 64, "page_size": 16, "adjusted": False}
GQA_PAGED = Expected(
    good=[
        _served(
            _paged(_QG, _POOL2),
            4 * 3 * 4 * 64 * 32,
            static=_PAGED_STATIC,
            names={"scale": 0.125, "cap": 0.0},
            bytes=2 * (2 * 3 * 4 * 64 + 2 * 96 * 2 * 64) + 4 * (3 + 6),
        ),
        _served(_paged(_QG, (64, 2, 64)), bytes=2 * (2 * 3 * 4 * 64 + 2 * 64 * 2 * 64) + 4 * (3 + 6)),
        _bfloat16(_paged(_QG, _POOL2)),
        _served(_paged(_QG, _POOL2, sm_scale=0.5, softcap=0.0), static=_PAGED_STATIC, names={"scale": 0.5}),
        _served(_paged(_QG, _POOL2, softcap=2.0), static={"adjusted": True}, names={"cap": 2.0}),
        *(_served(_paged(_QG, _POOL2, sm_scale=x), static={"adjusted": True}) for x in (0.0, -0.5)),
        _served(_paged(_QG, _POOL2, page_size=1), static={"page_size": 1}),
        _served(_paged((3, 4, 256), (128, 2, 256))),
        _unserved(_paged((3, 4, 257), (128, 2, 257))),
        _served(_paged((_LARGE - 1, 1, 1), (8, 1, 1), **_MOST)),
        _unserved(_paged((_LARGE, 1, 1), (8, 1, 1), **_MORE)),
    ],
    bad=[
        *_scales(_paged, _QG, _POOL2),
        Bad("H must be a multiple of H_kv", _paged((3, 3, 64), _POOL2)),
        Bad("H must be a multiple of H_kv", _paged(_QG, (128, 0, 64))),
        Bad("the head dimension D must not be empty", _paged((3, 4, 0), (128, 2, 0))),
        Bad("q must have 3", _paged((3, 64), _POOL2)),
        Bad("k must have 3", _paged(_QG, (128, 64))),
        Bad("v must have 3", _paged(_QG, _POOL2, v=(128, 64))),
        Bad("k must have shape", _paged(_QG, (128, 2, 32))),
        *(
            Bad("v must have shape", _paged(_QG, _POOL2, v=v))
            for v in ((64, 2, 64), (128, 1, 64), (128, 2, 32))
        ),
        *_missing(_paged, _QG, _POOL2),
        *_pages(_QG, _POOL2),
    ],
    dtypes={"q": HALF, **{name: {"int32"} for name in _INDICES}},
    roundings=2.0,
    made={"real_seqlen_kv": (1, 160), "block_table": (0, 49)},
    values=_KEPT,
)

EXPECTED: dict[str, Expected] = {
    "GroupedQueryAttentionDecodePagedWithKVCacheFwdOp": GQA_PAGED,
    "GroupedQueryAttentionDecodeWithKVCacheFwdOp": GQA,
    "MultiHeadAttentionDecodePagedWithKVCacheFwdOp": MHA_PAGED,
    "MultiHeadAttentionDecodeWithKVCacheFwdOp": MHA,
}
