"""Probes of softmax and of the reductions."""

from __future__ import annotations

import dataclasses
from typing import Any

from tests.conformance.expected.probes import FLOATS, Bad, Expected, Good, Probe, Shape


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
    dtypes={"input": FLOATS},
)


INTEGERS = {"int8", "int16", "int32", "int64", "uint8"}
NUMBERS = {*FLOATS, *INTEGERS, "bool"}


def _over(x: Shape, dim: Any = None, dtype: str = "float16", slot: str = "input", **params: Any) -> Probe:
    return Probe({slot: x}, {"dim": dim, **params}, dtype)


def _reduction(
    flops: Any,
    dtypes: set[str] = FLOATS,
    *,
    line: bool = False,
    outputs: int = 1,
    out: str | None = None,
    size: int = 2,
    good: Any = (),
    bad: Any = (),
    keepdim: bool = True,
    slot: str = "input",
    empty: bool = True,
    default: Any = (),
    dtype: str = "float16",
    first: Any = (2, 3, 4),
) -> Expected:
    """A reduction over several axes, or with `line` over one.

    `flops` are those of 24 elements, of the shape `first`, whose second axis goes; `out` is the dtype of a
    result and `size` its bytes, where it is not the input's; `default` the shape of (2, 3, 4) without `dim`.

    Longer than 80 lines because it lists calls.
    """

    def probe(x: Shape, dim: Any = None, dtype: str = "float16", **params: Any) -> Probe:
        return _over(x, dim, dtype, slot, **params)

    def see(x: Shape, dim: Any, shape: tuple[int, ...], name: str, run: bool = False, **static: Any) -> Good:
        return Good(probe(x, dim), (shape,) * outputs, name, static, out_dtype=out, run=run)

    walks = [
        Good(
            probe(first, 1, dtype),
            ((first[0], first[2]),) * outputs,
            "columns",
            {"tall": False, "aligned": False},
            flops,
            (1 if dtype == "int8" else 2) * 24 + outputs * size * first[0] * first[2],
            out,
        ),
        see((5, 256), -1, (5,), "rows", True, lanes=8, aligned=True),
        see((5, 257), -1, (5,), "rows", lanes=32, aligned=False),
        see((5, 2048), -1, (5,), "rows", lanes=32, aligned=True),
        see((5, 2049), -1, (5,), "rows", lanes=128, aligned=False),
        see((529, 16384), 1, (529,), "rows", lanes=128, aligned=True),
        see((528, 16368), 1, (528,), "rows", lanes=128, aligned=True),
        see((528, 16384), 1, (528,), "split_rows", aligned=True),
        see((1, 16389), 1, (1,), "split_rows", True, aligned=False),
        see((2, 9, 1), 1, (2, 1), "rows", lanes=8, aligned=False),
        see((511, 32), 0, (32,), "columns", tall=True, aligned=True),
        see((512, 32), 0, (32,), "split_columns", aligned=True),
        see((512, 3), 0, (3,), "split_columns", True, aligned=False),
        see((512, 65537), 0, (65537,), "columns", tall=True, aligned=False),
        see((512, 65536), 0, (65536,), "split_columns", aligned=True),
        see((2, 512, 65536), 1, (2, 65536), "columns", tall=True, aligned=True),
        see((16384, 65537), 0, (65537,), "columns", tall=True, aligned=False),
        see((2, 64, 16), 1, (2, 16), "columns", tall=False, aligned=True),
        Good(Probe({slot: (2, 3, 4)}), (default,) * outputs, "rows", out_dtype=out),
        Good(probe((), -1), ((),) * outputs, "rows", out_dtype=out),
    ]
    if keepdim:
        walks.append(Good(probe((2, 3), 1, keepdim=True), ((2, 1),) * outputs, "rows", out_dtype=out))
    if not line:
        again = {"short": True, "again": True}
        walks += [
            see((4, 1, 8192), (0, 1, 2), (), "split_rows", short=False, again=False, aligned=True),
            see((4, 33, 256), (0, 2), (33,), "split_rows", **again, aligned=True),
            see((4, 3, 257), (0, 2), (3,), "split_rows", short=False, again=True, aligned=False),
            see((4, 3, 9, 16), (0, 2), (3, 16), "split_columns", aligned=True),
            see((2, 3, 2, 3, 2, 3), (0, 2, 4), (3, 3, 3), "rows", lanes=8, aligned=False),
            see((2, 3, 2, 3, 4, 3), (1, 3, 5), (2, 2, 4), "rows", lanes=8, aligned=False),
        ]
    says = f"dim must name axes of {slot}, each once"
    refused = [
        Bad(says, probe((2, 3), 2)),
        Bad(says, probe((2, 3), -3)),
        Bad(f"{slot} must be", probe(None, 0)),
    ]
    refused += [] if line else [Bad(says, probe((2, 3), (0, -2)))]
    if empty:
        walks.append(see((3, 0), 1, (3,), "rows"))
    else:
        full = "the reduced axes must not be empty"
        refused += [Bad(full, probe((3, 0), 1)), Bad(full, probe((0, 0), 0))]
        walks.append(see((3, 0), 0, (0,), "columns"))
    return Expected([*walks, *good], [*refused, *bad], {slot: dtypes})


