"""Probes of the products of float8 matrices."""

from __future__ import annotations

from typing import Any

from tests.conformance.expected.probes import Bad, Expected, Good, Probe, Shape

F8 = {"a": "float8_e4m3fn", "b": "float8_e4m3fn", "scale_a": "float32", "scale_b": "float32"}


def _fp8(
    m: int, n: int, k: int, scale_a: Shape, scale_b: Shape, biased: bool = True, /, **dtypes: str
) -> Probe:
    inputs = {"a": (m, k), "b": (n, k), "scale_a": scale_a, "scale_b": scale_b}
    inputs["bias"] = (n,) if biased else None
    out_dtype = dtypes.pop("out_dtype", "bfloat16")
    return Probe(inputs, {"out_dtype": out_dtype}, "bfloat16", {**F8, **dtypes})


def _whole(m: int, n: int, k: int, implementation: str, **static: Any) -> Good:
    probe = _fp8(m, n, k, (1, 1), (1, 1))
    return Good(probe, ((m, n),), implementation, {"blocks": False, **static}, out_dtype="bfloat16")


def _blocks(m: int, n: int, k: int, implementation: str, **static: Any) -> Good:
    steps = -(-k // 128)
    probe = _fp8(m, n, k, (m, steps), (n, steps), False, bias="float16", out_dtype="float16")
    return Good(probe, ((m, n),), implementation, {"blocks": True, **static}, out_dtype="float16")


SCALES = "scale_a and scale_b must both be"
GEMM_FP8 = Expected(
    good=[
        Good(
            _fp8(96, 48, 400, (96, 4), (48, 4)),
            ((96, 48),),
            "persistent",
            {"blocks": True, "tile": "64x32"},
            2 * 96 * 48 * 400,
            96 * 400 + 48 * 400 + 4 * 4 * (96 + 48) + 2 * 48 + 2 * 96 * 48,
        ),
        Good(
            _fp8(3, 44, 272, (3, 3), (44, 3)),
            ((3, 44),),
            "swapped",
            {"blocks": True, "tile": "64x16", "fold": 1},
            run=True,
        ),
        _whole(1, 1, 128, "swapped", tile="64x16", fold=4),
        _whole(64, 44, 400, "swapped", tile="64x64", fold=1),
        _whole(65, 48, 400, "persistent", tile="64x32"),
        _whole(33, 48, 128, "persistent", tile="64x32"),
        _whole(33, 64 * 66, 128, "persistent", tile="64x32"),
        _whole(33, 64 * 66 + 8, 128, "swapped", tile="64x64", fold=1),
        _whole(32, 48, 128, "swapped", tile="64x64", fold=2),
        _whole(17, 48, 96, "swapped", tile="64x64", fold=2),
        _whole(17, 48, 80, "swapped", tile="64x32", fold=1),
        _whole(16, 64 * 48, 64, "swapped", tile="64x64", fold=4),
        _whole(16, 64 * 48 + 1, 64, "swapped", tile="64x32", fold=2),
        _whole(16, 64 * 96, 96, "swapped", tile="64x32", fold=2),
        _whole(16, 64 * 96 + 1, 96, "swapped", tile="64x16", fold=1),
        _whole(8, 48, 64, "swapped", tile="64x32", fold=4),
        _whole(8, 48, 96, "swapped", tile="64x16", fold=2),
        _blocks(4, 48, 64, "swapped", tile="64x16", fold=1),
        _blocks(4, 48, 256, "swapped", tile="64x16", fold=2),
        _blocks(4, 48, 512, "swapped", tile="64x16", fold=4),
        # 264 blocks of 64x64 at a time in 370, of 64x32 in 190; 132 of 128x128 in 450, of 128x192 in 600 or,
        # with block scales, in 1000
        _whole(128, 32 * 132, 16, "persistent", tile="64x32"),
        _whole(128, 32 * 132 + 8, 16, "persistent", tile="64x64"),
        _whole(128, 64 * 132, 16, "persistent", tile="64x64"),
        _whole(128, 64 * 132 + 8, 16, "persistent", tile="128x128"),
        _blocks(64 * 3, 32 * 88, 16, "persistent", tile="64x32"),
        _blocks(64 * 3 + 1, 32 * 88, 16, "persistent", tile="64x64"),
        _whole(128 * 12, 192 * 11, 16, "persistent", tile="128x192"),
        _whole(128 * 12 + 1, 192 * 11, 16, "persistent", tile="128x128"),
        _blocks(128 * 12, 192 * 11, 16, "persistent", tile="128x128"),
        _blocks(128 * 24, 192 * 11, 16, "persistent", tile="128x128"),
        _whole(128 * 132 + 4, 160, 16, "persistent", tile="64x32"),
        _blocks(72, 44, 400, "general"),
        _whole(16, 48, 392, "general"),
        _whole(64, 48, 392, "general"),
        _whole(72, 48, 392, "general"),
        _whole(4194240, 4, 16, "general"),
        Good(_fp8(4194241, 4, 16, (1, 1), (1, 1)), ((4194241, 4),)),
    ],
    bad=[
        Bad(SCALES, _fp8(64, 48, 400, (1, 1), (48, 4))),
        Bad(SCALES, _fp8(64, 48, 400, (64, 4), (1, 1))),
        Bad(SCALES, _fp8(64, 48, 400, (64, 3), (48, 4))),
        Bad(SCALES, _fp8(64, 48, 400, (64, 3), (48, 3))),
        Bad(SCALES, _fp8(64, 48, 400, (64, 4), (48, 3))),
        Bad(SCALES, _fp8(64, 48, 400, (32, 4), (48, 4))),
        Bad(SCALES, _fp8(64, 48, 400, (64, 4), (32, 4))),
        Bad(SCALES, _fp8(64, 1, 128, (1, 1), (1, 1 + 1))),
        Bad("scale_a must have 2 dimensions", _fp8(64, 48, 400, (1,), (1, 1))),
        Bad("scale_b must have 2 dimensions", _fp8(64, 48, 400, (1, 1), ())),
        Bad("scale_a must have dtype", _fp8(64, 48, 400, (1, 1), (1, 1), scale_a="float16")),
        Bad("scale_b must have dtype", _fp8(64, 48, 400, (1, 1), (1, 1), scale_b="float16")),
        Bad("a must have dtype", _fp8(64, 48, 400, (1, 1), (1, 1), a="float16")),
        Bad("b must have the dtype of a", _fp8(64, 48, 400, (1, 1), (1, 1), b="float16")),
        Bad("bias must have the dtype of d", _fp8(64, 48, 400, (1, 1), (1, 1), out_dtype="float16")),
    ],
    dtypes={"a": {"float8_e4m3fn"}, "scale_a": {"float32"}, "scale_b": {"float32"}},
)


def _bmm_fp8(nk: bool, b: int, m: int, n: int, k: int, /, **dtypes: str) -> Probe:
    inputs: dict[str, Shape] = {"a": (b, m, k), "b": (b, n, k) if nk else (b, k, n)}
    inputs |= {"scale_a": (), "scale_b": ()}
    return Probe(inputs, {"out_dtype": dtypes.pop("out_dtype", "bfloat16")}, "bfloat16", {**F8, **dtypes})


def _bmm_fp8_expected(nk: bool) -> Expected:
    def good(b: int, m: int, n: int, k: int, implementation: str | None, **static: Any) -> Good:
        return Good(_bmm_fp8(nk, b, m, n, k), ((b, m, n),), implementation, static)

    def bad(says: str, **changed: Any) -> Bad:
        probe = _bmm_fp8(nk, 2, 64, 48, 400)
        return Bad(says, Probe({**probe.inputs, **changed}, probe.params, probe.dtype, probe.dtypes))

    return Expected(
        good=[
            Good(
                _bmm_fp8(nk, 2, 64, 48, 400, out_dtype="float16"),
                ((2, 64, 48),),
                "persistent",
                {"tile": "64x32"},
                2 * 2 * 64 * 48 * 400,
                2 * (64 * 400 + 48 * 400) + 8 + 2 * 2 * 64 * 48,
                out_dtype="float16",
            ),
            good(2, 16, 44, 400, "swapped", tile="64x16"),
            good(2, 17, 44, 400, "swapped", tile="64x32"),
            good(2, 32, 44, 400, "swapped", tile="64x32"),
            good(2, 33, 48, 400, "persistent", tile="64x32"),
            good(2, 16, 48, 392, "general"),
            # 264 blocks of 64x64 at a time in 370, of 64x32 in 190; 132 of 128x128 in 450, of 128x192 in 600
            good(3, 64, 32 * 88, 16, "persistent", tile="64x32"),
            good(3, 65, 32 * 88, 16, "persistent", tile="64x64"),
            good(3, 128, 64 * 44, 16, "persistent", tile="64x64"),
            good(3, 128, 64 * 44 + 8, 16, "persistent", tile="128x128"),
            good(12, 128, 192 * 11, 16, "persistent", tile="128x192"),
            good(12, 129, 192 * 11, 16, "persistent", tile="128x192"),
            good(12, 128, 192 * 11 + 8, 16, "persistent", tile="128x128"),
            good(1, 128 * 132 + 4, 160, 16, "persistent", tile="64x32"),
            good(2, 64, 44, 400, "general"),
            good(2, 64, 48, 392, "general"),
            good(1, 4194240, 4, 16, "general"),
            good(1, 4194241, 4, 16, None),
            good(65535, 1, 8, 16, "swapped"),
        ],
        bad=[
            Bad("a grid has at most 65535 matrices", _bmm_fp8(nk, 65536, 1, 8, 16)),
            bad("b must have shape", b=(2, 48, 384) if nk else (2, 384, 48)),
            bad("b must have shape", b=(1, 48, 400) if nk else (1, 400, 48)),
            bad("a must have 3 dimensions", a=(64, 400)),
            bad("b must have 3 dimensions", b=(48, 400)),
            bad("scale_a must have 0 dimensions", scale_a=(1,)),
            bad("scale_b must have 0 dimensions", scale_b=(1, 1)),
            Bad("scale_a must have dtype", _bmm_fp8(nk, 2, 64, 48, 400, scale_a="float16")),
            Bad("scale_b must have dtype", _bmm_fp8(nk, 2, 64, 48, 400, scale_b="float16")),
            Bad("a must have dtype", _bmm_fp8(nk, 2, 64, 48, 400, a="float16")),
            Bad("b must have the dtype of a", _bmm_fp8(nk, 2, 64, 48, 400, b="float16")),
        ],
        dtypes={"a": {"float8_e4m3fn"}, "scale_a": {"float32"}, "scale_b": {"float32"}},
    )


EXPECTED: dict[str, Expected] = {
    "BmmFp8KNFwdOp": _bmm_fp8_expected(False),
    "BmmFp8NKFwdOp": _bmm_fp8_expected(True),
    "GemmFp8FwdOp": GEMM_FP8,
}
