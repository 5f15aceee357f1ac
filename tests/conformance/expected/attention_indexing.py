"""Probes of the lightning indexer."""

from __future__ import annotations

from typing import Any

from tests.conformance.expected.probes import Bad, Expected, Good, Probe, Shape

E4M3 = "float8_e4m3fn"
SLOTS = ("weights", "cu_seqlen_ks", "cu_seqlen_ke", "index_k_scale")


def _index(
    q: Shape = (2, 3, 4, 64),
    k: Shape = (2, 5, 1, 64),
    weights: Shape = (3, 4),
    ks: Shape = (3,),
    ke: Shape = (3,),
    scale: Shape = None,
    dtypes: dict[str, str] | None = None,
    **params: Any,
) -> Probe:
    inputs = {"index_q": q, "index_k": k, **dict(zip(SLOTS, (weights, ks, ke, scale), strict=True))}
    types = dict(zip(SLOTS, ("float32", "int32", "int32", "float32"), strict=True))
    own = {"index_q": E4M3, "index_k": E4M3, **types, **(dtypes or {})}
    return Probe(inputs, params, "float32", own)


def _good(probe: Probe, *out: int, implementation: str | None = "tiles", **others: Any) -> Good:
    return Good(probe, (out,), implementation, out_dtype="float32", **others)


_SHAPES: list[tuple[str, Probe]] = [
    ("index_k must have shape", _index(k=(1, 5, 1, 64))),
    ("index_k must have shape", _index(k=(2, 5, 1, 32))),
    ("weights must have shape [S H]", _index(weights=(4, 4))),
    ("weights must have shape [S H]", _index(weights=(3, 5))),
    ("cu_seqlen_ks must have shape [S]", _index(ks=(4,))),
    ("cu_seqlen_ke must have shape [S]", _index(ke=(2,))),
    *(
        ("index_k_scale must have shape [B S_kv G]", _index(scale=shape))
        for shape in ((1, 5, 1), (2, 4, 1), (2, 5, 2))
    ),
    ("index_q must have 4 dimensions", _index((2, 3, 64))),
    ("index_k must have 4 dimensions", _index(k=(2, 5, 64))),
    ("weights must have 2 dimensions", _index(weights=(2, 3, 4))),
    ("cu_seqlen_ks must have 1 dimension", _index(ks=(3, 1))),
    ("cu_seqlen_ke must have 1 dimension", _index(ke=(3, 1))),
    ("index_k_scale must have 3 dimensions", _index(scale=(2, 5))),
]
_MISSING = [
    ("index_q", _index(None)),
    ("index_k", _index(k=None)),
    ("weights", _index(weights=None)),
    ("cu_seqlen_ks", _index(ks=None)),
    ("cu_seqlen_ke", _index(ke=None)),
]
_SCALE_NEEDS = "index_k_scale goes with float8 index_q and index_k"

INDEXER = Expected(
    good=[
        _good(
            _index(),
            *(2, 3, 5, 1),
            static={"D": 64, "heads": 4, "single": True, "aligned": True, "clean": True},
            flops=2 * 2 * 3 * 5 * 4 * 64,
            bytes=24 * 64 + 10 * 64 + 4 * (12 + 6 + 30),
        ),
        _good(
            _index((1, 3, 4, 40), (1, 5, 2, 40), clean_logits=False),
            *(1, 3, 5, 2),
            static={"D": 40, "heads": 2, "single": False, "aligned": False, "clean": False},
        ),
        _good(_index(scale=(2, 5, 1)), 2, 3, 5, 1, run=True),
        *(
            _good(_index(dtypes={"index_q": q, "index_k": k}), 2, 3, 5, 1)
            for q in ("bfloat16", E4M3)
            for k in ("bfloat16", E4M3)
        ),
        _good(_index((1, 3, 4, 256), (1, 5, 1, 256)), 1, 3, 5, 1, static={"D": 256}),
        _good(_index((1, 3, 4, 257), (1, 5, 1, 257)), 1, 3, 5, 1, implementation=None),
        _good(_index((1, 3, 256, 64), (1, 5, 2, 64), (3, 256)), 1, 3, 5, 2, static={"heads": 128}),
        _good(_index((1, 3, 129, 64), (1, 5, 1, 64), (3, 129)), 1, 3, 5, 1, implementation=None),
    ],
    bad=[
        Bad("H must be a multiple of G", _index(k=(2, 5, 3, 64))),
        Bad("H must be a multiple of G", _index(k=(2, 5, 0, 64))),
        Bad("H must be a multiple of G", _index((2, 3, 0, 64), weights=(3, 0))),
        Bad("the head dimension D must not be empty", _index((2, 3, 4, 0), (2, 5, 1, 0))),
        Bad(_SCALE_NEEDS, _index(scale=(2, 5, 1), dtypes={"index_q": "bfloat16"})),
        Bad(_SCALE_NEEDS, _index(scale=(2, 5, 1), dtypes={"index_k": "bfloat16"})),
        *(Bad(says, probe) for says, probe in _SHAPES),
        *(Bad(f"{name} must be a torch.Tensor", probe) for name, probe in _MISSING),
    ],
    dtypes={
        "index_q": {"bfloat16", E4M3},
        "index_k": {"bfloat16", E4M3},
        "weights": {"float32"},
        "cu_seqlen_ks": {"int32"},
        "cu_seqlen_ke": {"int32"},
    },
    roundings=512.0,  # tensor cores keep about 14 bits of a sum of float8 products
    made={"cu_seqlen_ks": (0, 37), "cu_seqlen_ke": (75, 150)},
)

EXPECTED: dict[str, Expected] = {"FP8LightningIndexerFwdOp": INDEXER}
