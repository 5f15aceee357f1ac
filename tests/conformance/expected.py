"""What the operators must do, written by hand and independent of the manifest.

The manifest generates the checks, the fakes, the costs and the choice of kernels; these probes say what they
must come to. `test_expected.py` changes every declared expression and demands that a probe notices.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Shape = tuple[int, ...] | None


@dataclass(frozen=True)
class Probe:
    """One call: params, the shape of every input (`None`: absent), dtypes where they are not `dtype`."""

    inputs: dict[str, Shape]
    params: dict[str, Any] = field(default_factory=dict)
    dtype: str = "float16"
    dtypes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Good:
    """A call that works: output shapes, implementation with its static values, operations and bytes.

    With `run` it is also computed, unless it is large; one probe of each implementation is enough for that.
    """

    probe: Probe
    outputs: tuple[tuple[int, ...], ...]
    implementation: str | None = None
    static: dict[str, Any] = field(default_factory=dict)
    flops: int | None = None
    bytes: int | None = None
    out_dtype: str | None = None
    run: bool = True


@dataclass(frozen=True)
class Bad:
    """A call that is refused with a message that holds `says`."""

    says: str
    probe: Probe


@dataclass(frozen=True)
class Expected:
    """All probes of one operator; a value may be `roundings` roundings to its dtype from the oracle."""

    good: list[Good]
    bad: list[Bad]
    dtypes: dict[str, set[str]]
    roundings: float = 1.0


def _norm(
    x: Shape, n: Any = (64,), dtype: str = "float16", dtypes: dict[str, str] | None = None, **others: Shape
) -> Probe:
    return Probe({"x": x, **others}, {"normalized_shape": n}, dtype, dtypes or {})


_HALF = {"float16", "bfloat16"}
_FLOATS = {"float16", "bfloat16", "float32"}


def _row_norm(names: tuple[str, ...], flops: int) -> Expected:
    """RMSNorm and LayerNorm: `names` are the optional tensors of the size of a row."""
    none: dict[str, Shape] = dict.fromkeys(names)
    every: dict[str, Shape] = dict.fromkeys(names, (64,))
    good = [
        Good(
            _norm((2, 3, 64), **every),
            ((2, 3, 64),),
            "rows",
            {"N": 64},
            flops * 384,
            2 * (768 + 64 * len(names)),
        ),
        Good(
            _norm((5, 3, 43), (3, 43), "float32", **none),
            ((5, 3, 43),),
            "rows",
            {"N": 129},
            flops * 645,
            4 * 1290,
        ),
        Good(_norm((2, 32769), (32769,), "bfloat16", **none), ((2, 32769),), "long_rows", {"N": 32769}),
        Good(_norm((2, 32768), (32768,), **none), ((2, 32768),), "rows", {"N": 32768}),
    ]
    good += [Good(_norm((2, 64), **{**every, name: None}), ((2, 64),), "rows") for name in names]
    bad = [
        Bad("normalized_shape must name at least one axis", _norm((2, 64), (), **none)),
        Bad("normalized_shape must not contain a zero", _norm((2, 0), (0,), **none)),
        Bad("x must have at least 1 dimension", _norm((), **none)),
        Bad("with *normalized_shape = (64,)", _norm((2, 63), **none)),
        Bad("x must be a torch.Tensor", _norm(None, **none)),
    ]
    for name in names:
        bad.append(
            Bad(f"{name} must have shape [*normalized_shape]", _norm((2, 64), **{**none, name: (63,)}))
        )
        bad.append(Bad(f"{name} must have 1 dimension", _norm((2, 64), **{**none, name: (1, 64)})))
        bad.append(
            Bad(
                f"{name} must have the dtype of x",
                _norm((2, 64), dtypes={name: "float32"}, **{**none, name: (64,)}),
            )
        )
    return Expected(good, bad, {"x": _FLOATS})


def _fused(x: Shape, residual: Shape, weight: Shape, dtype: str = "float16", /, **dtypes: str) -> Probe:
    return Probe({"x": x, "residual": residual, "weight": weight}, {}, dtype, dtypes)


FUSED_ADD = Expected(
    good=[
        Good(
            _fused((2, 3, 64), (2, 3, 64), (64,)),
            ((2, 3, 64),) * 2,
            "rows",
            {"N": 64},
            5 * 384,
            2 * (4 * 384 + 64),
        ),
        Good(_fused((129,), (129,), (129,), "float32"), ((129,),) * 2, "rows", {"N": 129}),
        Good(_fused((2, 32768), (2, 32768), (32768,)), ((2, 32768),) * 2, "rows", {"N": 32768}),
        Good(_fused((2, 32769), (2, 32769), (32769,)), ((2, 32769),) * 2, "long_rows", {"N": 32769}),
    ],
    bad=[
        Bad("the last dimension must not be empty", _fused((2, 0), (2, 0), (0,))),
        Bad("residual must have shape [*B N]", _fused((2, 64), (3, 64), (64,))),
        Bad("residual must have shape [*B N]", _fused((2, 64), (2, 63), (64,))),
        Bad("weight must have shape [N]", _fused((2, 64), (2, 64), (65,))),
        Bad("x must have at least 1 dimension", _fused((), (), (64,))),
        Bad("weight must have 1 dimension", _fused((2, 64), (2, 64), (2, 64))),
        Bad("residual must have the dtype of x", _fused((2, 64), (2, 64), (64,), residual="float32")),
        Bad("weight must have the dtype of x", _fused((2, 64), (2, 64), (64,), weight="bfloat16")),
        Bad("x must be a torch.Tensor", _fused(None, (2, 64), (64,))),
        Bad("residual must be a torch.Tensor", _fused((2, 64), None, (64,))),
        Bad("weight must be a torch.Tensor", _fused((2, 64), (2, 64), None)),
    ],
    dtypes={"x": _FLOATS},
)


def _soft(x: Shape, dim: int | None, dtype: str = "float16") -> Probe:
    return Probe({"input": x}, {"dim": dim}, dtype)


SOFTMAX = Expected(
    good=[
        Good(_soft((2, 3, 64), -1), ((2, 3, 64),), "rows", {"block": 64, "aligned": True}, 5 * 384, 4 * 384),
        Good(
            _soft((5, 129), 1, "float32"),
            ((5, 129),),
            "rows",
            {"block": 256, "aligned": False},
            5 * 645,
            8 * 645,
        ),
        Good(_soft((2, 32768), -1), ((2, 32768),), "rows"),
        Good(_soft((2, 32769), -1), ((2, 32769),), "few_rows", {"aligned": False}),
        Good(_soft((132, 32776), -1), ((132, 32776),), "few_rows", {"aligned": True}),
        Good(_soft((133, 32769), -1), ((133, 32769),), "long_rows", {"aligned": False}),
        Good(_soft((133, 32776), -1), ((133, 32776),), "long_rows", {"aligned": True}),
        Good(_soft((2, 32769, 2), 1), ((2, 32769, 2),), "columns"),
        Good(_soft((3, 65, 7), 1), ((3, 65, 7),), "columns", {"cols": 8, "aligned": False}),
        Good(_soft((3, 5, 8), 1), ((3, 5, 8),), "columns", {"cols": 8, "aligned": True}),
        Good(_soft((2, 3, 256), 1), ((2, 3, 256),), "columns", {"cols": 128, "aligned": True}),
        Good(_soft((1, 2**16, 2**15), 1), ((1, 2**16, 2**15),)),
        Good(_soft((3, 65, 7), -2), ((3, 65, 7),), "columns"),
        Good(_soft((3, 5, 7), None), ((3, 5, 7),), "columns"),
        Good(_soft((4, 9), None), ((4, 9),), "rows"),
        Good(_soft((7,), None), ((7,),), "rows"),
        Good(_soft((), 0), ((),), "rows", {"block": 1, "aligned": False}),
        Good(_soft((), -1), ((),), "rows"),
    ],
    bad=[
        Bad("dim must lie in [-rank, rank)", _soft((2, 3), 2)),
        Bad("dim must lie in [-rank, rank)", _soft((2, 3), -3)),
        Bad("dim must lie in [-rank, rank)", _soft((), 1)),
        Bad("input must be a torch.Tensor", _soft(None, 0)),
    ],
    dtypes={"input": _FLOATS},
)


def _mm(
    a: Shape, b: Shape, ta: bool = False, tb: bool = True, dtype: str = "float16", /, **dtypes: str
) -> Probe:
    return Probe({"a": a, "b": b}, {"trans_a": ta, "trans_b": tb}, dtype, dtypes)


def _mm_static(probe: Probe, **static: Any) -> dict[str, Any]:
    return {"trans_a": probe.params["trans_a"], "trans_b": probe.params["trans_b"], **static}


def _served(m: int, n: int, k: int, implementation: str | None, **static: Any) -> list[Good]:
    """The product of one size in all four layouts."""
    out = []
    for ta, tb in ((False, True), (True, True), (False, False), (True, False)):
        probe = _mm((k, m) if ta else (m, k), (n, k) if tb else (k, n), ta, tb)
        out.append(Good(probe, ((m, n),), implementation, _mm_static(probe, **static), run=not ta and tb))
    return out


def _unaligned(m: int, k: int, n: int) -> list[Good]:
    """Sizes of which one alone breaks a rule that TMA has: rows of a, rows of b, rows of the output."""
    return [
        Good(_mm((m, k - 4), (k - 4, n), False, False), ((m, n),), "general", run=False),
        Good(_mm((k - 4, m), (n, k - 4), True), ((m, n),), "general", run=False),
        Good(_mm((m, k), (n - 4, k)), ((m, n - 4),), "general", run=False),
    ]


GEMM = Expected(
    good=[
        Good(
            _mm((64, 72), (48, 72)),
            ((64, 48),),
            "tma",
            {},
            2 * 64 * 72 * 48,
            2 * (64 * 72 + 48 * 72 + 64 * 48),
        ),
        *_served(64, 48, 72, "tma", tile="64x128"),
        *_served(64, 48, 2048, "split", rows=64),
        *_served(72, 48, 2048, "split", rows=128),
        *_served(64, 48, 2040, "tma"),
        *_served(128, 128 * 33, 2048, "split", rows=128),
        *_served(128, 128 * 34, 2048, "tma", tile="64x128"),
        # waves of 132 blocks x 580, 464, 388 and 263: 9280 beats 9744, 12416, 16569; and so on
        *_served(8192, 8192, 64, "tma", tile="256x128"),
        *_served(4096, 2112, 64, "tma", tile="128x192"),
        *_served(512, 4096, 64, "tma", tile="128x128"),
        *_served(1024, 1024, 64, "tma", tile="64x128"),
        *_unaligned(64, 80, 48),
        *_unaligned(64, 2064, 48),
        Good(_mm((33, 17), (31, 17)), ((33, 31),), "general", _mm_static(_mm((33, 17), (31, 17)))),
        Good(
            _mm((17, 33), (17, 31), True, False), ((33, 31),), "general", {"trans_a": True, "trans_b": False}
        ),
        Good(_mm((4194240, 8), (8, 8)), ((4194240, 8),), "tma"),
        Good(_mm((4194248, 8), (8, 8)), ((4194248, 8),)),
        Good(_mm((4194240, 9), (8, 9)), ((4194240, 8),), "general"),
        Good(_mm((4194248, 9), (8, 9)), ((4194248, 8),)),
    ],
    bad=[
        Bad("b must have shape", _mm((64, 72), (48, 64))),
        Bad("b must have shape", _mm((64, 72), (48, 72), False, False)),
        Bad("b must have shape", _mm((64, 72), (48, 72), True)),
        Bad("a must have 2 dimensions", _mm((1, 64, 72), (48, 72))),
        Bad("b must have 2 dimensions", _mm((64, 72), (72,))),
        Bad("b must have the dtype of a", _mm((64, 72), (48, 72), b="bfloat16")),
        Bad("a must be a torch.Tensor", _mm(None, (48, 72))),
        Bad("b must be a torch.Tensor", _mm((48, 72), None)),
    ],
    dtypes={"a": _HALF},
)

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
_PLAIN = {
    "D": 64,
    "causal": False,
    "left": False,
    "right": False,
    "softcapped": False,
    "negative": False,
    "short": True,
    "group": 2,
}
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
        Good(
            _gqa(_Q, _K, {"is_causal": True}), (_Q,), "flash", {**_PLAIN, "causal": True}, 4 * 2 * 4 * 64 * 25
        ),
        Good(
            _gqa(_Q, _K, {"window_size_left": 1}),
            (_Q,),
            "flash",
            {**_PLAIN, "left": True},
            4 * 2 * 4 * 64 * 20,
        ),
        Good(_gqa(_Q, _K, {"window_size_left": 0}), (_Q,), "flash", {**_PLAIN, "left": True}),
        Good(
            _gqa(_Q, _K, {"window_size_right": 0}),
            (_Q,),
            "flash",
            {**_PLAIN, "right": True},
            4 * 2 * 4 * 64 * 25,
        ),
        Good(
            _gqa(_Q, _K, {"window_size_right": 0, "is_causal": True}),
            (_Q,),
            "flash",
            {**_PLAIN, "causal": True},
        ),
        Good(_gqa(_Q, _K, {"softcap": 0.0}), (_Q,), "flash", _PLAIN),
        Good(_gqa(_Q, _K, {"softcap": 2.0}), (_Q,), "flash", {**_PLAIN, "softcapped": True}),
        Good(_gqa(_Q, _K, {"sm_scale": 0.5}), (_Q,), "flash", _PLAIN),
        Good(_gqa(_Q, _K, {"sm_scale": -0.5}), (_Q,), "flash", {**_PLAIN, "negative": True}),
        Good(_gqa(_Q, _K, {"sm_scale": 0.0}), (_Q,), "flash", {**_PLAIN, "negative": True}),
        Good(_gqa((2, 64, 4, 64), _K), ((2, 64, 4, 64),), "flash", {**_PLAIN, "group": 1}),
        Good(_gqa((2, 32, 4, 64), _K), ((2, 32, 4, 64),), "flash", _PLAIN),
        Good(_gqa((2, 65, 4, 64), _K), ((2, 65, 4, 64),), "flash", {**_PLAIN, "short": False, "group": 1}),
        Good(_gqa((2, 5, 4, 256), (2, 7, 2, 256)), ((2, 5, 4, 256),), "flash"),
        Good(_gqa((2, 5, 4, 257), (2, 7, 2, 257)), ((2, 5, 4, 257),)),
        Good(_gqa(_Q, _K, _BF16, "float8_e4m3fn", **_SCALES), (_Q,), out_dtype="bfloat16"),
        Good(_gqa(_Q, _K, {"out_dtype": "float16"}, "float8_e4m3fn", **_SCALES), (_Q,), out_dtype="float16"),
        Good(_gqa(_Q, _K, _ROPE, **_TABLES), (_Q,)),
        Good(_gqa(_Q, _K, {**_ROPE, "rotary_dim": 16}, rope_cos=(8, 8), rope_sin=(8, 8)), (_Q,)),
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
        Bad("scales go with float8", _gqa(_Q, _K, **_SCALES)),
        Bad("scales go with float8", _gqa(_Q, _K, _BF16, "float8_e4m3fn")),
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
    dtypes={"q": {*_HALF, "float8_e4m3fn"}},
    roundings=2.0,
)

EXPECTED: dict[str, Expected] = {
    "RMSNormFwdOp": _row_norm(("weight",), 4),
    "LayerNormFwdOp": _row_norm(("weight", "bias"), 8),
    "FusedAddRMSNormFwdOp": FUSED_ADD,
    "SoftmaxFwdOp": SOFTMAX,
    "GemmFwdOp": GEMM,
    "GroupedQueryAttentionDenseFwdOp": ATTENTION,
}
