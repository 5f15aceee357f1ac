"""Probes of running sums and products."""

from __future__ import annotations

from typing import Any

from tests.conformance.expected.probes import FLOATS, Bad, Expected, Good, Probe, Shape

INTEGERS = {"int8", "int16", "int32", "int64", "uint8", "bool"}


def _scan(x: Shape, dim: int = -1, dtype: str = "float16") -> Probe:
    return Probe({"input": x}, {"dim": dim}, dtype)


def _see(x: tuple[int, ...], dim: int, name: str, **static: Any) -> Good:
    return Good(_scan(x, dim), (x,), name, static)


SCAN = Expected(
    good=[
        Good(_scan((2, 3, 4), 1), ((2, 3, 4),), "columns", {"aligned": False}, 24, 4 * 24),
        Good(Probe({"input": (2, 3, 4)}), ((2, 3, 4),), "rows", {"short": True, "aligned": False}, run=True),
        _see((5, 128), 1, "rows", short=True, aligned=True),
        _see((5, 129), 1, "rows", short=False, aligned=False),
        _see((5, 144), -1, "rows", short=False, aligned=True),
        _see((5, 9, 16), -2, "columns", aligned=True),
        _see((5, 9, 1), 1, "rows", short=True, aligned=False),
        _see((), -1, "rows", short=True),
        _see((), 0, "rows", short=True),
        _see((3, 0), 1, "rows"),
        _see((3, 0), 0, "columns"),
        Good(_scan((5, 16), 1, "uint8"), ((5, 16),), "rows", out_dtype="int64"),
        Good(_scan((5, 16), 1, "bool"), ((5, 16),), "rows", out_dtype="int64"),
        Good(_scan((5, 16), 1, "bfloat16"), ((5, 16),), "rows"),
    ],
    bad=[
        Bad("dim must lie in [-rank, rank)", _scan((2, 3), 2)),
        Bad("dim must lie in [-rank, rank)", _scan((2, 3), -3)),
        Bad("dim must lie in [-rank, rank)", _scan((), 1)),
        Bad("input must be a torch.Tensor", _scan(None)),
    ],
    dtypes={"input": FLOATS | INTEGERS},
)

EXPECTED: dict[str, Expected] = {"CumprodFwdOp": SCAN, "CumsumFwdOp": SCAN}
