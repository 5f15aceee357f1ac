"""Probes of attention over packed sequences."""

from __future__ import annotations

from typing import Any

from tests.conformance.expected.probes import HALF, Bad, Expected, Good, Probe, Shape

_Q, _K, _CU = (6, 4, 64), (9, 2, 64), (3,)
_FLOPS = 4 * 2 * 4 * 64  # a visible pair of each of the two requests, 3 queries and 4 keys by the roofline
_FACTORS = ("q_scale", "k_scale", "v_scale")
_SCALES: dict[str, Shape] = dict.fromkeys(_FACTORS, (2, 2))
_BF16 = {"out_dtype": "bfloat16"}


def _probe(
    kind: str, q: Shape = _Q, k: Shape = _K, cu_q: Shape = _CU, cu_kv: Shape = _CU, **more: Any
) -> Probe:
    v, dtype, dtypes = more.pop("v", k), more.pop("dtype", "float16"), more.pop("dtypes", {})
    keys = "cu_seqlens_k" if kind == "window" else "cu_seqlens_kv"
    inputs = {"q": q, "k": k, "v": v, "cu_seqlens_q": cu_q, keys: cu_kv}
    types = {"cu_seqlens_q": "int32", keys: "int32"}
    if kind == "prefill":
        inputs |= {name: more.pop(name, None) for name in _FACTORS}
        types |= dict.fromkeys(_FACTORS, "float32")
    return Probe(inputs, more, dtype, types | dtypes)


def _good(
    kind: str, pairs: int | None = None, run: bool = False, adjusted: bool = False, **more: Any
) -> Good:
    static = {"D": 64} if kind == "window" else {"D": 64, "adjusted": adjusted}
    probe = _probe(kind, **more)
    flops = None if pairs is None else _FLOPS * pairs
    out = more.get("out_dtype", probe.dtype)
    return Good(probe, (_Q,), "flash", static, flops, out_dtype=out, run=run)


def _limits(kind: str) -> list[Good]:
    """Sizes at which no program serves the call any more, and just before."""
    most, ends = (128 * 65531 + 127, 1, 1), (3,)
    return [
        Good(_probe(kind, (6, 4, 256), (9, 2, 256)), ((6, 4, 256),), "flash"),
        Good(_probe(kind, (6, 4, 257), (9, 2, 257)), ((6, 4, 257),)),
        Good(_probe(kind, most, (9, 1, 1), ends, ends), (most,), "flash"),
        Good(_probe(kind, (most[0] + 1, 1, 1), (9, 1, 1), ends, ends), ((most[0] + 1, 1, 1),)),
        Good(_probe(kind, most, (9, 1, 1), (4,), (4,)), (most,)),
        Good(_probe(kind, cu_q=(1,), cu_kv=(1,)), (_Q,), "flash", flops=0),
    ]


def _refused(kind: str) -> list[Bad]:
    keys = "cu_seqlens_k" if kind == "window" else "cu_seqlens_kv"
    return [
        Bad("H must be a multiple of H_kv", _probe(kind, (6, 3, 64))),
        Bad("H must be a multiple of H_kv", _probe(kind, k=(9, 0, 64))),
        Bad("the head dimension D must not be empty", _probe(kind, (6, 4, 0), (9, 2, 0))),
        Bad("max_seqlen_q must not be negative", _probe(kind, max_seqlen_q=-1)),
        Bad("q must have 3", _probe(kind, (6, 64))),
        Bad("k must have 3", _probe(kind, k=(9, 64), v=_K)),
        Bad("v must have 3", _probe(kind, v=(9, 64))),
        Bad("k must have shape", _probe(kind, k=(9, 2, 32), v=_K)),
        Bad("v must have shape", _probe(kind, v=(8, 2, 64))),
        Bad("v must have shape", _probe(kind, v=(9, 1, 64))),
        Bad("v must have shape", _probe(kind, v=(9, 2, 32))),
        Bad("cu_seqlens_q must have 1", _probe(kind, cu_q=(3, 1))),
        Bad("cu_seqlens_q must have", _probe(kind, cu_q=(0,), cu_kv=(0,))),
        Bad(f"{keys} must have 1", _probe(kind, cu_kv=(3, 1))),
        Bad(f"{keys} must have shape", _probe(kind, cu_kv=(4,))),
        Bad("k must have the dtype of q", _probe(kind, dtypes={"k": "bfloat16"})),
        Bad("v must have the dtype of q", _probe(kind, dtypes={"v": "bfloat16"})),
        Bad("q must be a torch.Tensor", _probe(kind, None)),
        Bad("k must be a torch.Tensor", _probe(kind, k=None, v=_K)),
        Bad("v must be a torch.Tensor", _probe(kind, v=None)),
        Bad("cu_seqlens_q must be a torch.Tensor", _probe(kind, cu_q=None)),
        Bad(f"{keys} must be a torch.Tensor", _probe(kind, cu_kv=None)),
    ]


