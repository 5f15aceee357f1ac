"""Probes of the elementwise operators with two and three operands, whose shapes broadcast."""

from __future__ import annotations

from typing import Any

from tests.conformance.expected.probes import FLOATS, Bad, Expected, Good, Probe, Shape

INTEGERS = {"uint8", "int8", "int16", "int32", "int64"}
NUMBERS = {*FLOATS, *INTEGERS}
ALL = {*NUMBERS, "bool"}
SIZE = {"bool": 1, "uint8": 1, "int8": 1, "int16": 2, "float16": 2, "bfloat16": 2, "int64": 8}
ROW, COLUMN, WHOLE = (40,), (3, 1), (3, 40)


def _bytes(dtype: str) -> int:
    return SIZE.get(dtype, 4)


def _binary(
    dtypes: set[str],
    *good: Good,
    second: str = "other",
    own: str | None = None,
    out: str | None = None,
    flops: int = 1,
    bad: tuple[Bad, ...] = (),
    dtype: str = "float16",
    static: dict[str, Any] | None = None,
) -> Expected:
    """Two operands: `own` is the dtype of the second when it is not that of the first."""
    types = {second: own} if own else {}

    def probe(a: Shape, b: Shape, dtype: str = dtype, **others: str) -> Probe:
        return Probe({"input": a, second: b}, {}, dtype, {**types, **others})

    size = 2 * _bytes(dtype) if own is None else _bytes(dtype) + _bytes(own)
    first = Good(
        probe(WHOLE, WHOLE), (WHOLE,), "flat", static or {}, 120 * flops, 120 * (size + _bytes(out or dtype)),
        out_dtype=out,
    )  # fmt: skip
    same = Bad(f"{second} must have the dtype of input", probe(WHOLE, WHOLE, **{second: "float64"}))
    return Expected(
        good=[
            first,
            Good(
                probe(ROW, COLUMN), (WHOLE,), "broadcast", static or {}, 120 * flops, out_dtype=out, run=True
            ),
            Good(probe(COLUMN, ROW), (WHOLE,), "broadcast", out_dtype=out),
            Good(probe((0, 1), ROW), ((0, 40),), "broadcast", out_dtype=out),
            Good(probe((), (1, 1)), ((1, 1),), "broadcast", out_dtype=out),
            *(Good(probe(ROW, ROW, d), (ROW,), "flat", out_dtype=out) for d in sorted(dtypes) if out),
            *good,
        ],
        bad=[
            Bad("do not broadcast", probe(WHOLE, (3, 41))),
            Bad("do not broadcast", probe((0,), (2,))),
            Bad("input must be a torch.Tensor", probe(None, ROW)),
            Bad(f"{second} must be a torch.Tensor", probe(ROW, None)),
            *([] if own else [same]),
            *bad,
        ],
        dtypes={"input": dtypes, **({second: {own}} if own else {})},
    )


def _params(dtype: str = "float16", second: str = "other", own: str | None = None, **params: Any) -> Probe:
    return Probe({"input": WHOLE, second: WHOLE}, params, dtype, {second: own} if own else {})


def _scaled(dtypes: set[str]) -> Expected:
    """With `alpha`."""
    says = "alpha must be whole for integers"
    good = [
        Good(_params("int64", alpha=-3), (WHOLE,), "flat"),
        Good(_params("int8", alpha=2.0), (WHOLE,), "flat"),
        *(
            Good(_params(dtype, alpha=0.5), (WHOLE,), "flat", run=dtype == "float16")
            for dtype in sorted(FLOATS)
        ),
    ]
    bad = tuple(
        Bad(says, _params(d, alpha=a)) for d in ("int32", "uint8") for a in (0.5, float("nan"), float("inf"))
    )
    return _binary(dtypes, *good, flops=2, bad=bad)


def _div() -> Expected:
    whole = ("floor", "trunc")
    good = [Good(_params(d), (WHOLE,), "flat", out_dtype="float32") for d in sorted({*INTEGERS, "bool"})]
    good += [
        Good(_params(d, rounding_mode=m), (WHOLE,), "flat", {"rounding_mode": m})
        for d in sorted(FLOATS)
        for m in whole
    ]
    good += [
        Good(
            Probe({"input": ROW, "other": COLUMN}, {"rounding_mode": m}),
            (WHOLE,), "broadcast", {"rounding_mode": m},
        )
        for m in whole
    ]  # fmt: skip
    bad = [
        Bad("with a rounding mode the tensors must be floats", _params(d, rounding_mode="floor"))
        for d in ("int32", "bool")
    ]
    bad.append(Bad("rounding_mode must be one of", _params(rounding_mode="round")))
    return _binary(ALL, *good, bad=tuple(bad), static={"rounding_mode": None})


