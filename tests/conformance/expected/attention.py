"""Probes of attention."""

from __future__ import annotations

from typing import Any

from tests.conformance.expected.probes import HALF, Bad, Expected, Good, Probe, Shape

_OPTIONAL = ("q_scale", "k_scale", "v_scale", "rope_cos", "rope_sin")


def _gqa(
    q: Shape,
    k: Shape,
    params: dict[str, Any] | None = None,
    dtype: str = "float16",
    dtypes: dict[str, str] | None = None,
    **others: Shape,
) -> Probe:
    v = others.pop("v", k)
    inputs: dict[str, Shape] = {"q": q, "k": k, "v": v, **dict.fromkeys(_OPTIONAL), **others}
    scales = dict.fromkeys(("q_scale", "k_scale", "v_scale"), "float32")
    return Probe(inputs, params or {}, dtype, {**scales, **(dtypes or {})})


_Q, _K = (2, 5, 4, 64), (2, 7, 2, 64)
_SCALES: dict[str, Shape] = dict.fromkeys(("q_scale", "k_scale", "v_scale"), (2, 2))
_TABLES: dict[str, Shape] = dict.fromkeys(("rope_cos", "rope_sin"), (7, 32))
_ROPE = {"pos_encoding_mode": "rope"}
_PLAIN = {"D": 64, "adjusted": False, "group": 2, "interleaved": False}
_BF16 = {"out_dtype": "bfloat16"}