def _first(kind: str) -> Good:
    """One call in full: flops of 3 queries that see 2, 3 and 4 keys, and bytes."""
    static = {"D": 64} if kind == "window" else {"D": 64, "adjusted": False}
    names = {} if kind == "window" else {"scale": 0.125, "cap": 0.0}
    size = 2 * (2 * 6 * 4 * 64 + 2 * 9 * 2 * 64) + 4 * 6
    return Good(_probe(kind, max_seqlen_q=0), (_Q,), "flash", static, _FLOPS * 9, size, names=names)


def _scaled(kind: str) -> list[Good]:
    return [
        _good(kind, adjusted=True, sm_scale=-0.5),
        _good(kind, adjusted=True, sm_scale=0.0),
        _good(kind, sm_scale=0.5, softcap=0.0),
        _good(kind, adjusted=True, softcap=2.0, run=True),
        _good(kind, 12, is_causal=False, dtype="bfloat16", max_seqlen_kv=0),
    ]


def _badly_scaled(kind: str) -> list[Bad]:
    return [
        *(
            Bad("sm_scale must be finite", _probe(kind, sm_scale=x))
            for x in (float("inf"), float("nan"), 1e39)
        ),
        *(Bad("softcap must be finite", _probe(kind, softcap=x)) for x in (-1.0, float("inf"))),
        Bad("max_seqlen_kv must not be negative", _probe(kind, max_seqlen_kv=-1)),
    ]


def _badly_windowed(kind: str) -> list[Bad]:
    says = "window sizes must be at least -1"
    return [Bad(says, _probe(kind, window_size_left=-2)), Bad(says, _probe(kind, window_size_right=-2))]


def _float8(**more: Any) -> Probe:
    return _probe("prefill", **{"dtype": "float8_e4m3fn", **_BF16, **_SCALES, **more})


_OFFSETS = {"cu_seqlens_q": ("offsets", 6), "cu_seqlens_kv": ("offsets", 9)}
_MADE = {"cu_seqlens_q": (0, 150), "cu_seqlens_kv": (0, 260)}

VARLEN = Expected(
    good=[_first("varlen"), *_scaled("varlen"), *_limits("varlen")],
    bad=[*_refused("varlen"), *_badly_scaled("varlen")],
    dtypes={"q": HALF, "cu_seqlens_q": {"int32"}, "cu_seqlens_kv": {"int32"}},
    roundings=2.0,
    made=_MADE,
    values=_OFFSETS,
)

PREFILL = Expected(
    good=[
        _first("prefill"),
        *_scaled("prefill"),
        *_limits("prefill"),
        _good("prefill", 6, window_size_left=1),
        _good("prefill", 3, window_size_left=0, run=True),
        _good("prefill", 9, window_size_right=0, is_causal=False),
        _good("prefill", **_SCALES, **_BF16, dtype="float8_e4m3fn", run=True),
        _good("prefill", **_SCALES, out_dtype="float16", dtype="float8_e4m3fn"),
    ],
    bad=[
        *_refused("prefill"),
        *_badly_scaled("prefill"),
        *_badly_windowed("prefill"),
        *(Bad("give all of q_scale", _float8(**{name: None})) for name in _FACTORS),
        Bad("q_scale, k_scale and v_scale go with float8", _probe("prefill", **_SCALES)),
        Bad(
            "q_scale, k_scale and v_scale go with float8",
            _probe("prefill", dtype="float8_e4m3fn", **_BF16),
        ),
        *(Bad(f"{name} must have shape", _float8(**{name: (3, 2)})) for name in _FACTORS),
        *(Bad(f"{name} must have shape", _float8(**{name: (2, 4)})) for name in _FACTORS),
        *(Bad(f"{name} must have 2", _float8(**{name: (2,)})) for name in _FACTORS),
        *(Bad(f"{name} must have dtype float32", _float8(dtypes={name: "float16"})) for name in _FACTORS),
        Bad("do not go together", _probe("prefill", **_BF16)),
        Bad("do not go together", _float8(out_dtype=None)),
    ],
    dtypes={"q": {*HALF, "float8_e4m3fn"}, "cu_seqlens_q": {"int32"}, "cu_seqlens_kv": {"int32"}},
    roundings=2.0,
    made=_MADE,
    values=_OFFSETS,
)

WINDOW = Expected(
    good=[
        _first("window"),
        *_limits("window"),
        _good("window", 6, window_size_left=1),
        _good("window", 3, window_size_left=0, run=True),
        _good("window", 12, is_causal=False, dtype="bfloat16"),
        _good("window", 9, window_size_right=0, is_causal=False),
    ],
    bad=[*_refused("window"), *_badly_windowed("window")],
    dtypes={"q": HALF, "cu_seqlens_q": {"int32"}, "cu_seqlens_k": {"int32"}},
    roundings=2.0,
    made={"cu_seqlens_q": (0, 150), "cu_seqlens_k": (0, 260)},
    values={"cu_seqlens_q": ("range", 0, 6), "cu_seqlens_k": ("range", 0, 9)},
)

EXPECTED: dict[str, Expected] = {
    "GroupedQueryAttentionPrefillFwdOp": PREFILL,
    "GroupedQueryAttentionPrefillVarlenFwdOp": VARLEN,
    "GroupedQueryAttentionSlidingWindowVarlenFwdOp": WINDOW,
}
