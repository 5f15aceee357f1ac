"""Probes of the gated activations and of the tables of positions."""

from __future__ import annotations

from typing import Any

from tests.conformance.expected.probes import FLOATS, Bad, Expected, Good, Probe, Shape


def _x(shape: Shape, dtype: str = "float16") -> Probe:
    return Probe({"x": shape}, {}, dtype)


def _gated(flops: int) -> Expected:
    good = [
        Good(_x((3, 16)), ((3, 8),), "rows", {"aligned": True}, flops * 24, 2 * 72),
        Good(_x((2, 14), "float32"), ((2, 7),), "rows", {"aligned": False}),
    ]
    bad = [
        Bad("x must be a torch.Tensor", _x(None)),
        Bad("x must have shape [M 2*N]", _x((3, 15))),
        Bad("x must have 2 dimensions", _x((2, 3, 16))),
    ]
    return Expected(good, bad, {"x": FLOATS})


def _table(shape: str, wrong: tuple[dict[str, int], ...], says: str, flops: int, **sizes: int) -> Expected:
    """`shape` names the sizes of the output."""

    def probe(dtype: str = "float32", **changed: Any) -> Probe:
        return Probe({}, {**sizes, **changed, "dtype": dtype})

    def good(dtype: str, aligned: bool, last: int, **facts: Any) -> Good:
        found = {**sizes, shape.split()[-1]: last}
        made = tuple(found[name] for name in shape.split())
        return Good(probe(dtype, **found), (made,), "rows", {"aligned": aligned}, out_dtype=dtype, **facts)

    first = sizes[shape.split()[-1]]
    elements = 1
    for name in shape.split():
        elements *= sizes[name]
    return Expected(
        [
            good("float16", first % 8 == 0, first, flops=flops * elements, bytes=2 * elements),
            good("bfloat16", True, 24),
            good("float32", False, 14),
        ],
        [
            *(Bad(says, probe("float32", **change)) for change in wrong),
            Bad("the dtypes", probe("float64")),
            Bad("the dtypes", probe("int32")),
        ],
        {},
    )


EXPECTED: dict[str, Expected] = {
    "SiluAndMulFwdOp": _gated(5),
    "GeluAndMulFwdOp": _gated(6),
    "GeluTanhAndMulFwdOp": _gated(9),
    "AlibiFwdOp": _table(
        "num_heads seq_len seq_len",
        ({"seq_len": 0}, {"seq_len": -8}, {"num_heads": 0}),
        "seq_len and num_heads must be positive",
        3,
        seq_len=16,
        num_heads=3,
    ),
    "SinusoidalFwdOp": _table(
        "seq_len d_model",
        ({"seq_len": 0}, {"d_model": 0}, {"d_model": 7}),
        "seq_len must be positive, d_model positive and even",
        8,
        seq_len=5,
        d_model=16,
    ),
}
