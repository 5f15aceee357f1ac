"""Values of the softmax programs on the CPU against the oracle, at the sizes where tiles end."""

import math

import pytest
import torch

from tests.kernels.building import build, close, poisoned, randn
from tileops.kernels import reduction as kernels
from tileops.kernels.reduction.softmax import PIECE, THREADS
from tileops.reference import reduction as oracles


def special(x: torch.Tensor) -> torch.Tensor:
    """The first rows get what spreads: a NaN, an infinity, nothing but -inf, and -inf beside values."""
    for i, (where, value) in enumerate(
        [(0, math.nan), (-1, math.inf), (slice(None), -math.inf), (slice(1, None), -math.inf), (0, -math.inf)]
    ):
        x[i, where] = value
    return x


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    ("block", "aligned", "lengths"),
    [(1, False, (1,)), (128, False, (127, 65)), (128, True, (128, 72)), (4096, False, (2049, 4095))],
)
def test_softmax_of_short_rows(dtype, block, aligned, lengths):
    run = build(kernels.softmax, ("input",), dtype, block=block, aligned=aligned)
    for n in lengths:
        for m in (5, 33):
            x, y = special(randn(m, n, dtype=dtype) * 4), poisoned(m, n, dtype=dtype)
            y.zero_()
            run(x, y, n)
            close(y, oracles.softmax(x, dim=-1))


@pytest.mark.parametrize(("dtype", "aligned"), [("float32", False), ("float16", True)])
@pytest.mark.parametrize("factory", [kernels.softmax_long, kernels.softmax_split])
def test_softmax_of_long_rows(factory, dtype, aligned):
    run = build(factory, ("input",), dtype, aligned=aligned)
    for m, n in [(6, 8192), (5, 8), (5, 4104)] if aligned else [(6, 4097), (5, 12287), (5, 1)]:
        x, y = special(randn(m, n, dtype=dtype) * 4), torch.zeros(m, n, dtype=getattr(torch, dtype))
        x[3, : n // 2 + 1] = -math.inf  # a piece that sees nothing beside pieces that do
        run(x, y, n)
        close(y, oracles.softmax(x, dim=-1))


def test_softmax_merges_more_pieces_than_fit_in_one_step():
    run = build(kernels.softmax_split, ("input",), "float16", aligned=True)
    n = (THREADS + 1) * PIECE + 8
    x, y = randn(1, n, dtype="float16"), poisoned(1, n, dtype="float16")
    x[0, 7], x[0, -1] = 14.0, 15.0  # in the first and in the last piece
    run(x, y, n)
    close(y, oracles.softmax(x, dim=-1), 4000)


@pytest.mark.parametrize(
    ("dtype", "aligned", "cols", "shapes"),
    [
        ("float32", False, 4, [(2, 1, 3), (5, 70, 3)]),
        ("bfloat16", True, 128, [(2, 33, 136), (1, 32, 8), (3, 1, 128)]),
        ("float16", False, 128, [(2, 65, 129)]),
    ],
)
def test_softmax_along_another_axis(dtype, aligned, cols, shapes):
    run = build(kernels.softmax_columns, ("input",), dtype, aligned=aligned, cols=cols)
    for outer, n, inner in shapes:
        x = randn(outer, n, inner, dtype=dtype) * 4
        x[0, 0, 0], x[-1, :, 1], x[0, 1:, 2] = math.nan, -math.inf, -math.inf
        x[-1, -1, 0] = math.inf
        y = torch.zeros(outer, n, inner, dtype=x.dtype)
        run(x, y, n, inner)
        close(y, oracles.softmax(x, dim=1))


def test_oracle_agrees_with_torch():
    for shape, dim in (((2, 3, 4), 1), ((2, 3), -1), ((), 0), ((0, 4), 1), ((3, 0), 1)):
        x = torch.randn(shape, dtype=torch.float64)
        torch.testing.assert_close(oracles.softmax(x, dim=dim), torch.softmax(x, dim))
