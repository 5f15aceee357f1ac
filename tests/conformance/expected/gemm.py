"""Probes of the matrix products."""

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
        Good(_mm((64, 2048), (48, 2048)), ((64, 48),), "split", run=True),
        *_served(64, 48, 72, "tma", tile="64x128"),
        *_served(64, 48, 2048, "split", tile="64x128"),
        *_served(72, 48, 2048, "split", tile="128x128"),
        *_served(64, 48, 2040, "tma"),
        *_served(128, 128 * 33, 2048, "split", tile="128x128"),
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
            {"tile": "64x128"},
            2 * 3 * 64 * 72 * 48,
            2 * 3 * (64 * 72 + 72 * 48 + 64 * 48),
        ),
        # the waves of a product of 8192 x 8192, 4096 x 2112, 512 x 4096 and 1024 x 1024, see above
        _batch(4, 4096, 4096, 64, "tma", tile="256x128"),
        _batch(2, 2048, 2112, 64, "tma", tile="128x192"),
        _batch(4, 128, 4096, 64, "tma", tile="128x128"),
        _batch(2, 512, 1024, 64, "tma", tile="64x128"),
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
            _fp8(64, 48, 400, (64, 4), (48, 4)),
            ((64, 48),),
            "persistent",
            {"blocks": True, "tile": "64x32"},
            2 * 64 * 48 * 400,
            64 * 400 + 48 * 400 + 4 * 4 * (64 + 48) + 2 * 48 + 2 * 64 * 48,
        ),
        _whole(64, 48, 400, "persistent", tile="64x32"),
        _whole(1, 1, 128, "general"),
        # 264 blocks of 64x64 at a time in 220, of 64x32 in 130; 132 of 128x128 in 390
        _whole(64, 32 * 264, 16, "persistent", tile="64x32"),
        _whole(64, 32 * 264 + 8, 16, "persistent", tile="64x64"),
        _whole(128, 64 * 132, 16, "persistent", tile="64x64"),
        _whole(128, 64 * 132 + 8, 16, "persistent", tile="128x128"),
        _blocks(64 * 3, 32 * 88, 16, "persistent", tile="64x32"),
        _blocks(64 * 3 + 1, 32 * 88, 16, "persistent", tile="64x64"),
        _blocks(64, 44, 400, "general"),
        _whole(64, 48, 392, "general"),
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
    inputs = {"a": (b, m, k), "b": (b, n, k) if nk else (b, k, n), "scale_a": (), "scale_b": ()}
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
            # 264 blocks of 64x64 at a time in 220, of 64x32 in 130; 132 of 128x128 in 390
            good(3, 64, 32 * 88, 16, "persistent", tile="64x32"),
            good(3, 65, 32 * 88, 16, "persistent", tile="64x64"),
            good(3, 128, 64 * 44, 16, "persistent", tile="64x64"),
            good(3, 128, 64 * 44 + 8, 16, "persistent", tile="128x128"),
            good(2, 64, 44, 400, "general"),
            good(2, 64, 48, 392, "general"),
            good(1, 4194240, 4, 16, "general"),
            good(1, 4194241, 4, 16, None),
            good(65535, 1, 8, 16, "persistent"),
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


INDEX = {"batch_sizes": "int32", "batch_offsets": "int32", "batch_padded_offsets": "int32"}


def _grouped(
    a: Shape, b: Shape, e: int, ta: bool = False, tb: bool = True, /, padded: bool = True, **changed: Any
) -> Probe:
    inputs: dict[str, Shape] = {"a": a, "b": b, "batch_sizes": (e,), "batch_offsets": (e,)}
    inputs["batch_padded_offsets"] = (e,) if padded else None
    dtypes = {**INDEX, **{n: v for n, v in changed.items() if isinstance(v, str)}}
    inputs |= {n: v for n, v in changed.items() if not isinstance(v, str)}
    return Probe(inputs, {"transpose_a": ta, "transpose_b": tb}, "float16", dtypes)


def _rows(t: int, e: int, n: int, k: int, implementation: str | None, **static: Any) -> list[Good]:
    return [
        Good(
            _grouped((t, k), (e, n, k) if tb else (e, k, n), e, False, tb, padded=tb),
            ((t, n),),
            implementation,
            {"transpose_b": tb, **static},
        )
        for tb in (True, False)
    ]


