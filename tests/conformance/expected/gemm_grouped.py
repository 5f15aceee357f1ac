"""Probes of the products of groups of rows."""

from __future__ import annotations

from typing import Any

from tests.conformance.expected.probes import HALF, Bad, Expected, Good, Probe, Shape

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


def _columns(t: int, e: int, m: int, n: int, implementation: str | None, tb: bool, run: bool = False) -> Good:
    probe = _grouped((t, m), (n, t) if tb else (t, n), e, True, tb)
    return Good(probe, ((e, m, n),), implementation, {"transpose_b": tb}, 2 * t * m * n, run=run)


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
        _columns(60, 3, 48, 72, "columns", True),
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

EXPECTED: dict[str, Expected] = {
    "GroupedGemmFwdOp": GROUPED,
}
