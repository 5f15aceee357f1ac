"""Probes of convolution."""

from __future__ import annotations

import math
from typing import Any

from tests.conformance.expected.probes import FLOATS, Bad, Expected, Good, Probe, Shape

_AXES = {1: "L", 2: "H, W", 3: "D, H, W"}
_KERNEL = {1: "KL", 2: "KH, KW", 3: "KD, KH, KW"}
_COUNT = {1: "one positive", 2: "one or two positive", 3: "one or three positive"}
_NUMBER = {1: "one number", 2: "one or two numbers", 3: "one or three numbers"}
_EMPTY = {1: "length", 2: "height and width", 3: "depth, height and width"}


def _conv(
    x: Shape, w: Shape, bias: bool = False, last: Any = False, dtype: str = "float16", **params: Any
) -> Probe:
    shapes = {"input": x, "weight": w, "bias": (w[0],) if bias and w else None}
    return Probe(shapes, params, dtype, channels_last=last)


def _convolution(n: int) -> Expected:
    """Convolution over `n` axes.

    Longer than 80 lines because it lists calls.
    """
    three = (3,) * n
    x, w = (2, 16, *(3, 5, 9)[3 - n :]), (24, 16, *three)
    y = (2, 24, *(2, 3, 5)[3 - n :])
    kernel = (*(1,) * (3 - n), *three)
    static = {"kernel": kernel, "width": 64, "lanes": 8}
    moved = 2 * (math.prod(x) + math.prod(w) + 24 + math.prod(y))
    numbers: dict[str, Any] = {"stride": 2, "padding": 1}
    every = ("input", "weight")
    nine = (9,) * n
    seven = (7,) * n
    large = {1: (65,), 2: (9, 8), 3: (5, 5, 5)}[n]
    mixed, spread = (4, 3, 2)[:n], (1, 2, 3)[:n]

    def across(value: int, at: int, other: int) -> tuple[int, ...]:
        return tuple(value if i == at else other for i in range(n))

    def tile(x: Shape, w: Shape, layout: str, width: int, lanes: int, **named: Any) -> Good:
        """What a call with these sizes is computed by; the kernel has one weight an axis."""
        assert x and w
        last = {"contiguous": False, "channels_last": every}.get(layout, (layout.partition("_")[0],))
        names = {"width": width}
        expected = {"width": width, "lanes": lanes}
        return Good(
            _conv((*x, *nine), (*w, *three), last=last, **named),
            ((x[0], w[0], *seven),),
            layout,
            expected,
            names=names,
        )

    good = [
        Good(_conv(x, w, True, **numbers), (y,), "contiguous", static, 2 * math.prod(y) * 16 * 3**n, moved),
        Good(_conv((0, 16, *nine), w), ((0, 24, *seven),), "contiguous",
             names={"step": (1,) * n, "pad": (0,) * n, "spread": (1,) * n, "out": seven}),
        Good(_conv((1, 16, *nine), (8, 4, *mixed), groups=4, padding="same", dilation=spread),
             ((1, 8, *nine),),
             "contiguous", names={"pad": (1, 2, 1)[:n], "spread": spread, "width": 0, "lanes": 1}),
        Good(_conv((1, 16, *nine), w, padding="valid"), ((1, 24, *seven),), "contiguous",
             names={"pad": (0,) * n}),
        Good(_conv((1, 16, *(70,) * n), (24, 16, *large)), ((1, 24, *(71 - k for k in large)),),
             "contiguous", {"kernel": ()}),
        *(Good(_conv(x, w, last=names, **numbers), (y,), layout, static, run=True)
          for layout, names in (("channels_last", every), ("input_channels_last", ("input",)),
                                ("weight_channels_last", ("weight",)))),
        tile((1, 16), (65, 16), "contiguous", 128, 8),
        tile((1, 16), (64, 16), "contiguous", 64, 8),
        tile((1, 16), (64, 16), "contiguous", 0, 1, dtype="float32"),
        tile((1, 16), (15, 16), "contiguous", 0, 1),
        tile((1, 32), (32, 16), "contiguous", 64, 8, groups=2),
        tile((1, 9), (24, 9), "contiguous", 64, 1),
        tile((1, 16), (24, 16), "weight_channels_last", 64, 8),
        tile((1, 9), (24, 9), "weight_channels_last", 64, 1),
    ]  # fmt: skip
    for layout in ("input_channels_last", "channels_last"):
        good += [
            tile((1, 16), (65, 16), layout, 128, 1),
            tile((1, 16), (72, 16), layout, 128, 8),
            tile((1, 12), (24, 12), layout, 64, 1),
            tile((1, 16), (8, 16), layout, 0, 1),
            tile((1, 12), (6, 2), layout, 0, 1, groups=6),
        ]
    good += [
        tile((1, 16), (16, 1), "input_channels_last", 0, 8, groups=16),
        tile((1, 16), (32, 1), "input_channels_last", 0, 1, groups=16),
        tile((1, 12), (12, 1), "input_channels_last", 0, 1, groups=12),
    ]
    whole = (2, 16, *nine)
    bad = [
        Bad(f"input must be (N, C, {_AXES[n]})", _conv((2, 16, *nine, 9), w)),
        Bad(f"weight must be (O, C / groups, {_KERNEL[n]})", _conv(whole, (24, 16, *three, 3))),
        Bad("input must have at least 2", _conv((3,), w)),
        Bad("weight must have at least 2", _conv(whole, (3,))),
        Bad("input must be a torch.Tensor", _conv(None, w)),
        Bad("weight must be a torch.Tensor", _conv(whole, None)),
        Bad("bias must have shape", Probe({"input": whole, "weight": w, "bias": (23,)})),
        Bad("groups must be positive", _conv(whole, w, groups=0)),
        Bad("groups must be positive", _conv(whole, (24, 16, *three), groups=-1)),
        Bad("input must have channels", _conv((2, 0, *nine), (24, 0, *three))),
        Bad("weight must have output channels", _conv((2, 16, *nine), (0, 16, *three))),
        Bad("weight must have C / groups input channels", _conv(whole, (24, 15, *three))),
        Bad("weight must have C / groups input channels", _conv(whole, w, groups=2)),
        Bad("output channels of weight must be a multiple", _conv(whole, (23, 8, *three), groups=2)),
        *(Bad(f"{_EMPTY[n]} must not be empty", _conv((2, 16, *across(0, i, 9)), w, padding=2))
          for i in range(n)),
        *(Bad("the kernel must not be empty", _conv(whole, (24, 16, *across(0, i, 3)))) for i in range(n)),
        Bad(f"stride must be {_COUNT[n]}", _conv(whole, w, stride=0)),
        Bad(f"stride must be {_COUNT[n]}", _conv(whole, w, stride=across(-1, n - 1, 1))),
        Bad(f"dilation must be {_COUNT[n]}", _conv(whole, w, dilation=0)),
        Bad(f"padding must be 'same', 'valid', or {_NUMBER[n]}", _conv(whole, w, padding=-1)),
        Bad("padding='same' needs stride 1", _conv(whole, w, padding="same", stride=across(2, n - 1, 1))),
        *(Bad("the kernel is larger", _conv((2, 16, *across(2, i, 9)), w)) for i in range(n)),
    ]  # fmt: skip
    return Expected(good, bad, {"input": FLOATS})


EXPECTED: dict[str, Expected] = {f"Conv{n}dFwdOp": _convolution(n) for n in (1, 2, 3)}
