"""Probes of the quantizations."""

from __future__ import annotations

from tests.conformance.expected.probes import FLOATS, Bad, Expected, Good, Probe, Shape


def _quant(x: Shape, dtype: str = "float16") -> Probe:
    return Probe({"input_tensor": x}, {}, dtype)


TYPES = ("float32", "float8_e4m3fn")


def _good(x: tuple[int, ...], implementation: str, flops: int | None = None, **static: object) -> Good:
    """`bytes` of float16: 2 read and 1 written an element, 4 a row."""
    moved = None if flops is None else flops + 4 * (flops // 3 // x[-1])
    return Good(_quant(x), (x[:-1], x), implementation, static, flops, moved, out_dtype=TYPES)


FP8_QUANT = Expected(
    good=[
        _good((2, 3, 2, 64), "rows", 3 * 768, block=64, aligned=True),
        _good((1, 5, 1, 65), "rows", 3 * 325, block=128, aligned=False),
        _good((1, 2, 1, 32768), "rows", block=32768, aligned=True),
        _good((1, 1, 1, 32776), "long_rows", aligned=True),
        _good((1, 1, 1, 32769), "long_rows", aligned=False),
        *(
            Good(_quant((1, 2, 1, 8), d), ((1, 2, 1), (1, 2, 1, 8)), "rows", out_dtype=TYPES)
            for d in ("bfloat16", "float32")
        ),
    ],
    bad=[
        Bad("the last dimension must not be empty", _quant((2, 3, 1, 0))),
        Bad("input_tensor must have 4 dimensions", _quant((2, 3, 64))),
        Bad("input_tensor must be a torch.Tensor", _quant(None)),
    ],
    dtypes={"input_tensor": FLOATS},
)

EXPECTED: dict[str, Expected] = {"FP8QuantFwdOp": FP8_QUANT}