def _kept(*pairs: tuple[str, str]) -> list[Good]:
    """The dtypes of results of other inputs than float16."""
    return [Good(_over((5, 16), 1, dtype=dtype), ((5,),), "rows", out_dtype=out) for dtype, out in pairs]


_LONG = _kept(("uint8", "int64"), ("bool", "int64"), ("int8", "int64"), ("float32", "float32"))
_SAME = _kept(("uint8", "uint8"), ("bool", "bool"), ("int64", "int64"))
_EVERY = [Good(_over((2, 3, 4), ()), ((),), "rows")]
_TRUTH = [
    *_kept(("uint8", "uint8"), ("bool", "bool"), ("complex64", "bool"), ("float32", "bool")),
    Good(_over((2, 3), ()), ((2, 3),), "rows", out_dtype="bool"),
]
_MOMENT = [Good(_over((2, 3, 4), 1, correction=0), ((2, 4),), "columns", run=True)]
_CORRECTED = [  # by every program
    Good(_over((5, 256), 1, correction=0), ((5,),), "rows", run=True),
    Good(_over((1, 16389), 1, correction=9999), ((1,),), "split_rows", run=True),
    Good(_over((512, 3), 0, correction=99), ((3,),), "split_columns", run=True),
]


def _norm(flops: int, order: float, empty: bool = True) -> Expected:
    wrong = [Bad("ord must be", Probe({"x": (2, 3)}, {"ord": o})) for o in (3, 0, 2.5)]
    right = Good(Probe({"x": (2, 3)}, {"ord": order}), ((),), "rows")
    return _reduction(flops, slot="x", empty=empty, bad=wrong, good=[right])


_TWICE = [dataclasses.replace(good, outputs=good.outputs * 2) for good in (*_MOMENT, *_CORRECTED)]
_BITS = NUMBERS | {"complex64"}
_ORDERED = FLOATS | INTEGERS
_COUNTS = _kept(*((dtype, "int64") for dtype in sorted(_BITS)))
_PLACES = _kept(*((dtype, "int64") for dtype in sorted(_ORDERED)))
_LOGS = [
    *_kept(*((dtype, "float32") for dtype in sorted({*INTEGERS, "bool", "float32"}))),
    Good(_over((2, 3), (), keepdim=True), ((1, 1),), "rows"),
    Good(_over((), ()), ((),), "rows"),
]
_OF_LOGS = [
    Bad("dim must name an axis, unless keepdim is set", _over((2, 3), ())),
    Bad("dim must be int | tuple[int, ...]", _over((2, 3), None)),
]

EXPECTED: dict[str, Expected] = {
    "AllFwdOp": _reduction(24, _BITS, out="bool", size=1, good=_TRUTH, dtype="int8", first=(2, 2, 6)),
    "AmaxFwdOp": _reduction(24, NUMBERS, empty=False, good=[*_SAME, *_EVERY]),
    "AminFwdOp": _reduction(24, NUMBERS, empty=False, good=[*_SAME, *_EVERY]),
    "AnyFwdOp": _reduction(24, _BITS, out="bool", size=1, good=_TRUTH, dtype="int8"),
    "ArgmaxFwdOp": _reduction(24, _ORDERED, line=True, out="int64", size=8, empty=False, good=_PLACES),
    "ArgminFwdOp": _reduction(24, _ORDERED, line=True, out="int64", size=8, empty=False, good=_PLACES),
    "CountNonzeroFwdOp": _reduction(
        24, _BITS, out="int64", size=8, keepdim=False, good=_COUNTS, dtype="int8"
    ),
    "InfNormFwdOp": _norm(24, float("inf"), empty=False),
    "L1NormFwdOp": _norm(48, 1),
    "L2NormFwdOp": _norm(48, 2.0),
    "LogSoftmaxFwdOp": SOFTMAX,
    "LogSumExpFwdOp": _reduction(120, NUMBERS, good=_LOGS, bad=_OF_LOGS, default=(2, 3)),
    "MeanFwdOp": _reduction(32, good=_EVERY),
    "ProdFwdOp": _reduction(24, NUMBERS, line=True, good=_LONG),
    "SoftmaxFwdOp": SOFTMAX,
    "StdFwdOp": _reduction(72, good=[*_MOMENT, *_CORRECTED]),
    "SumFwdOp": _reduction(24, NUMBERS, good=[*_LONG, *_EVERY]),
    "VarFwdOp": _reduction(72, good=[*_MOMENT, *_CORRECTED]),
    "VarMeanFwdOp": _reduction(72, outputs=2, good=_TWICE),
}
