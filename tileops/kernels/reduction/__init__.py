"""Reductions: `operators` says what each computes, `program` how memory is walked; and softmax."""

from tileops.kernels.reduction.program import reduce_columns, reduce_rows
from tileops.kernels.reduction.softmax import softmax, softmax_columns, softmax_long, softmax_split

__all__ = ["reduce_columns", "reduce_rows", "softmax", "softmax_columns", "softmax_long", "softmax_split"]