def _columns(t: int, e: int, m: int, n: int, implementation: str | None, tb: bool, **run: bool) -> Good:
    probe = _grouped((t, m), (n, t) if tb else (t, n), e, True, tb)
    return Good(probe, ((e, m, n),), implementation, {"transpose_b": tb}, 2 * t * m * n, **run)


GROUPED = Expected(
    good=[
        Good(
            _grouped((64, 72), (3, 48, 72), 3),
            ((64, 48),),
            "rows",
            {"transpose_b": True, "tile": "64x128"},
            2 * 64 * 72 * 48,
            2 * (64 * 72 + 3 * 48 * 72 + 64 * 48) + 3 * 3 * 4,
        ),
        *_rows(64 * 3, 3, 48, 72, "rows", tile="64x128"),
        *_rows(64 * 3 + 1, 3, 48, 72, "rows", tile="128x128"),
        *_rows(512 * 3 - 1, 3, 48, 72, "rows", tile="128x128"),
        *_rows(512 * 3, 3, 48, 72, "rows", tile="256x128"),
        *_rows(64, 3, 48, 68, "general", transpose_a=False),
        *_rows(64, 3, 44, 72, "general", transpose_a=False),
        _columns(64, 3, 48, 72, "columns", True, run=True),
        _columns(64, 3, 48, 72, "columns", False),
        _columns(60, 3, 48, 72, "general", True),
        _columns(60, 3, 48, 72, "columns", False),
        _columns(64, 3, 44, 72, "general", False),
        _columns(64, 3, 48, 68, "general", False),
        Good(_grouped((64 * 65533 + 63, 8), (2, 8, 8), 2), ((64 * 65533 + 63, 8),), "rows"),
        Good(
            _grouped((64, 72), (3, 48, 72), 3, a="bfloat16", b="bfloat16"),
            ((64, 48),),
            "rows",
            out_dtype="bfloat16",
        ),
    ],
    bad=[
        Bad("a grid has at most 65535 tiles", _grouped((64 * 65534, 8), (2, 8, 8), 2)),
        Bad("b must have shape", _grouped((64, 72), (3, 48, 64), 3)),
        Bad("b must have shape", _grouped((64, 72), (3, 48, 72), 3, False, False)),
        Bad("b must have shape", _grouped((64, 72), (63, 48), 3, True, False)),
        Bad("b must have shape", _grouped((64, 72), (48, 63), 3, True, True)),
        Bad("b must have 3 dimensions", _grouped((64, 72), (48, 72), 3)),
        Bad("b must have 2 dimensions", _grouped((64, 72), (3, 48, 72), 3, True)),
        Bad("a must have 2 dimensions", _grouped((64,), (3, 48, 72), 3)),
        Bad("batch_sizes must have shape", _grouped((64, 72), (3, 48, 72), 2)),
        Bad("batch_offsets must have shape", _grouped((64, 72), (3, 48, 72), 3, batch_offsets=(4,))),
        Bad(
            "batch_padded_offsets must have shape",
            _grouped((64, 72), (3, 48, 72), 3, batch_padded_offsets=(4,)),
        ),
        Bad("batch_sizes must have 1 dimension", _grouped((64, 72), (3, 48, 72), 3, batch_sizes=(3, 1))),
        Bad("b must have the dtype of a", _grouped((64, 72), (3, 48, 72), 3, b="bfloat16")),
        Bad("batch_sizes must have dtype", _grouped((64, 72), (3, 48, 72), 3, batch_sizes="int64")),
        Bad("batch_offsets must have dtype", _grouped((64, 72), (3, 48, 72), 3, batch_offsets="int64")),
        Bad(
            "batch_padded_offsets must have dtype",
            _grouped((64, 72), (3, 48, 72), 3, batch_padded_offsets="int64"),
        ),
        Bad("a must be a torch.Tensor", _grouped(None, (3, 48, 72), 3)),
        Bad("b must be a torch.Tensor", _grouped((64, 72), None, 3)),
        Bad("batch_sizes must be a torch.Tensor", _grouped((64, 72), (3, 48, 72), 3, batch_sizes=None)),
        Bad("batch_offsets must be a torch.Tensor", _grouped((64, 72), (3, 48, 72), 3, batch_offsets=None)),
    ],
    dtypes={"a": HALF, **{name: {"int32"} for name in INDEX}},
    made={"batch_sizes": (9, 50), "batch_offsets": (0, 99), "batch_padded_offsets": (0, 99)},
    values={"batch_sizes": ("range", 0, 64), "batch_offsets": ("range", 0, 64)},
)

