"""Probes of pooling."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from tests.conformance.expected.probes import FLOATS, Bad, Expected, Good, Probe, Shape

_X = {1: (2, 3, 9), 2: (2, 3, 8, 9), 3: (2, 3, 6, 8, 9)}
_NAMES = {1: "L", 2: "H, W", 3: "D, H, W"}
_COUNT = {1: "one", 2: "one or two", 3: "one or three"}
_ALSO = {1: "length", 2: "height and width", 3: "depth, height and width"}


def _pool(shape: Shape, kernel_size: Any = 3, last: bool = False, **params: Any) -> Probe:
    return Probe({"input": shape}, {"kernel_size": kernel_size, **params}, channels_last=last)


def _windows(n: int, average: bool, indices: bool) -> Expected:
    """Pooling over windows of `n` axes."""
    x, two = _X[n], 2 if indices else 1
    halves = tuple({6: 3, 8: 4, 9: 5}[size] for size in x[2:])
    out = (2, 3, *halves)
    cost = 3**n + 1 if average else 3**n
    dtype = ("float16", "int64") if indices else None
    moved = 2 * (math.prod(x) + math.prod(out)) + 8 * math.prod(out) * indices
    small = (*((1,) * (3 - n)), *((3,) * n))
    tile = (1, 8) if n == 1 else (4, 8)
    static = {"window": small, "tile": tile}
    wide = (2, 3, *(4,) * (n - 1), 300)
    floor, ceil = (2, 3, *(3,) * n), (2, 3, *(4,) * n)
    flat = dict.fromkeys(("window", "step"), (3,) * n)

    def good(probe: Probe, shape: tuple[int, ...], *others: Any, **named: Any) -> Good:
        return Good(probe, (shape,) * two, "contiguous", *others, out_dtype=dtype, **named)

    found = [
        good(_pool(x, stride=2, padding=1), out, static, math.prod(out) * cost, moved),
        good(_pool((2, 3, *(10,) * n)), floor, names={**flat, "pad": (0,) * n}),
        good(_pool((2, 3, *(10,) * n), stride=()), floor, names=flat),
        good(_pool((2, 3, *(10,) * n), ceil_mode=True), ceil),
        good(
            _pool(wide, 2, stride=1), (2, 3, *(3,) * (n - 1), 299), {"tile": (1, 256) if n == 1 else (4, 256)}
        ),
        good(_pool((0, 3, *(3,) * n)), (0, 3, *(1,) * n)),
        good(
            _pool((2, 3, *(36,) * n), (33,) * n), (2, 3, *(1,) * n), {"window": ()}, names={"out": (1,) * n}
        ),
        good(_pool((2, 3, *(300,) * n), 1) if n < 3 else _pool((1, 1, 1, 300, 300), 1),
             (2, 3, *(300,) * n) if n < 3 else (1, 1, 1, 300, 300),
             {"tile": (1, 256) if n == 1 else (256, 256)}),
    ]  # fmt: skip
    across = {1: (300,), 2: (300, 300), 3: (2, 300, 2)}[n]
    for probe, shape, facts in (
        (_pool(x, stride=2, padding=1, last=True), out, {**static, "channels": 3}),
        (_pool((1, 3, *(36,) * n), (33,) * n, last=True), (1, 3, *(1,) * n), {"window": ()}),
        (_pool((1, 2, *(4,) * (n - 1), 300), 1, last=True), (1, 2, *(4,) * (n - 1), 300), {}),
        (_pool((1, 2, *across), 1, last=True), (1, 2, *across),
         {"tile": {1: (1, 256), 2: (256, 256), 3: (256, 2)}[n]}),
    ):  # fmt: skip
        found.append(
            Good(probe, (shape,) * two, "channels_last", facts, out_dtype=dtype, run="channels" in facts)
        )
    for other in ("bfloat16", "float32") if indices else ():
        probe = dataclasses.replace(_pool(x, stride=2, padding=1), dtype=other)
        found.append(Good(probe, (out,) * 2, "contiguous", out_dtype=(other, "int64")))
    if not average:
        found.append(
            good(_pool((2, 3, *(10,) * n), dilation=2), (2, 3, *(2,) * n), names={"spread": (2,) * n})
        )
    elif n > 1:
        found.append(
            good(_pool(x, 2, divisor_override=-1), (2, 3, *(s // 2 for s in x[2:])), names={"divisor": -1})
        )
        found[1] = good(_pool((2, 3, *(10,) * n)), floor, names={**flat, "pad": (0,) * n, "divisor": 0})
    else:
        found[1] = good(_pool((2, 3, 10)), floor, names={**flat, "pad": (0,), "divisor": 0})
    return Expected(found, _refused_windows(n, average), {"input": FLOATS})


def _refused_windows(n: int, average: bool) -> list[Bad]:
    """Windows of `n` axes that PyTorch refuses too."""
    x = _X[n]

    def tuple_of(value: int, at: int, other: int) -> tuple[int, ...]:
        return tuple(value if i == at else other for i in range(n))

    bad = [
        Bad(f"input must be (N, C, {_NAMES[n]})", _pool((2, 3, *(9,) * (n + 1)))),
        Bad("input must have at least 2", _pool((3,))),
        Bad("input must be a torch.Tensor", _pool(None)),
        Bad("input must have channels", _pool((2, 0, *x[2:]))),
        Bad(f"kernel_size must be {'one number' if n == 1 else 'one number or'}", _pool(x, (3,) * (n + 1))),
        Bad("stride must be less than 2**31", _pool(x, stride=2**31)),
        Bad("padding must leave each size", _pool(x, 2**31, padding=2**30)),
        *(Bad(f"{_ALSO[n]} must not be empty", _pool((2, 3, *tuple_of(0, i, 9)))) for i in range(n)),
        Bad(f"kernel_size must be {_COUNT[n]} positive", _pool(x, 0)),
        Bad(f"kernel_size must be {_COUNT[n]} positive", _pool(x, tuple_of(-1, n - 1, 3))),
        Bad(f"stride must be {_COUNT[n]} positive", _pool(x, stride=0)),
        Bad(f"padding must be {_COUNT[n]} number", _pool(x, padding=-1)),
        *(Bad("padding must be at most half", _pool(x, padding=tuple_of(2, i, 0))) for i in range(n)),
        *(Bad("the window is larger", _pool((2, 3, *tuple_of(2, i, 9)))) for i in range(n)),
    ]
    if not average:
        bad.append(Bad(f"dilation must be {_COUNT[n]} positive", _pool(x, dilation=0)))
    elif n > 1:
        bad.append(Bad("divisor_override must not be 0", _pool(x, divisor_override=0)))
    return bad


def _grid(shape: Shape, output_size: Any, last: bool = False) -> Probe:
    return Probe({"input": shape}, {"output_size": output_size}, channels_last=last)


def _adaptive(indices: bool, average: bool = False) -> Expected:
    x, two = (2, 3, 9, 7), 2 if indices else 1
    dtype = ("float16", "int64") if indices else None
    moved = 2 * (378 + 72) + 8 * 72 * indices

    def good(probe: Probe, shape: tuple[int, ...], *others: Any, **named: Any) -> Good:
        return Good(probe, (shape,) * two, "contiguous", *others, out_dtype=dtype, **named)

    return Expected(
        good=[
            *(
                Good(
                    dataclasses.replace(_grid(x, (4, 3)), dtype=other),
                    ((2, 3, 4, 3),) * 2, "contiguous", out_dtype=(other, "int64"),
                )
                for other in (("float16", "bfloat16", "float32") if indices else ())
            ),
            good(_grid(x, (4, 3)), (2, 3, 4, 3), {"tile": (4, 4), "window": ()}, 378, moved,
                 names={"window": (4, 4), "out": (4, 3)}),
            good(_grid(x, 1), (2, 3, 1, 1), names={"window": (10, 8)}),
            good(_grid(x, None), (2, 3, 9, 7)),
            good(_grid(x, (None, 2)), (2, 3, 9, 2)),
            good(_grid(x, (0, 2)), (2, 3, 0, 2), names={"window": (10, 5)}),
            good(_grid(x, (2, 0)), (2, 3, 2, 0), names={"window": (6, 8)}),
            good(_grid((1, 1, 2, 2), 300), (1, 1, 300, 300), {"tile": (256, 256)}),
            good(_grid((1, 1, 2**15 - 1, 2), (2**15, 1)), (1, 1, 2**15, 1), {"wide": False}),
            good(_grid((1, 1, 2**15, 2), (2**15, 1)), (1, 1, 2**15, 1), {"wide": True}),
            good(_grid((1, 1, 2, 2**15 - 1), (1, 2**15)), (1, 1, 1, 2**15), {"wide": False}),
            good(_grid((1, 1, 2, 2**15), (1, 2**15)), (1, 1, 1, 2**15), {"wide": True}),
            *(
                Good(_grid((1, 2, *size), out, last=True), ((1, 2, *out),) * two, "channels_last",
                     {"wide": big}, out_dtype=dtype)
                for size, out, big in (
                    ((2**15 - 1, 2), (2**15, 1), False), ((2**15, 2), (2**15, 1), True),
                    ((2, 2**15 - 1), (1, 2**15), False), ((2, 2**15), (1, 2**15), True),
                )
            ),
            Good(_grid(x, (4, 3), last=True), ((2, 3, 4, 3),) * two, "channels_last",
                 {"tile": (4, 4), "window": (), "channels": 3}, out_dtype=dtype, run=True),
            Good(_grid((1, 2, 2, 2), 300, last=True), ((1, 2, 300, 300),) * two, "channels_last",
                 {"tile": (256, 256)}, out_dtype=dtype),
        ],
        bad=[
            Bad("input must be (N, C, H, W)", _grid((2, 3, 9), 1)),
            Bad("input must be (N, C, H, W)", _grid((2, 3, 9, 9, 9), 1)),
            Bad("input must be a torch.Tensor", _grid(None, 1)),
            *([] if average else [Bad("input must have channels", _grid((2, 0, 9, 9), 1))]),
            Bad("output_size must be one number, two of them, or None", _grid(x, (3,))),
            Bad("height and width must not be empty", _grid((2, 3, 0, 9), 1)),
            Bad("height and width must not be empty", _grid((2, 3, 9, 0), 1)),
            Bad("output_size must be one or two numbers", _grid(x, -1)),
            Bad("output_size must be one or two numbers", _grid(x, (2, 2**24 + 1))),
            Bad("output_size must be one or two numbers", _grid(x, (2, -1))),
        ],
        dtypes={"input": FLOATS},
    )  # fmt: skip


def _mean(
    x: Shape, chunk: int = 4, offsets: Shape = None, indices: Shape = None, dtype: str = "float16"
) -> Probe:
    shapes = {"x": x, "offsets": offsets, "indices": indices}
    return Probe(shapes, {"chunk_size": chunk}, dtype, {"offsets": "int32", "indices": "int32"})


MEAN = Expected(
    good=[
        Good(
            _mean((1, 10, 2, 8), 4, (3,), (5, 2)),
            ((1, 5, 2, 8),),
            "chunks",
            names={"features": 16, "N": 2},
            bytes=2 * 240 + 52,
        ),
        Good(
            _mean((2, 10, 2, 8)), ((2, 3, 2, 8),), "chunks", {"features": 16}, 320, 2 * (320 + 96), run=True
        ),
        Good(_mean((1, 0, 2, 8), dtype="bfloat16"), ((1, 0, 2, 8),), "chunks"),
        Good(_mean((1, 10, 2, 0)), ((1, 3, 2, 0),), "chunks"),
        Good(_mean((1, 10, 2, 8), 2**40), ((1, 1, 2, 8),), "chunks"),
        Good(_mean((1, 1, 2, 8), dtype="float32"), ((1, 1, 2, 8),), "chunks"),
    ],
    bad=[
        Bad("chunk_size must be positive", _mean((2, 10, 2, 8), 0)),
        Bad("give offsets and indices, or neither", _mean((1, 10, 2, 8), 4, (3,))),
        Bad("give offsets and indices, or neither", _mean((1, 10, 2, 8), 4, None, (5, 2))),
        Bad("packed sequences have batch 1", _mean((2, 10, 2, 8), 4, (3,), (5, 2))),
        Bad("indices must have shape [C 2]", _mean((1, 10, 2, 8), 4, (3,), (5, 3))),
        Bad("x must have 4 dimensions", _mean((2, 10, 2))),
        Bad("x must be a torch.Tensor", _mean(None)),
    ],
    dtypes={"x": FLOATS},
    made={"offsets": (0, 70), "indices": (0, 2)},
    values={"offsets": ("offsets", 10), "indices": ("columns", 1, 10)},
)

EXPECTED: dict[str, Expected] = {"MeanPoolingFwdOp": MEAN}
EXPECTED |= {f"AvgPool{n}dFwdOp": _windows(n, True, False) for n in (1, 2, 3)}
EXPECTED |= {f"MaxPool{n}dFwdOp": _windows(n, False, False) for n in (1, 2, 3)}
EXPECTED |= {f"MaxPool{n}dIndicesFwdOp": _windows(n, False, True) for n in (1, 2, 3)}
EXPECTED |= {f"AdaptiveMaxPool2d{i}FwdOp": _adaptive(bool(i)) for i in ("", "Indices")}
EXPECTED |= {"AdaptiveAvgPool2dFwdOp": _adaptive(False, True)}
