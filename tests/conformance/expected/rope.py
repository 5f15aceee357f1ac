"""Probes of rotary position embedding."""

from __future__ import annotations

from typing import Any

from tests.conformance.expected.probes import FLOATS, Bad, Expected, Good, Probe, Shape

NAN, INF = float("nan"), float("inf")


def _probe(x: Shape, dtype: str = "float16", factors: Shape = (), **params: Any) -> Probe:
    """`factors`: the shape of LongRoPE's, `()` where the operator has none."""
    layout = {"layout": "2d"} if x is not None and len(x) == 4 else {}
    inputs = {"x": x} if factors == () else {"x": x, "rescale_factors": factors}
    return Probe(inputs, {**layout, **params}, dtype, {} if factors == () else {"rescale_factors": "float32"})


Params = dict[str, Any]


def _expected(factors: bool, turned: list[Params], refused: list[tuple[str, Params]]) -> Expected:
    """`turned` are params that change the value, one at a time; `refused` those that are wrong, and why."""
    own: Shape = (32,) if factors else ()
    absent: Shape = None if factors else ()
    extra = 4 * 32 if factors else 0
    good = [
        Good(
            _probe((2, 5, 3, 64), factors=own),
            ((2, 5, 3, 64),),
            "angles",
            {"D": 64, "heads": 4},
            3 * 1920,
            4 * 1920 + extra,
        ),
        Good(_probe((7, 64), factors=own), ((7, 64),), "angles", {"D": 64, "heads": 1}, run=True),
        Good(_probe((1, 2, 9, 64), factors=own), ((1, 2, 9, 64),), "angles", {"heads": 8}),
        Good(_probe((2, 4096), factors=absent), ((2, 4096),), "angles", {"D": 4096}),
        Good(_probe((2, 4098), factors=absent), ((2, 4098),), None),
        *(Good(_probe((40, 64), factors=own, **some), ((40, 64),), "angles", run=True) for some in turned),
    ]
    bad = [
        Bad("D, the last dimension of x, must be even", _probe((4, 7), factors=absent)),
        Bad("layout must be", _probe((4, 8), factors=absent, layout="3d")),
        Bad("x must have 2 dimensions", _probe((4, 8, 1), factors=absent)),
        Bad("x must have 4 dimensions", _probe((4, 8), factors=absent, layout="2d")),
        Bad("x must be a torch.Tensor", _probe(None, factors=absent)),
        *(Bad(says, _probe((4, 8), factors=absent, **params)) for says, params in refused),
    ]
    dtypes = {"x": FLOATS}
    if not factors:
        return Expected(good, bad, dtypes)
    good += [
        Good(_probe((5, 64), dtype, factors=None), ((5, 64),), "angles", out_dtype=dtype)
        for dtype in ("float16", "bfloat16", "float32")
    ]
    bad += [
        Bad("rescale_factors must have shape [D//2]", _probe((4, 8), factors=(3,))),
        Bad("rescale_factors must have 1 dimension", _probe((4, 8), factors=(4, 1))),
    ]
    return Expected(
        good,
        bad,
        {**dtypes, "rescale_factors": {"float32"}},
        made={"rescale_factors": (1, 4)},
        values={"rescale_factors": ("range", 2.0**-30, 2.0**30)},
    )


def _numbers(name: str, message: str, *values: float) -> list[tuple[str, dict[str, Any]]]:
    return [(message, {name: value}) for value in values]


_BASE = _numbers("base", "base must be positive", 0.0, -1.0, INF, NAN)
_FACTORS = "low_freq_factor must be below high_freq_factor"
_CONTEXT = "original_max_position must be positive"

LLAMA31 = _expected(
    False,
    [
        {"base": 500.0},
        {"scale_factor": 2.0, "original_max_position": 64},
        {"low_freq_factor": 0.5, "high_freq_factor": 2.0, "original_max_position": 32},
    ],
    [
        *_BASE,
        *_numbers("scale_factor", "scale_factor must be positive", 0.0, -2.0, INF, NAN),
        *_numbers("low_freq_factor", _FACTORS, 4.0, 5.0, NAN, -INF),
        *_numbers("high_freq_factor", _FACTORS, 1.0, NAN, INF),
        *_numbers("original_max_position", _CONTEXT, 0, -1),
    ],
)