W4 = {"packed_weight": "uint8", "weight_scale": "float32", "weight_zero": "uint8"}


def _w4(m: int, n: int, k: int, group: int = 128, /, **changed: Any) -> Probe:
    inputs: dict[str, Shape] = {"activation": (m, k), "packed_weight": (n, k // 2)}
    inputs["weight_scale"] = inputs["weight_zero"] = (n, k // group if group > 0 else 0)
    inputs |= {name: v for name, v in changed.items() if not isinstance(v, str)}
    dtypes = {**W4, **{name: v for name, v in changed.items() if isinstance(v, str)}}
    return Probe(inputs, {"group_size": group}, "float16", dtypes)


def _w4_good(m: int, n: int, k: int, group: int, implementation: str | None, **more: Any) -> Good:
    run = more.pop("run", False)
    return Good(_w4(m, n, k, group), ((m, n),), implementation, {"group_size": group, **more}, run=run)


W4A16 = Expected(
    good=[
        Good(
            _w4(16, 48, 256),
            ((16, 48),),
            "few",
            {"group_size": 128, "tile": "16"},
            2 * 16 * 48 * 256,
            2 * 16 * 256 + 48 * 128 + 48 * 2 * 5 + 2 * 16 * 48,
        ),
        _w4_good(17, 48, 256, 64, "few", tile="64"),
        _w4_good(64, 48, 256, 128, "few", tile="64"),
        _w4_good(65, 48, 256, 128, "many", run=True),
        _w4_good(16, 48, 256, 16, "general"),
        _w4_good(65, 48, 256, 16, "general"),
        _w4_good(16, 44, 256, 128, "general"),
        _w4_good(65, 44, 256, 128, "general"),
        _w4_good(1048560, 4, 32, 16, "general"),
        _w4_good(1048561, 4, 32, 16, None),
        _w4_good(8388480, 8, 32, 32, "many"),
        _w4_good(8388481, 8, 32, 32, None),
    ],
    bad=[
        Bad("group_size must be positive", _w4(16, 48, 0, -1)),
        Bad("K must be even and a multiple of group_size", _w4(16, 48, 200)),
        Bad("K must be even and a multiple of group_size", _w4(16, 48, 9, 3)),
        Bad("packed_weight must have shape", _w4(16, 48, 256, packed_weight=(48, 256))),
        Bad("weight_scale must have shape", _w4(16, 48, 256, weight_scale=(48, 4))),
        Bad("weight_scale must have shape", _w4(16, 48, 256, weight_scale=(47, 2))),
        Bad("weight_zero must have shape", _w4(16, 48, 256, weight_zero=(48, 4))),
        Bad("weight_zero must have shape", _w4(16, 48, 256, weight_zero=(47, 2))),
        Bad("activation must have 2 dimensions", _w4(16, 48, 256, activation=(256,))),
        Bad("packed_weight must have dtype", _w4(16, 48, 256, packed_weight="int8")),
        Bad("weight_scale must have dtype", _w4(16, 48, 256, weight_scale="float16")),
        Bad("weight_zero must have dtype", _w4(16, 48, 256, weight_zero="int8")),
        *(Bad(f"{name} must be a torch.Tensor", _w4(16, 48, 256, **{name: None})) for name in W4),
        Bad("activation must be a torch.Tensor", _w4(16, 48, 256, activation=None)),
    ],
    dtypes={"activation": {"float16"}, **{name: {dtype} for name, dtype in W4.items()}},
    made={"packed_weight": (1, 254), "weight_zero": (0, 15)},
)

EXPECTED: dict[str, Expected] = {
    "BmmFp8KNFwdOp": _bmm_fp8_expected(False),
    "BmmFp8NKFwdOp": _bmm_fp8_expected(True),
    "BmmFwdOp": BMM,
    "GemmFp8FwdOp": GEMM_FP8,
    "GemmFwdOp": GEMM,
    "GemmW4A16FwdOp": W4A16,
    "GroupedGemmFwdOp": GROUPED,
}
