"""The mainloop: tiles of two operands on their way from memory to the tensor cores.

Every product of this family is this loop over K. A schedule says which tiles of the output a block computes
and over which part of K; an epilogue says what becomes of the sums.
"""

from typing import Any, NamedTuple

import tilelang.language as T

F32 = "float32"


class Tile(NamedTuple):
    """The output tile of a block, how many steps of K are loaded ahead, and its threads.

    Attributes:
        depth: The K extent of a step: 128 bytes, one swizzled row of shared memory.
    """

    rows: int
    cols: int
    stages: int
    threads: int
    depth: int = 64


class Operands(NamedTuple):
    """What is multiplied: dtype, whether a is stored (k, m) and b stored (n, k), and leading dimensions."""

    dtype: str
    trans_a: bool = False
    trans_b: bool = True
    lead: tuple[Any, ...] = ()

    def stored(self, m: Any, n: Any, k: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Shapes of a and b in memory."""
        a = (k, m) if self.trans_a else (m, k)
        b = (n, k) if self.trans_b else (k, n)
        return (*self.lead, *a), (*self.lead, *b)

    def on_chip(self, tile: Tile) -> tuple[tuple[int, int], tuple[int, int]]:
        """Shapes of their tiles in shared memory."""
        a = (tile.depth, tile.rows) if self.trans_a else (tile.rows, tile.depth)
        b = (tile.cols, tile.depth) if self.trans_b else (tile.depth, tile.cols)
        return a, b


def part(X: Any, at: tuple[Any, ...], row: Any, rows: int, k: Any, depth: int, transposed: bool) -> Any:
    """The (rows, depth) tile of an operand in memory, or (depth, rows) where it is stored transposed."""
    across, along = slice(row, row + rows), slice(k, k + depth)
    return X[(*at, along, across) if transposed else (*at, across, along)]


@T.macro
def load(X, s, at, row, rows, k, depth, transposed):
    """A tile by TMA; outside of the operand it is zero."""
    T.copy(part(X, at, row, rows, k, depth, transposed), s)


@T.macro
def load_guarded(X, s, at, row, rows, k, depth, transposed):
    """The same element by element, for rows that are not whole 16 bytes, converted to the dtype of ``s``."""
    if transposed:
        for i, j in T.Parallel(depth, rows):
            s[i, j] = T.cast(X[(*at, k + i, row + j)], s.dtype)
    else:
        for i, j in T.Parallel(rows, depth):
            s[i, j] = T.cast(X[(*at, row + i, k + j)], s.dtype)


@T.macro
def multiply(A, B, sa, sb, acc, at, row, col, first, steps, kind, tile):
    """``acc += a[row:, k] @ b[k, col:]`` over ``steps`` tiles of K from tile ``first``."""
    for ko in T.Pipelined(steps, num_stages=tile.stages):
        load(A, sa, at, row, tile.rows, (first + ko) * tile.depth, tile.depth, kind.trans_a)
        load(B, sb, at, col, tile.cols, (first + ko) * tile.depth, tile.depth, not kind.trans_b)
        T.gemm(
            sa,
            sb,
            acc,
            transpose_A=kind.trans_a,
            transpose_B=kind.trans_b,
            policy=T.GemmWarpPolicy.FullRow,
        )


@T.macro
def multiply_guarded(A, B, sa, sb, acc, at, row, col, steps, kind, tile):
    """The same with guarded loads."""
    for ko in T.Pipelined(steps, num_stages=tile.stages):
        load_guarded(A, sa, at, row, tile.rows, ko * tile.depth, tile.depth, kind.trans_a)
        load_guarded(B, sb, at, col, tile.cols, ko * tile.depth, tile.depth, not kind.trans_b)
        T.gemm(sa, sb, acc, transpose_A=kind.trans_a, transpose_B=kind.trans_b)
