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


def _nt(m: int, n: int, k: int, implementation: str, **static: Any) -> Good:
    return Good(_mm((m, k), (n, k)), ((m, n),), implementation, static)


def _swapped(m: int, n: int, k: int, fold: int, tile: str) -> Good:
    return _nt(m, n, k, "swapped", trans_a=False, trans_b=True, turned=m <= n, fold=fold, tile=tile)


GEMM = Expected(
    good=[
        Good(
            _mm((96, 72), (80, 72)),
            ((96, 80),),
            "tma",
            {},
            2 * 96 * 72 * 80,
            2 * (96 * 72 + 80 * 72 + 96 * 80),
        ),
        Good(_mm((64, 4096), (48, 4096)), ((64, 48),), "split", run=True),
        Good(_mm((1, 520), (48, 520)), ((1, 48),), "gemv", {"rows": 1, "turned": True}, run=True),
        _nt(48, 1, 512, "gemv", rows=1, turned=True),
        _nt(2, 48, 512, "gemv", rows=2, turned=True),
        _nt(48, 3, 512, "gemv", rows=4, turned=False),
        _nt(4, 4, 512, "gemv", rows=4, turned=True),
        Good(_mm((520, 1), (48, 520), True), ((1, 48),), "gemv"),
        Good(_mm((48, 520), (520, 1), False, False), ((48, 1),), "gemv"),
        Good(_mm((520, 1), (520, 8), True, False), ((1, 8),), "general"),
        Good(_mm((520, 2), (48, 520), True), ((2, 48),), "general"),
        Good(_mm((48, 520), (520, 2), False, False), ((48, 2),), "general"),
        _nt(1, 48, 516, "general"),
        _swapped(1, 48, 504, 1, "64x16"),
        _swapped(5, 48, 520, 1, "64x16"),
        _swapped(48, 5, 520, 1, "64x16"),
        _swapped(16, 64 * 96, 64, 2, "64x32"),
        _swapped(8, 64 * 96, 64, 2, "64x16"),
        _swapped(8, 64 * 96 + 1, 64, 1, "64x16"),
        _swapped(8, 64 * 48 + 1, 64, 2, "64x16"),
        _swapped(8, 64 * 48, 64, 4, "64x32"),
        _swapped(64 * 48, 8, 64, 4, "64x32"),
        _swapped(8, 64 * 48, 48, 2, "64x16"),
        _swapped(8, 64 * 48, 40, 1, "64x16"),
        _swapped(16, 64 * 33, 64, 4, "64x64 alone"),
        _swapped(16, 64 * 33 + 1, 64, 4, "64x64"),
        _swapped(17, 64 * 48, 64, 2, "64x64 alone"),
        _swapped(32, 64 * 66, 64, 2, "64x64 alone"),
        _swapped(32, 64 * 66 + 1, 64, 2, "64x64"),
        _swapped(33, 64 * 48, 64, 1, "64x64 alone"),
        _swapped(17, 64 * 97, 64, 1, "64x32"),
        _swapped(64, 64 * 133, 64, 1, "64x64"),
        _swapped(64, 64 * 48, 4096, 1, "64x64 alone"),
        _nt(64, 64 * 47, 4096, "split", tile="64x128"),
        _swapped(64, 64 * 47, 4088, 1, "64x64 alone"),
        _swapped(16, 64 * 12, 4096, 4, "64x64 alone"),
        _nt(16, 64 * 11, 4096, "split"),
        *_served(64, 48, 72, "swapped", tile="64x64 alone", fold=1, turned=False),
        *_served(48, 64, 72, "swapped", tile="64x64 alone", fold=1, turned=True),
        *_served(64, 9000, 4096, "swapped", tile="64x64", fold=1, turned=True),
        *_served(64, 48, 4096, "split", tile="64x128"),
        *_served(72, 48, 4096, "split", tile="128x64"),
        *_served(136, 48, 4096, "split", tile="128x128"),
        *_served(72, 72, 4088, "tma"),
        *_served(128, 128 * 33, 4096, "split", tile="128x64"),
        *_served(128, 128 * 34, 4096, "tma", tile="64x64"),
        # waves of 132 blocks x 580 and 464; of 264 x 450 (the first 380) and 240: 9280 beats 9744; and so on
        *_served(8192, 8192, 2056, "tma", tile="256x128"),
        *_served(4096, 2112, 2056, "tma", tile="128x192"),
        *_served(512, 4096, 64, "tma", tile="64x128"),
        *_served(1024, 1024, 64, "tma", tile="64x64"),
        *_served(8192, 8192, 2048, "persistent", tile="128x256"),
        *_served(128 * 265, 72, 2048, "persistent"),
        *_served(128 * 264, 72, 2048, "tma"),
        _swapped(128 * 265, 8, 2048, 1, "64x16"),
        *_unaligned(72, 80, 72),
        *_unaligned(72, 4112, 72),
        *_unaligned(128 * 265, 80, 72),
        Good(_mm((48, 76), (76, 44), False, False), ((48, 44),), "general"),
        Good(_mm((76, 48), (40, 76), True), ((48, 40),), "general"),
        Good(_mm((33, 17), (31, 17)), ((33, 31),), "general", _mm_static(_mm((33, 17), (31, 17)))),
        Good(
            _mm((17, 33), (17, 31), True, False), ((33, 31),), "general", {"trans_a": True, "trans_b": False}
        ),
        Good(_mm((4194240, 2056), (72, 2056)), ((4194240, 72),), "tma"),
        Good(_mm((4194248, 2056), (72, 2056)), ((4194248, 72),)),
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
        _batch(2, 16, 48, 72, "swapped", tile="64x16"),
        _batch(2, 17, 48, 72, "swapped", tile="64x32"),
        _batch(2, 33, 48, 72, "tma", tile="64x64"),
        _batch(2, 16, 48, 68, "general"),
        _batch(2, 16, 44, 72, "general"),
        _batch(2, 64, 48, 68, "general"),
        _batch(2, 64, 44, 72, "general"),
        _batch(1, 4194240, 8, 8, "tma"),
        _batch(1, 4194248, 8, 8, None),
        _batch(1, 4194240, 8, 9, "general"),
        _batch(1, 4194248, 8, 9, None),
        _batch(65535, 1, 8, 8, "swapped"),
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
