"""Probes of attention of a sequence with itself."""

from __future__ import annotations

from typing import Any

from tests.conformance.expected.probes import HALF, Bad, Expected, Good, Probe, Shape

_Q, _K = (2, 5, 4, 64), (2, 5, 2, 64)


def _probe(q: Shape = _Q, k: Shape = _K, dtype: str = "float16", **more: Any) -> Probe:
    v, dtypes = more.pop("v", k), more.pop("dtypes", {})
    return Probe({"q": q, "k": k, "v": v}, more, dtype, dtypes)


def _good(q: Shape, k: Shape, saves: bool, group: int, flops: int | None = None, **more: Any) -> Good:
    assert q is not None
    dtype, run = more.get("dtype", "float16"), more.pop("run", False)
    outputs = (q, (q[0], q[2], q[1])) if saves else (q,)
    served = q[3] <= 256 and q[0] <= 65535 and q[1] <= 8388480
    return Good(
        _probe(q, k, **more),
        outputs,
        "flash" if served else None,
        {"D": q[3], "group": group} if served else {},
        flops,
        out_dtype=(dtype, "float32") if saves else dtype,
        hidden=int(saves),
        run=run,
    )


def _long(h_kv: int) -> list[Good]:
    """The length from which a wider tile pays."""
    return [
        Good(
            _probe((2, n, 4, 64), (2, n, h_kv, 64)), ((2, n, 4, 64), (2, 4, n)), "flash",
            {"long": n == 4096}, **_SAVED,
        )
        for n in (4095, 4096)
    ]  # fmt: skip


_SAVED: dict[str, Any] = {"out_dtype": ("float16", "float32"), "hidden": 1}


def _limits(saves: bool) -> list[Good]:
    """Sizes at which no program serves the call any more, and just before."""
    return [
        _good((n, s, 1, d), (n, s, 1, d), saves, 0 if s > 64 else 1)
        for n, s, d in [
            (65535, 1, 1), (65536, 1, 1), (1, 8388480, 1), (1, 8388481, 1), (2, 5, 256), (2, 5, 257)
        ]
    ]  # fmt: skip


def _refused(name: str) -> list[Bad]:
    return [
        Bad("the head dimension D must not be empty", _probe((2, 5, 4, 0), (2, 5, 4, 0))),
        Bad("q must have 4 dimensions", _probe((5, 4, 64))),
        Bad("k must have 4 dimensions", _probe(k=(5, 4, 64), v=_K)),
        Bad("v must have 4 dimensions", _probe(_Q, _Q if name == "mha" else _K, v=(5, 4, 64))),
        Bad("k must have shape", _probe(k=(1, 5, 4, 64))),
        Bad("k must have shape", _probe(k=(2, 6, 4, 64))),
        Bad("k must have shape", _probe(k=(2, 5, 4, 32))),
        Bad("v must have shape", _probe(_Q, _Q if name == "mha" else _K, v=(2, 5, 1, 64))),
        Bad("v must have shape", _probe(_Q, _Q if name == "mha" else _K, v=(2, 6, 4, 64))),
        Bad("v must have shape", _probe(_Q, _Q if name == "mha" else _K, v=(2, 5, 4, 32))),
        Bad("k must have the dtype of q", _probe(_Q, _Q, dtypes={"k": "bfloat16"})),
        Bad("v must have the dtype of q", _probe(_Q, _Q, dtypes={"v": "bfloat16"})),
        Bad("q must be a torch.Tensor", _probe(None)),
        Bad("k must be a torch.Tensor", _probe(k=None, v=_K)),
        Bad("v must be a torch.Tensor", _probe(_Q, _Q if name == "mha" else _K, v=None)),
    ]


_GROUPS = [
    Bad("H must be a multiple of H_kv", _probe((2, 5, 3, 64), _K)),
    Bad("H must be a multiple of H_kv", _probe(k=(2, 5, 0, 64))),
]

MULTI_HEAD = Expected(
    good=[
        Good(
            _probe(_Q, _Q), (_Q, (2, 4, 5)), "flash", {"D": 64, "group": 1},
            4 * 2 * 4 * 64 * 15, 2 * 4 * 2 * 5 * 4 * 64 + 4 * 2 * 4 * 5, **_SAVED,
        ),
        _good(_Q, _Q, True, 1, 4 * 2 * 4 * 64 * 25, is_causal=False, dtype="bfloat16", run=True),
        _good((2, 64, 4, 64), (2, 64, 4, 64), True, 1),
        _good((2, 65, 4, 64), (2, 65, 4, 64), True, 0),
        *_long(4),
        *_limits(True),
    ],
    bad=[*_refused("mha"), Bad("k must have shape", _probe())],
    dtypes={"q": HALF},
    roundings=2.0,
)  # fmt: skip

GROUPED = Expected(
    good=[
        Good(
            _probe(), (_Q, (2, 4, 5)), "flash", {"D": 64, "group": 2},
            4 * 2 * 4 * 64 * 15, 2 * 2 * 2 * 5 * (4 + 2) * 64 + 4 * 2 * 4 * 5, **_SAVED,
        ),
        _good(_Q, _K, True, 2, 4 * 2 * 4 * 64 * 25, is_causal=False, dtype="bfloat16", run=True),
        _good((2, 64, 4, 64), (2, 64, 1, 64), True, 4),
        _good((2, 65, 4, 64), (2, 65, 2, 64), True, 0),
        *_long(2),
        *_limits(True),
    ],
    bad=[*_refused("gqa"), *_GROUPS],
    dtypes={"q": HALF},
    roundings=2.0,
)  # fmt: skip

WINDOW = Expected(
    good=[
        Good(
            _probe(), (_Q,), "flash", {"D": 64, "group": 2},
            4 * 2 * 4 * 64 * 15, 2 * 2 * 2 * 5 * (4 + 2) * 64,
        ),
        _good(_Q, _K, False, 2, 4 * 2 * 4 * 64 * 9, window_size_left=1, window_size_right=3, run=True),
        _good(_Q, _K, False, 2, 4 * 2 * 4 * 64 * 5, window_size_left=0),
        _good(_Q, _K, False, 2, 4 * 2 * 4 * 64 * 25, is_causal=False, dtype="bfloat16"),
        _good(_Q, _K, False, 2, 4 * 2 * 4 * 64 * 15, is_causal=False, window_size_right=0, run=True),
        _good((2, 64, 4, 64), (2, 64, 1, 64), False, 4),
        _good((2, 65, 4, 64), (2, 65, 2, 64), False, 0),
        *_limits(False),
    ],
    bad=[
        *_refused("gqa"),
        *_GROUPS,
        Bad("window sizes must be at least -1", _probe(window_size_left=-2)),
        Bad("window sizes must be at least -1", _probe(window_size_right=-2)),
    ],
    dtypes={"q": HALF},
    roundings=2.0,
)  # fmt: skip

EXPECTED: dict[str, Expected] = {
    "GroupedQueryAttentionFwdOp": GROUPED,
    "GroupedQueryAttentionSlidingWindowFwdOp": WINDOW,
    "MultiHeadAttentionFwdOp": MULTI_HEAD,
}
