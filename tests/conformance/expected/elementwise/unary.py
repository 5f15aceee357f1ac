"""Probes of the unary elementwise operators."""

from __future__ import annotations

from typing import Any

from tests.conformance.expected.probes import FLOATS, Bad, Expected, Good, Probe

INTEGERS = {"uint8", "int8", "int16", "int32", "int64"}
NUMBERS = {*FLOATS, *INTEGERS}
ALL = {*NUMBERS, "bool"}
SHAPE = (3, 40)


def _probe(dtype: str = "float16", **params: Any) -> Probe:
    return Probe({"input": SHAPE}, params, dtype)


def _good(
    dtype: str = "float16", out: str | None = None, static: dict[str, Any] | None = None, **params: Any
) -> Good:
    written = frozenset({"input"}) if params.get("inplace") else frozenset()
    return Good(
        _probe(dtype, **params),
        (SHAPE,),
        "flat",
        static or {},
        out_dtype=out,
        written=written,
        alias="input" if written else None,
    )


def _first(flops: int, size: int = 4, **others: Any) -> Good:
    """The first probe: float16, `flops` operations and `size` bytes an element."""
    return Good(_probe(), (SHAPE,), "flat", flops=120 * flops, bytes=120 * size, **others)


def _unary(
    dtypes: set[str], *good: Good, flops: int = 1, bad: tuple[Bad, ...] = (), **first: Any
) -> Expected:
    """An operator of one tensor, the output in its dtype."""
    missing = Bad("input must be a torch.Tensor", Probe({"input": None}))
    integer = [_good("int16")] if "int16" in dtypes and not bad else []
    return Expected([_first(flops, **first), *integer, *good], [missing, *bad], {"input": dtypes})


def _promoting(flops: int = 1) -> Expected:
    """Integers and booleans give float32."""
    good = [_first(flops), _good("bfloat16"), _good("float32")]
    good += [_good(dtype, "float32") for dtype in sorted({*INTEGERS, "bool"})]
    return Expected(good, [Bad("input must be a torch.Tensor", Probe({"input": None}))], {"input": ALL})


def _test() -> Expected:
    """Booleans come out."""
    good = [_first(1, 3, out_dtype="bool"), *(_good(dtype, "bool") for dtype in sorted(ALL))]
    return Expected(good, [Bad("input must be a torch.Tensor", Probe({"input": None}))], {"input": ALL})


def _activation(flops: int, *good: Good, dtypes: set[str] = FLOATS, bad: tuple[Bad, ...] = ()) -> Expected:
    """One that can write into its input."""
    return _unary(dtypes, _good("bfloat16", inplace=True), *good, flops=flops, bad=bad)


ROUND = _unary(
    NUMBERS,
    Good(_probe("bfloat16", decimals=-2), (SHAPE,), "flat", {"decimal": True}, run=True),
    _good("int32", static={"decimal": False}, decimals=0),
    static={"decimal": False},
    bad=(Bad("integers are rounded with decimals = 0 only", _probe("int32", decimals=1)),),
)
BITWISE_NOT = Expected(
    [
        Good(_probe("int32"), (SHAPE,), "flat", flops=120, bytes=960),
        *(_good(dtype) for dtype in sorted({*INTEGERS, "bool"})),
    ],
    [Bad("input must be a torch.Tensor", Probe({"input": None}))],
    {"input": {*INTEGERS, "bool"}},
)
CLAMP = Expected(
    [
        Good(_probe(min=-0.5, max=1), (SHAPE,), "flat", flops=240, bytes=480),
        _good("float32", max=0.25),
        _good("bfloat16", min=0.25),
        _good("int8", min=2.0),
        _good("int64", max=3),
        _good("int8", min=-2, max=-1),
        _good("uint8", min=0),
        _good("uint8", max=0),
    ],
    [
        Bad("input must be a torch.Tensor", Probe({"input": None}, {"min": 0})),
        Bad("give min, max or both", _probe()),
        Bad("the bounds of integers must be whole numbers", _probe("int32", min=0.5)),
        Bad("the bounds of integers must be whole numbers", _probe("uint8", max=1.5, min=1)),
        Bad("the bounds of uint8 must not be negative", _probe("uint8", min=-1)),
        Bad("the bounds of uint8 must not be negative", _probe("uint8", max=-1)),
    ],
    {"input": NUMBERS},
)
HARDTANH = _activation(
    2,
    _good("uint8", min_val=0.0),
    _good("uint8", min_val=-0.5),
    _good("int8", min_val=-3.0),
    _good(min_val=1.0, max_val=1.0),
    _good(min_val=float("nan")),
    _good("bfloat16", max_val=float("inf")),
    _good("float32", min_val=-float("inf")),
    dtypes=NUMBERS,
    bad=(
        Bad("min_val must not be above max_val", _probe(min_val=1.5)),
        Bad("min_val must not be negative for uint8", _probe("uint8")),
        Bad("the bounds of integers must be finite", _probe("int32", min_val=-float("inf"))),
        Bad("the bounds of integers must be finite", _probe("int8", max_val=float("nan"))),
    ),
)

EXPECTED: dict[str, Expected] = {
    **{
        f"{name}FwdOp": _promoting()
        for name in ("Exp", "Expm1", "Log", "Log1p", "Sqrt", "Rsqrt", "Reciprocal")
    },
    **{f"{name}FwdOp": _promoting() for name in ("Sin", "Cos", "Tanh", "Erf")},
    "SigmoidFwdOp": _promoting(3),
    **{f"{name}FwdOp": _unary(NUMBERS) for name in ("Abs", "Neg", "Floor", "Ceil", "Trunc")},
    "SignFwdOp": _unary(ALL, _good("bool")),
    "RoundFwdOp": ROUND,
    "ClampScalarFwdOp": CLAMP,
    "NanToNumFwdOp": _unary(ALL, _good("bool"), _good("float32", nan=1.0, posinf=2.0, neginf=3.0), flops=3),
    **{f"{name}FwdOp": _test() for name in ("Isnan", "Isinf", "Isfinite", "LogicalNot")},
    "BitwiseNotFwdOp": BITWISE_NOT,
    "ReluFwdOp": _activation(1, dtypes=NUMBERS),
    "LeakyReluFwdOp": _activation(2, _good(negative_slope=0.5)),
    "EluFwdOp": _activation(3, _good(alpha=0.5)),
    "SeluFwdOp": _activation(4),
    "HardtanhFwdOp": HARDTANH,
    "HardsigmoidFwdOp": _activation(4),
    "HardswishFwdOp": _activation(5),
    "GeluFwdOp": _unary(
        FLOATS, _good(static={"tanh": True}, approximate="tanh"), flops=5, static={"tanh": False}
    ),
    "SiluFwdOp": _activation(4),
    "MishFwdOp": _activation(6),
    "SoftplusFwdOp": _unary(FLOATS, _good(beta=2.0, threshold=5.0), flops=4),
}