YARN = _expected(
    False,
    [
        {"base": 500.0},
        {"scale": 2.0, "original_max_position": 64},
        {"beta_fast": 8.0, "beta_slow": 2.0},
        {"attn_factor": 0.5},
        {"scale": 0.5},
    ],
    [
        *_numbers("base", "base must be above 1", 1.0, 0.5, INF, NAN),
        *_numbers("scale", "scale must be positive", 0.0, -2.0, INF, NAN),
        *_numbers("original_max_position", _CONTEXT, 0, -1),
        *_numbers("beta_fast", "beta_fast and beta_slow must be positive", 0.0, -1.0, INF, NAN),
        *_numbers("beta_slow", "beta_fast and beta_slow must be positive", 0.0, -1.0, INF, NAN),
        *_numbers("attn_factor", "attn_factor must be finite", INF, NAN),
    ],
)

LONG_ROPE = _expected(
    True,
    [{"base": 500.0}, {"max_position_embeddings": 131072}, {"original_max_position_embeddings": 64}],
    [
        *_BASE,
        *_numbers("max_position_embeddings", "numbers of positions must be positive", 0, -1),
        *_numbers("original_max_position_embeddings", "numbers of positions must be positive", 0, -1),
        *_numbers("original_max_position_embeddings", "must be above 1", 1),
    ],
)


def _ids(
    x: Shape = (5, 3, 64),
    ids: Shape = (5,),
    dtype: str = "float16",
    ids_dtype: str = "int32",
    max_position: int = 99,
    **params: Any,
) -> Probe:
    inputs = {"x": x, "position_ids": ids}
    return Probe(inputs, {"max_position": max_position, **params}, dtype, {"position_ids": ids_dtype})


_EVEN = "rotary_dim (by default the last dimension of x) must be even"
_WITHIN = "rotary_dim must be positive and at most the last dimension of x"

POSITION_IDS = Expected(
    good=[
        Good(
            _ids(),
            ((5, 3, 64),),
            "angles",
            {"D": 64, "R": 64, "heads": 4},
            3 * 960,
            4 * 960 + 4 * 5,
            names={"R": 64},
        ),
        Good(_ids((5, 9, 64), rotary_dim=32), ((5, 9, 64),), "angles", {"R": 32, "heads": 8}, 3 * 45 * 32),
        Good(_ids((5, 9, 63), rotary_dim=32), ((5, 9, 63),), "angles", {"D": 63}),
        Good(_ids((5, 1, 4096)), ((5, 1, 4096),), "angles"),
        Good(_ids((5, 1, 4098)), ((5, 1, 4098),), None),
        *(
            Good(_ids(dtype=d, ids_dtype=i, base=500.0), ((5, 3, 64),), "angles", out_dtype=d)
            for d in sorted(FLOATS)
            for i in ("int32", "int64")
        ),
    ],
    bad=[
        Bad(_EVEN, _ids((5, 1, 7))),
        Bad(_EVEN, _ids(rotary_dim=5)),
        Bad(_WITHIN, _ids(rotary_dim=0)),
        Bad(_WITHIN, _ids(rotary_dim=-2)),
        Bad(_WITHIN, _ids(rotary_dim=66)),
        *(Bad(says, _ids(**params)) for says, params in _BASE),
        Bad("max_position must be positive", _ids(max_position=0)),
        Bad("position_ids must have shape [T]", _ids(ids=(6,))),
        Bad("position_ids must have 1 dimension", _ids(ids=(5, 1))),
        Bad("x must have 3 dimensions", _ids((5, 64))),
        Bad("x must be a torch.Tensor", _ids(None)),
        Bad("position_ids must be a torch.Tensor", _ids(ids=None)),
    ],
    dtypes={"x": FLOATS, "position_ids": {"int32", "int64"}},
    made={"position_ids": (0, 199999)},
    values={"position_ids": ("range", 0, 98)},
)

EXPECTED: dict[str, Expected] = {
    "RopeNeoxFwdOp": _expected(False, [{"base": 500.0}], _BASE),
    "RopeNonNeoxFwdOp": _expected(False, [{"base": 500.0}], _BASE),
    "RopeLlama31FwdOp": LLAMA31,
    "RopeYarnFwdOp": YARN,
    "RopeLongRopeFwdOp": LONG_ROPE,
    "RopeNeoxPositionIdsFwdOp": POSITION_IDS,
}
