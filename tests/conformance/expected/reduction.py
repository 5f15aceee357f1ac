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


INTEGERS = {"int8", "int16", "int32", "int64", "uint8", "bool"}


def _over(x: Shape, dim: Any = None, keepdim: bool = False, dtype: str = "float16") -> Probe:
    return Probe({"input": x}, {"dim": dim, "keepdim": keepdim}, dtype)


_ROWS = {"lanes": 8, "aligned": False}
_BAD_DIMS = [
    Bad("dim must name axes of input, each once", _over((2, 3), 2)),
    Bad("dim must name axes of input, each once", _over((2, 3), -3)),
    Bad("dim must name axes of input, each once", _over((2, 3), (0, -2))),
    Bad("input must be a torch.Tensor", _over(None)),
]


def _walks(probe: Any = _over, out_dtype: str | None = None) -> list[Good]:
    """Which program walks memory for which axes, and what it knows of the sizes."""
    tall, split = {"tall": True, "aligned": True}, {"short": False, "again": False, "aligned": True}

    def good(x: Shape, dim: Any, shape: tuple[int, ...], name: str, static: Any, run: bool = False) -> Good:
        return Good(probe(x, dim), (shape,), name, static, out_dtype=out_dtype, run=run)

    return [
        good((5, 256), -1, (5,), "rows", {"lanes": 8, "aligned": True}),
        good((5, 257), -1, (5,), "rows", {"lanes": 32, "aligned": False}),
        good((5, 2048), -1, (5,), "rows", {"lanes": 32, "aligned": True}),
        good((5, 2049), -1, (5,), "rows", {"lanes": 128, "aligned": False}),
        good((529, 16384), 1, (529,), "rows", {"lanes": 128, "aligned": True}),
        good((528, 16368), 1, (528,), "rows", {"lanes": 128, "aligned": True}),
        good((528, 16384), 1, (528,), "split_rows", split),
        good((4, 1, 8192), (0, 1, 2), (), "split_rows", split),
        good((4, 33, 256), (0, 2), (33,), "split_rows", {"short": True, "again": True, "aligned": True}),
        good((4, 3, 257), (0, 2), (3,), "split_rows", {"short": False, "again": True, "aligned": False}),
        good((511, 32), 0, (32,), "columns", tall),
        good((512, 32), 0, (32,), "split_columns", tall),
        good((512, 65537), 0, (65537,), "columns", {"tall": True, "aligned": False}),
        good((512, 65536), 0, (65536,), "split_columns", tall),
        good((2, 512, 65536), 1, (2, 65536), "columns", tall),
        good((2, 64, 16), 1, (2, 16), "columns", {"tall": False, "aligned": True}),
        good((2, 9, 7), 1, (2, 7), "columns", {"tall": False, "aligned": False}),
        good((2, 9, 1), 1, (2, 1), "rows", _ROWS),
        good((4, 3, 9, 16), (0, 2), (3, 16), "split_columns", {"tall": False, "aligned": True}, True),
        good((16384, 65537), 0, (65537,), "columns", {"tall": True, "aligned": False}),
        good((4, 3, 65, 7), (0, 2), (3, 7), "split_columns", {"tall": True, "aligned": False}),
        good((2, 3, 2, 3, 2, 3), (0, 2, 4), (3, 3, 3), "rows", _ROWS),
        good((2, 3, 2, 3, 4, 3), (1, 3, 5), (2, 2, 4), "rows", _ROWS),
    ]


SUM = Expected(
    good=[
        Good(_over((2, 3, 4), 1), ((2, 4),), "columns"),
        Good(_over((2, 3, 4)), ((),), "rows", _ROWS, flops=24, bytes=2 * 25, run=True),
        Good(_over((2, 3, 4), keepdim=True), ((1, 1, 1),), "rows"),
        Good(_over((2, 3, 4), (0, -1), True), ((1, 3, 1),), "split_rows", flops=24, bytes=2 * 27, run=True),
        Good(_over((2, 3, 4), (0, -1)), ((3,),), "split_rows"),
        Good(_over((2, 3), ()), ((),), "rows"),
        Good(_over((0, 3), 0), ((3,),), "columns"),
        Good(_over((), -1), ((),), "rows"),
        Good(_over((5, 16), 1, dtype="uint8"), ((5,),), "rows", out_dtype="int64"),
        Good(_over((5, 16), 1, dtype="bool"), ((5,),), "rows", out_dtype="int64"),
        *_walks(),
    ],
    bad=_BAD_DIMS,
    dtypes={"input": FLOATS | INTEGERS},
)

EXPECTED: dict[str, Expected] = {
    "SumFwdOp": SUM,
    "SoftmaxFwdOp": SOFTMAX,
}
