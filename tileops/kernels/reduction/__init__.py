"""Reductions: `operators` says what each computes, `rows` and `columns` how memory is walked; and softmax."""

from tileops.kernels.reduction.columns import reduce_columns, reduce_split_columns
from tileops.kernels.reduction.rows import reduce_rows, reduce_split_rows
from tileops.kernels.reduction.softmax import (
    PIECE,
    THREADS,
    softmax,
    softmax_columns,
    softmax_long,
    softmax_split,
)

__all__ = [
    "PIECE",
    "THREADS",
    "reduce_columns",
    "reduce_rows",
    "reduce_split_columns",
    "reduce_split_rows",
    "softmax",
    "softmax_columns",
    "softmax_long",
    "softmax_split",
]
