"""Probes of softmax and of the reductions."""

from __future__ import annotations

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


def _sum(x: Shape, dim: Any = None, keepdim: bool = False) -> Probe:
    return Probe({"input": x}, {"dim": dim, "keepdim": keepdim})


SUM = Expected(
    good=[
        Good(_sum((2, 3, 4)), ((),), flops=24, bytes=2 * 25),
        Good(_sum((2, 3, 4), keepdim=True), ((1, 1, 1),)),
        Good(_sum((2, 3, 4), (0, -1), True), ((1, 3, 1),), flops=24, bytes=2 * 27),
        Good(_sum((2, 3, 4), (0, -1)), ((3,),)),
        Good(_sum((2, 3, 4), 1), ((2, 4),)),
        Good(_sum((2, 3), ()), ((),)),
        Good(_sum((0, 3), 0), ((3,),)),
        Good(_sum((), -1), ((),)),
    ],
    bad=[
        Bad("dim must name axes of input, each once", _sum((2, 3), 2)),
        Bad("dim must name axes of input, each once", _sum((2, 3), -3)),
        Bad("dim must name axes of input, each once", _sum((2, 3), (0, -2))),
        Bad("input must be a torch.Tensor", _sum(None)),
    ],
    dtypes={"input": FLOATS},
)

EXPECTED: dict[str, Expected] = {
    "SumFwdOp": SUM,
    "SoftmaxFwdOp": SOFTMAX,
}
