"""Probes of the products of 16-bit matrices."""

from __future__ import annotations

from typing import Any

from tests.conformance.expected.probes import HALF, Bad, Expected, Good, Probe, Shape


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
        out.append(Good(probe, ((m, n),), implementation, _mm_static(probe, **static)))
    return out


def _unaligned(m: int, k: int, n: int) -> list[Good]:
    """Sizes of which one alone breaks a rule that TMA has: rows of a, rows of b, rows of the output."""
    return [
        Good(_mm((m, k - 4), (k - 4, n), False, False), ((m, n),), "general"),
        Good(_mm((k - 4, m), (n, k - 4), True), ((m, n),), "general"),
        Good(_mm((m, k), (n - 4, k)), ((m, n - 4),), "general"),
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
        Good(_mm((64, 4096), (48, 4096)), ((64, 48),), "split", run=True),
        *_served(64, 48, 72, "tma", tile="64x64"),
        *_served(64, 48, 4096, "split", tile="64x128"),
        *_served(64, 8200, 4096, "split", tile="64x256"),
        *_served(72, 48, 4096, "split", tile="128x64"),
        *_served(136, 48, 4096, "split", tile="128x128"),
        *_served(64, 48, 4088, "tma"),
        *_served(64, 128 * 112, 4096, "split", tile="64x256"),
        *_served(64, 128 * 113, 4096, "tma", tile="64x64"),
        *_served(128, 128 * 33, 4096, "split", tile="128x64"),
        *_served(128, 128 * 34, 4096, "tma", tile="64x64"),
        # waves of 132 blocks x 580 and 464; of 264 x 450 (the first 380) and 240: 9280 beats 9744; and so on
        *_served(8192, 8192, 2056, "tma", tile="256x128"),
        *_served(4096, 2112, 2056, "tma", tile="128x192"),
        *_served(512, 4096, 64, "tma", tile="64x128"),
        *_served(1024, 1024, 64, "tma", tile="64x64"),
        *_served(8192, 8192, 2048, "persistent", tile="128x256"),
        *_served(128 * 265, 8, 2048, "persistent"),
        *_served(128 * 264, 8, 2048, "tma"),
        *_unaligned(64, 80, 48),
        *_unaligned(64, 4112, 48),
        *_unaligned(128 * 265, 80, 48),
        Good(_mm((33, 17), (31, 17)), ((33, 31),), "general", _mm_static(_mm((33, 17), (31, 17)))),
        Good(
            _mm((17, 33), (17, 31), True, False), ((33, 31),), "general", {"trans_a": True, "trans_b": False}
        ),
        Good(_mm((4194240, 2056), (8, 2056)), ((4194240, 8),), "tma"),
        Good(_mm((4194248, 2056), (8, 2056)), ((4194248, 8),)),
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
    dtypes={"a": HALF},
)


def _bmm(a: Shape, b: Shape, dtype: str = "float16", /, **dtypes: str) -> Probe:
    return Probe({"a": a, "b": b}, {}, dtype, dtypes)


def _batch(b: int, m: int, n: int, k: int, implementation: str | None, **static: Any) -> Good:
    return Good(_bmm((b, m, k), (b, k, n)), ((b, m, n),), implementation, static)


BMM = Expected(
    good=[
        Good(
            _bmm((3, 64, 72), (3, 72, 48)),
            ((3, 64, 48),),
            "tma",
            {"tile": "64x64"},
            2 * 3 * 64 * 72 * 48,
            2 * 3 * (64 * 72 + 72 * 48 + 64 * 48),
        ),
        # the waves of a product of 8192 x 8192, 4096 x 2112, 512 x 4096 and 1024 x 1024, see above
        _batch(4, 4096, 4096, 64, "tma", tile="256x128"),
        _batch(2, 2048, 2112, 64, "tma", tile="128x192"),
        _batch(4, 128, 4096, 64, "tma", tile="64x128"),
        _batch(2, 512, 1024, 64, "tma", tile="64x64"),
        _batch(2, 64, 48, 68, "general"),
        _batch(2, 64, 44, 72, "general"),
        _batch(1, 4194240, 8, 8, "tma"),
        _batch(1, 4194248, 8, 8, None),
        _batch(1, 4194240, 8, 9, "general"),
        _batch(1, 4194248, 8, 9, None),
        _batch(65535, 1, 8, 8, "tma"),
    ],
    bad=[
        Bad("a grid has at most 65535 matrices", _bmm((65536, 1, 8), (65536, 8, 8))),
        Bad("b must have shape", _bmm((2, 64, 72), (2, 64, 48))),
        Bad("b must have shape", _bmm((2, 64, 72), (3, 72, 48))),
        Bad("b must have shape", _bmm((2, 64, 72), (1, 72, 48))),
        Bad("a must have 3 dimensions", _bmm((64, 72), (2, 72, 48))),
        Bad("b must have 3 dimensions", _bmm((2, 64, 72), (72, 48))),
        Bad("b must have the dtype of a", _bmm((2, 64, 72), (2, 72, 48), b="bfloat16")),
        Bad("a must be a torch.Tensor", _bmm(None, (2, 48, 72))),
        Bad("b must be a torch.Tensor", _bmm((2, 48, 72), None)),
    ],
    dtypes={"a": HALF},
)

EXPECTED: dict[str, Expected] = {
    "BmmFwdOp": BMM,
    "GemmFwdOp": GEMM,
}
