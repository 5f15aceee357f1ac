"""Probes of pooling."""

from __future__ import annotations

from typing import Any

from tests.conformance.expected.probes import FLOATS, Bad, Expected, Good, Probe, Shape


def _pool(shape: Shape, kernel_size: Any = 3, **params: Any) -> Probe:
    return Probe({"input": shape}, {"kernel_size": kernel_size, **params})


_X = (2, 3, 8, 9)

AVG_POOL = Expected(
    good=[
        Good(_pool(_X, stride=2, padding=1), ((2, 3, 4, 5),), flops=120 * 10, bytes=2 * (432 + 120)),
        Good(_pool((1, 2, 7, 7), (2, 3)), ((1, 2, 3, 2),), flops=12 * 7),
        Good(_pool((1, 2, 7, 7), (2, 3), ceil_mode=True), ((1, 2, 4, 3),)),
        Good(_pool(_X, 2, padding=1, divisor_override=-1), ((2, 3, 5, 5),)),
        Good(_pool(_X, (3, 2), stride=(1, 2), padding=(0, 1)), ((2, 3, 6, 5),)),
        Good(_pool((0, 3, 3, 3)), ((0, 3, 1, 1),)),
    ],
    bad=[
        Bad("input must be (N, C, H, W)", _pool((2, 3, 8))),
        Bad("input must be (N, C, H, W)", _pool((2, 3, 8, 9, 10))),
        Bad("input must have at least 2", _pool((3,))),
        Bad("input must be a torch.Tensor", _pool(None)),
        Bad("height and width must not be empty", _pool((2, 3, 0, 9))),
        Bad("kernel_size must be one or two positive", _pool(_X, 0)),
        Bad("kernel_size must be one or two positive", _pool(_X, (3, -1))),
        Bad("stride must be one or two positive", _pool(_X, stride=0)),
        Bad("padding must be one or two numbers", _pool(_X, padding=-1)),
        Bad("padding must be at most half", _pool(_X, padding=(2, 0))),
        Bad("padding must be at most half", _pool(_X, padding=(0, 2))),
        Bad("divisor_override must not be 0", _pool(_X, divisor_override=0)),
        Bad("the window is larger", _pool((2, 3, 2, 9))),
        Bad("the window is larger", _pool((2, 3, 9, 2))),
    ],
    dtypes={"input": FLOATS},
)

EXPECTED: dict[str, Expected] = {"AvgPool2dFwdOp": AVG_POOL}