def _fill_number() -> Expected:
    says = "value must be finite for integers"
    good = [
        Good(_params(d, "mask", "bool", value=v), (WHOLE,), "flat")
        for d, v in (
            ("bool", float("nan")),
            ("float32", float("inf")),
            ("bfloat16", float("-inf")),
            ("int8", 2.5),
        )
    ]
    good += [Good(_params(d, "mask", "bool"), (WHOLE,), "flat") for d in sorted(ALL)]
    good += [
        Good(_params("float16", "mask", "bool", value=float("inf")), (WHOLE,), "flat", run=True),
        Good(_params("int64", "mask", "bool", value=True), (WHOLE,), "flat"),
        Good(
            Probe({"input": ROW, "mask": COLUMN}, {"value": 2.5}, dtypes={"mask": "bool"}),
            (WHOLE,),
            "broadcast",
            run=True,
        ),
    ]
    bad = tuple(
        Bad(says, _params(d, "mask", "bool", value=v))
        for d in ("int64", "uint8")
        for v in (float("inf"), float("nan"))
    )
    return _binary(ALL, *good, second="mask", own="bool", bad=bad)


def _ternary(
    names: tuple[str, str, str],
    dtypes: set[str],
    own: dict[str, str] | None = None,
    flops: int = 1,
    last: Shape = WHOLE,
    good: tuple[Good, ...] = (),
) -> Expected:
    """Three operands, of which some have a dtype of their own; the last may be one element always."""
    own = own or {}

    def probe(*shapes: Shape, **others: str) -> Probe:
        return Probe(dict(zip(names, shapes, strict=True)), {}, "float16", {**own, **others})

    one = last == ()
    size = sum(_bytes(own.get(n, "float16")) * (1 if one and n == names[2] else 120) for n in names) + 240
    element: Shape = () if one else (1, 1)
    spread: Shape = () if one else (3, 1)
    plain = [n for n in names if n not in own and n != "input"]
    shapes = (("two", ROW, COLUMN, element), ("none", (), (1, 1), element), ("first", COLUMN, ROW, element))
    return Expected(
        good=[
            Good(probe(WHOLE, WHOLE, last), (WHOLE,), "flat", flops=120 * flops, bytes=size),
            Good(probe(ROW, COLUMN, element), (WHOLE,), "broadcast", flops=120 * flops, run=True),
            *(Good(probe(*s), ((1, 1) if kind == "none" else WHOLE,), "broadcast") for kind, *s in shapes),
            *([] if one else [Good(probe(ROW, ROW, spread), (WHOLE,), "broadcast")]),
            *(
                Good(Probe(dict(zip(names, (WHOLE, WHOLE, last), strict=True)), {}, d, own), (WHOLE,), "flat")
                for d in sorted(dtypes)
            ),
            *good,
        ],
        bad=[
            Bad("do not broadcast", probe(WHOLE, (3, 41), last)),
            *(
                Bad(f"{n} must be a torch.Tensor", probe(*(None if m == n else WHOLE for m in names)))
                for n in names
            ),
            *(
                Bad(f"{n} must have the dtype of input", probe(WHOLE, WHOLE, last, **{n: "float64"}))
                for n in plain
            ),
            *([Bad("value must have 0 dimensions", probe(WHOLE, WHOLE, (1,)))] if one else []),
        ],
        dtypes={"input": dtypes, **{n: {d} for n, d in own.items()}},
    )  # fmt: skip


def _bounds(x: Shape, low: Shape, high: Shape, dtype: str = "float16", /, **others: str) -> Probe:
    return Probe({"input": x, "min": low, "max": high}, {}, dtype, others)


