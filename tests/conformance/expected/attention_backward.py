"""Probes of the gradients of attention of a sequence with itself."""

from __future__ import annotations

from typing import Any

from tests.conformance.expected.probes import HALF, Bad, Expected, Good, Probe, Shape

_Q, _K = (2, 5, 4, 64), (2, 5, 2, 64)
_NAMES = ("q", "k", "v", "o", "do", "lse")


def _probe(q: Shape = _Q, k: Shape = _K, /, **more: Any) -> Probe:
    """A call with these queries and keys; `more` are shapes and dtypes of other inputs, and params."""
    dtype, dtypes = more.pop("dtype", "float16"), {"lse": "float32"} | more.pop("dtypes", {})
    lse = (q[0], q[2], q[1]) if q is not None and len(q) == 4 else (2, 4, 5)
    shapes: dict[str, Shape] = {"q": q, "k": k, "v": k, "o": q or _Q, "do": q or _Q, "lse": lse}
    shapes |= {name: more.pop(name) for name in _NAMES if name in more}
    return Probe(shapes, more, dtype, dtypes)


def _good(q: tuple[int, ...], k: tuple[int, ...], flops: int | None = None, **more: Any) -> Good:
    served = q[3] <= 256 and q[0] <= 65535 and q[1] <= 2097120
    dtype, run, size = more.get("dtype", "float16"), more.pop("run", False), more.pop("bytes", None)
    return Good(
        _probe(q, k, **more),
        (q, k, k),
        "flash" if served else None,
        {"D": q[3]} if served else {},
        flops,
        size,
        out_dtype=(dtype,) * 3,
        run=run,
    )


def _limits() -> list[Good]:
    """Sizes at which no program serves the call any more, and just before."""
    return [
        _good((n, s, 1, d), (n, s, 1, d))
        for n, s, d in [
            (65535, 1, 1), (65536, 1, 1), (1, 2097120, 1), (1, 2097121, 1), (2, 5, 256), (2, 5, 257)
        ]
    ]  # fmt: skip


def _refused(k: tuple[int, ...]) -> list[Bad]:
    """What both refuse; `k` is the shape of keys that goes with the queries."""
    odd = [(1, 5, k[2], 64), (2, 6, k[2], 64), (2, 5, k[2], 32)]
    wide = [(1, 5, 4, 64), (2, 6, 4, 64), (2, 5, 3, 64), (2, 5, 4, 32)]
    return [
        Bad("the head dimension D must not be empty", _probe((2, 5, 4, 0), (2, 5, 4, 0))),
        *(Bad(f"{n} must have 4 dimensions", _probe(_Q, k, **{n: (5, 4, 64)})) for n in _NAMES[:5]),
        Bad("lse must have 3 dimensions", _probe(_Q, k, lse=(2, 5))),
        *(Bad("k must have shape", _probe(_Q, k, k=shape)) for shape in odd),
        *(Bad("v must have shape", _probe(_Q, k, v=shape)) for shape in [*odd, (2, 5, 1, 64)]),
        *(Bad(f"{n} must have shape", _probe(_Q, k, **{n: shape})) for n in ("o", "do") for shape in wide),
        *(Bad("lse must have shape", _probe(_Q, k, lse=s)) for s in [(1, 4, 5), (2, 5, 5), (2, 4, 6)]),
        *(
            Bad(f"{n} must have the dtype of q", _probe(_Q, k, dtypes={n: "bfloat16"}))
            for n in ("k", "v", "o", "do")
        ),
        Bad("lse must have dtype", _probe(_Q, k, dtypes={"lse": "float16"})),
        Bad("q must be a torch.Tensor", _probe(None, k)),
        *(Bad(f"{n} must be a torch.Tensor", _probe(_Q, k, **{n: None})) for n in _NAMES[1:]),
    ]


MULTI_HEAD = Expected(
    good=[
        _good(_Q, _Q, 10 * 2 * 4 * 64 * 15, bytes=2 * 8 * 2560 + 4 * 40),
        _good(_Q, _Q, 10 * 2 * 4 * 64 * 25, is_causal=False, dtype="bfloat16", run=True),
        *_limits(),
    ],
    bad=[*_refused(_Q), Bad("k must have shape", _probe())],
    dtypes={"q": HALF},
    roundings=2.0,
)

GROUPED = Expected(
    good=[
        _good(_Q, _K, 10 * 2 * 4 * 64 * 15, bytes=2 * (4 * 2560 + 4 * 1280) + 4 * 40),
        _good(_Q, _K, 10 * 2 * 4 * 64 * 25, is_causal=False, dtype="bfloat16", run=True),
        *_limits(),
    ],
    bad=[
        *_refused(_K),
        Bad("H must be a multiple of H_kv", _probe((2, 5, 3, 64), _K)),
        Bad("H must be a multiple of H_kv", _probe(_Q, (2, 5, 0, 64))),
    ],
    dtypes={"q": HALF},
    roundings=2.0,
)

EXPECTED: dict[str, Expected] = {
    "GroupedQueryAttentionBwdOp": GROUPED,
    "MultiHeadAttentionBwdOp": MULTI_HEAD,
}
