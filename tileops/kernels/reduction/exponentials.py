"""The pieces of softmax: reading scores as float32, running maxima and sums of exponentials of lanes."""

import tilelang.language as T

from tileops.kernels.reduction.operators import LOG2E
from tileops.kernels.rows import F32


@T.macro
def online_step(e, high, best, low, top, total, batch, lanes, width):
    """Take scores `e` (batch, lanes, width) into the running maximum and sum that each lane has of its own.

    A lane is what one thread reads, so nothing is exchanged. A lane that saw only -inf subtracts 0 instead.
    """
    T.reduce_max(e, high, dim=2)
    T.reduce_max(high, best, dim=0)
    for t in T.Parallel(lanes):
        best[t] = T.max(best[t], top[t])
        low[t] = T.if_then_else(best[t] == -T.infinity(F32), 0.0, best[t])
        total[t] = total[t] * T.exp2((top[t] - low[t]) * LOG2E)
        top[t] = best[t]
    for u, t, j in T.Parallel(batch, lanes, width):
        e[u, t, j] = T.exp2((e[u, t, j] - low[t]) * LOG2E)
    T.reduce_sum(e, high, dim=2)
    T.reduce_sum(high, best, dim=0)
    for t in T.Parallel(lanes):
        total[t] = total[t] + best[t]


@T.macro
def merge_lanes(top, total, peak, norm, lanes):
    """The maximum and the sum of a whole row from those of its lanes, in a fixed order."""
    T.reduce_max(top, peak, dim=0)
    for t in T.Parallel(lanes):
        total[t] = total[t] * T.exp2(
            (top[t] - T.if_then_else(peak[0] == -T.infinity(F32), 0.0, peak[0])) * LOG2E
        )
    T.reduce_sum(total, norm, dim=0)


@T.macro
def widen(x, e, n, first, rows, width):
    """``e = x`` in float32, with -inf beyond the row's end."""
    for i, j in T.Parallel(rows, width):
        e[i, j] = T.if_then_else(first + j < n, T.cast(x[i, j], F32), -T.infinity(F32))


@T.macro
def read_piece(X, x, e, row, first, n, batch, lanes, width):
    """One piece of a row, `width` neighbours a lane: as it is, and in float32 with -inf past the end."""
    for u, t, j in T.Parallel(batch, lanes, width):
        x[u, t, j] = X[row, first + (u * lanes + t) * width + j]
    for u, t, j in T.Parallel(batch, lanes, width):
        e[u, t, j] = T.if_then_else(
            first + (u * lanes + t) * width + j < n, T.cast(x[u, t, j], F32), -T.infinity(F32)
        )