CLAMP = Expected(
    good=[
        Good(_bounds(WHOLE, WHOLE, WHOLE), (WHOLE,), "flat", flops=240, bytes=960),
        Good(_bounds(WHOLE, WHOLE, None), (WHOLE,), "flat", run=True, bytes=720),
        Good(_bounds(WHOLE, None, WHOLE), (WHOLE,), "flat", run=True),
        Good(_bounds(ROW, COLUMN, WHOLE), (WHOLE,), "broadcast", flops=240),
        Good(_bounds(ROW, COLUMN, ROW), (WHOLE,), "broadcast"),
        Good(_bounds(ROW, ROW, COLUMN), (WHOLE,), "broadcast"),
        Good(_bounds(ROW, COLUMN, None), (WHOLE,), "broadcast"),
        Good(_bounds(ROW, None, COLUMN), (WHOLE,), "broadcast"),
        Good(_bounds(ROW, (), ()), (ROW,), "broadcast"),
        *(Good(_bounds(ROW, ROW, ROW, dtype), (ROW,), "flat") for dtype in sorted(NUMBERS)),
    ],
    bad=[
        Bad("give min or max", _bounds(WHOLE, None, None)),
        Bad("do not broadcast", _bounds(WHOLE, (3, 41), WHOLE)),
        Bad("do not broadcast", _bounds(WHOLE, None, (3, 41))),
        Bad("input must be a torch.Tensor", _bounds(None, WHOLE, WHOLE)),
        Bad("min must have the dtype of input", _bounds(WHOLE, WHOLE, None, min="float64")),
        Bad("max must have the dtype of input", _bounds(WHOLE, None, WHOLE, max="float64")),
    ],
    dtypes={"input": NUMBERS},
)


def _slopes(x: Shape, weight: Shape, dtype: str = "float16", /, **others: str) -> Probe:
    return Probe({"input": x, "weight": weight}, {}, dtype, others)


_WEIGHT = "weight must have one element, or one for each position along the second axis"
PRELU = Expected(
    good=[
        Good(_slopes((2, 3, 5), (3,)), ((2, 3, 5),), "broadcast", flops=60, bytes=126),
        Good(_slopes((2, 3), (3,)), ((2, 3),), "broadcast"),
        Good(_slopes((2, 3), (1,)), ((2, 3),), "broadcast"),
        Good(_slopes((7,), ()), ((7,),), "broadcast"),
        Good(_slopes((), (1,)), ((),), "broadcast"),
    ],
    bad=[
        Bad(_WEIGHT, _slopes((2, 3, 5), (5,))),
        Bad(_WEIGHT, _slopes((3,), (3,))),
        Bad(_WEIGHT, _slopes((2, 3), (3, 1))),
        Bad(_WEIGHT, _slopes((2, 3), (1, 1))),
        Bad("input must be a torch.Tensor", _slopes(None, (3,))),
        Bad("weight must be a torch.Tensor", _slopes((2, 3), None)),
        Bad("weight must have the dtype of input", _slopes((2, 3), (3,), weight="float64")),
    ],
    dtypes={"input": FLOATS},
)

_WEIGHTS = tuple(
    Good(_params("float32", "end", weight=w), (WHOLE,), "flat", run=w == 0.25) for w in (-1.0, 0.25, 2.0)
)
EXPECTED: dict[str, Expected] = {
    "AddFwdOp": _scaled(ALL),
    "SubFwdOp": _scaled(NUMBERS),
    "MulFwdOp": _binary(ALL),
    "DivFwdOp": _div(),
    "FloorDivideFwdOp": _binary(NUMBERS, flops=4),
    "RemainderFwdOp": _binary(NUMBERS, flops=4),
    "PowFwdOp": _binary(NUMBERS, second="exponent"),
    "LerpFwdOp": _binary(FLOATS, *_WEIGHTS, second="end", flops=4),
    "LerpTensorFwdOp": _ternary(("input", "end", "weight"), FLOATS, flops=4),
    "MaximumFwdOp": _binary(ALL),
    "MinimumFwdOp": _binary(ALL),
    **{f"{name}FwdOp": _binary(ALL, out="bool") for name in ("Eq", "Ne", "Gt", "Lt", "Ge", "Le")},
    **{f"Logical{name}FwdOp": _binary(ALL, out="bool") for name in ("And", "Or")},
    **{f"Bitwise{name}FwdOp": _binary({*INTEGERS, "bool"}, dtype="int32") for name in ("And", "Or", "Xor")},
    "WhereFwdOp": _ternary(("condition", "input", "other"), ALL, {"condition": "bool"}),
    "ClampFwdOp": CLAMP,
    "MaskedFillFwdOp": _ternary(("input", "mask", "value"), ALL, {"mask": "bool"}, last=()),
    "MaskedFillScalarFwdOp": _fill_number(),
    "PreluFwdOp": PRELU,
}