ATTENTION = Expected(
    good=[
        Good(
            _gqa(_Q, _K),
            (_Q,),
            "flash",
            _PLAIN,
            4 * 2 * 4 * 64 * 35,
            2 * 2 * (2 * 5 * 4 * 64 + 2 * 7 * 2 * 64),
        ),
        Good(_gqa(_Q, _K, dtype="bfloat16"), (_Q,), "flash", _PLAIN),
        Good(_gqa(_Q, _K, {"is_causal": True}), (_Q,), "flash", _PLAIN, 4 * 2 * 4 * 64 * 25, run=True),
        Good(_gqa(_Q, _K, {"window_size_left": 1}), (_Q,), "flash", _PLAIN, 4 * 2 * 4 * 64 * 20, run=True),
        Good(_gqa(_Q, _K, {"window_size_left": 0}), (_Q,), "flash", _PLAIN),
        Good(_gqa(_Q, _K, {"window_size_right": 0}), (_Q,), "flash", _PLAIN, 4 * 2 * 4 * 64 * 25, run=True),
        Good(_gqa((65535, 1, 1, 64), (65535, 1, 1, 64)), ((65535, 1, 1, 64),), "flash"),
        Good(_gqa((65536, 1, 1, 64), (65536, 1, 1, 64)), ((65536, 1, 1, 64),)),
        Good(_gqa((1, 8388480, 1, 1), (1, 1, 1, 1)), ((1, 8388480, 1, 1),), "flash"),
        Good(_gqa((1, 8388481, 1, 1), (1, 1, 1, 1)), ((1, 8388481, 1, 1),)),
        Good(_gqa(_Q, _K, {"softcap": 0.0}), (_Q,), "flash", _PLAIN),
        Good(_gqa(_Q, _K, {"softcap": 2.0}), (_Q,), "flash", {**_PLAIN, "adjusted": True}, run=True),
        Good(_gqa(_Q, _K, {"sm_scale": 0.5}), (_Q,), "flash", _PLAIN),
        Good(_gqa(_Q, _K, {"sm_scale": -0.5}), (_Q,), "flash", {**_PLAIN, "adjusted": True}),
        Good(_gqa(_Q, _K, {"sm_scale": 0.0}), (_Q,), "flash", {**_PLAIN, "adjusted": True}),
        *(Good(_gqa(_Q, (2, n, 2, 64)), (_Q,), "flash", {**_PLAIN, "long": n == 4096}) for n in (4095, 4096)),
        Good(_gqa((2, 64, 4, 64), _K), ((2, 64, 4, 64),), "flash", _PLAIN),
        Good(_gqa((2, 65, 4, 64), _K), ((2, 65, 4, 64),), "flash", {**_PLAIN, "group": 0}),
        Good(_gqa((2, 5, 4, 256), (2, 7, 2, 256)), ((2, 5, 4, 256),), "flash"),
        Good(_gqa((2, 5, 4, 257), (2, 7, 2, 257)), ((2, 5, 4, 257),)),
        Good(_gqa(_Q, _K, _BF16, "float8_e4m3fn", **_SCALES), (_Q,), "flash", _PLAIN, out_dtype="bfloat16"),
        Good(
            _gqa(_Q, _K, {"out_dtype": "float16"}, "float8_e4m3fn", **_SCALES),
            (_Q,),
            "flash",
            out_dtype="float16",
        ),
        Good(_gqa(_Q, _K, _ROPE, **_TABLES), (_Q,), "flash", _PLAIN, run=True),
        Good(
            _gqa(
                _Q,
                _K,
                {**_ROPE, "rotary_dim": 16, "rope_layout": "interleaved"},
                rope_cos=(8, 8),
                rope_sin=(8, 8),
            ),
            (_Q,),
            "flash",
            {**_PLAIN, "interleaved": True},
        ),
    ],
    bad=[
        Bad("H must be a multiple of H_kv", _gqa((2, 5, 3, 64), _K)),
        Bad("H must be a multiple of H_kv", _gqa(_Q, (2, 7, 0, 64))),
        Bad("the head dimension D must not be empty", _gqa((2, 5, 4, 0), (2, 7, 2, 0))),
        Bad("sm_scale must be finite", _gqa(_Q, _K, {"sm_scale": float("inf")})),
        Bad("sm_scale must be finite", _gqa(_Q, _K, {"sm_scale": float("nan")})),
        Bad("softcap must be finite and not negative", _gqa(_Q, _K, {"softcap": -1.0})),
        Bad("softcap must be finite and not negative", _gqa(_Q, _K, {"softcap": float("inf")})),
        Bad("window sizes must be at least -1", _gqa(_Q, _K, {"window_size_left": -2})),
        Bad("window sizes must be at least -1", _gqa(_Q, _K, {"window_size_right": -2})),
        Bad("give all of q_scale", _gqa(_Q, _K, _BF16, "float8_e4m3fn", **{**_SCALES, "v_scale": None})),
        Bad("q_scale, k_scale and v_scale go with float8", _gqa(_Q, _K, **_SCALES)),
        Bad("q_scale, k_scale and v_scale go with float8", _gqa(_Q, _K, _BF16, "float8_e4m3fn")),
        Bad("rope_cos and rope_sin go with", _gqa(_Q, _K, **_TABLES)),
        Bad("rope_cos and rope_sin go with", _gqa(_Q, _K, _ROPE)),
        Bad("rotary_dim goes with", _gqa(_Q, _K, {"rotary_dim": 16})),
        Bad(
            "rotary_dim must be even",
            _gqa(_Q, _K, {**_ROPE, "rotary_dim": 15}, rope_cos=(8, 7), rope_sin=(8, 7)),
        ),
        Bad(
            "rotary_dim must be even",
            _gqa(_Q, _K, {**_ROPE, "rotary_dim": 66}, rope_cos=(8, 33), rope_sin=(8, 33)),
        ),
        Bad("rope tables must have at least", _gqa(_Q, _K, _ROPE, rope_cos=(6, 32), rope_sin=(6, 32))),
        Bad("causal attention and rope need", _gqa((2, 9, 4, 64), _K, {"is_causal": True})),
        Bad(
            "causal attention and rope need",
            _gqa((2, 9, 4, 64), _K, _ROPE, rope_cos=(9, 32), rope_sin=(9, 32)),
        ),
        Bad("q must have 4 dimensions", _gqa((5, 4, 64), _K)),
        Bad("k must have shape", _gqa(_Q, (1, 7, 2, 64), v=_K)),
        Bad("k must have shape", _gqa(_Q, (2, 7, 2, 32))),
        Bad("v must have shape", _gqa(_Q, _K, v=(2, 6, 2, 64))),
        Bad("v must have shape", _gqa(_Q, _K, v=(2, 7, 1, 64))),
        Bad(
            "q_scale must have shape", _gqa(_Q, _K, _BF16, "float8_e4m3fn", **{**_SCALES, "q_scale": (2, 4)})
        ),
        Bad(
            "k_scale must have shape", _gqa(_Q, _K, _BF16, "float8_e4m3fn", **{**_SCALES, "k_scale": (1, 2)})
        ),
        Bad("v_scale must have 2", _gqa(_Q, _K, _BF16, "float8_e4m3fn", **{**_SCALES, "v_scale": (2,)})),
        Bad("rope_sin must have shape", _gqa(_Q, _K, _ROPE, rope_cos=(8, 32), rope_sin=(7, 32))),
        Bad("rope_cos must have shape", _gqa(_Q, _K, _ROPE, rope_cos=(8, 31), rope_sin=(8, 32))),
        Bad("k must have the dtype of q", _gqa(_Q, _K, dtypes={"k": "bfloat16"})),
        Bad("v must have the dtype of q", _gqa(_Q, _K, dtypes={"v": "bfloat16"})),
        *(
            Bad(
                f"{name} must have dtype float32",
                _gqa(_Q, _K, _BF16, "float8_e4m3fn", {name: "float16"}, **_SCALES),
            )
            for name in _SCALES
        ),
        *(
            Bad(f"{n} must have the dtype of o", _gqa(_Q, _K, _ROPE, dtypes={n: "float32"}, **_TABLES))
            for n in _TABLES
        ),
        Bad("do not go together", _gqa(_Q, _K, _BF16)),
        Bad("do not go together", _gqa(_Q, _K, {}, "float8_e4m3fn", **_SCALES)),
        Bad("q must be a torch.Tensor", _gqa(None, _K)),
        Bad("k must be a torch.Tensor", _gqa(_Q, None, v=_K)),
        Bad("v must be a torch.Tensor", _gqa(_Q, _K, v=None)),
    ],
    dtypes={"q": {*HALF, "float8_e4m3fn"}},
    roundings=2.0,
)


EXPECTED: dict[str, Expected] = {
    "GroupedQueryAttentionDenseFwdOp": ATTENTION,
}
