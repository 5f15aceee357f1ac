"""Reduction of rows: the reduced elements are neighbours in memory. Bound: bytes of the input."""

import tilelang.language as T

from tileops.kernel import Kernel, Key
from tileops.kernels.reduction.calls import (
    claims,
    flag,
    gathered,
    launcher,
    split,
    stored,
    walked,
    words,
    workspace,
)
from tileops.kernels.reduction.lanes import (
    BATCH,
    at,
    begin,
    finish_pieces,
    fragments,
    inside,
    join_row,
    keep,
    lanes_of,
    layouts,
    seal,
    store,
    take,
    vector_of,
    zero,
)

BLOCK = 128  # threads


@T.macro
def take_row(op, X, states, row, m, first, limit, shape, span):
    """Takes the elements of rows from `first` up to `limit` into the states of their lanes."""
    lanes, width = shape[1:]
    x, mine = T.alloc_fragment((BATCH, *shape), X.dtype), lanes_of(op, states, shape)
    step = (lanes * width, 0, width, 1)
    T.annotate_layout(layouts(x, states, mine))
    begin(op, mine, shape)
    for i in T.serial(T.ceildiv(limit - first, span)):
        at_tile = first + i * span
        for u, a, b, j in T.Parallel(BATCH, *shape):
            there = inside(at_tile, step, limit, u, a, b) & (row + a < m)
            x[u, a, b, j] = T.if_then_else(there, X[row + a, at_tile + (u * lanes + b) * width + j], zero(X))
        take(op, mine, x, at_tile, i * BATCH, step, limit, BATCH, shape)
    seal(op, mine, states, first, step, limit, shape)


def row_shape(lanes: int, dtype: str, aligned: bool) -> tuple[tuple[int, int, int], int]:
    """(rows, lanes, width) of a block, and the elements of a row that it reads at a time."""
    width = vector_of(dtype, aligned)
    return (BLOCK // lanes, lanes, width), BATCH * lanes * width


def reduce_rows(key: Key) -> Kernel:
    """Reduces rows, each by `lanes` threads of one block, with four 16-byte accesses of a thread in flight.

    Where more than two runs of axes are reduced, the input is copied with those axes last.
    """
    op, dtype, size = walked(key)
    shape, span = row_shape(key.lanes, dtype, key.aligned)
    rows = shape[0]
    m, n = T.dynamic("m", "int64"), T.dynamic("n16") * size if key.aligned else T.dynamic("n")
    out = stored(op.out)

    @T.prim_func
    def main(X: T.Tensor((m, n), dtype), Y: T.Tensor((m,), out), Z: T.Tensor((m,), out), divisor: T.float32):
        with T.Kernel(T.ceildiv(m, rows), threads=BLOCK) as bx:
            states, result = fragments(op, shape), fragments(op, (rows, 1, 1))
            take_row(op, X, states, bx * rows, m, 0, n, shape, span)
            join_row(op, states, result, shape)
            for a, b, j in T.Parallel(rows, 1, 1):
                if bx * rows + a < m:
                    store(op, at(result, a, b, j), divisor, Y, Z, (bx * rows + a,))

    def launch(run, x, y, z, fold, divisor):
        m, x = y.numel(), words(gathered(x, fold), dtype)
        run(x.view(m, x.numel() // m), y.view(m), z.view(m), divisor)

    return Kernel(
        main, launch=launcher(op, launch), claims=claims(dtype, key.aligned), pass_configs=op.configs
    )


def reduce_split_rows(key: Key) -> Kernel:
    """Reduces a few long rows, each spread over many blocks, or rows whose results are reduced once more.

    The first kernel leaves the state of every piece in a workspace; the second joins them in a fixed order.
    """
    op, dtype, size = walked(key)
    shape, span = row_shape(8 if flag(key, "short") else BLOCK, dtype, key.aligned)
    rows, out = shape[0], stored(op.out)
    m, pieces = T.dynamic("m", "int64"), T.dynamic("pieces")
    n = T.dynamic("n16", "int64") * size if key.aligned else T.dynamic("n", "int64")
    outer, count, width = T.dynamic("outer", "int64"), T.dynamic("count"), T.dynamic("width", "int64")

    @T.prim_func
    def main(
        X: T.Tensor((m, n), dtype),
        P: T.Tensor((op.parts, m, pieces), op.acc),
        Q: T.Tensor((op.parts, outer, count, width), op.acc),
        Y: T.Tensor((outer, width), out),
        Z: T.Tensor((outer, width), out),
        tiles: T.int64,
        last: T.int32,
        divisor: T.float32,
    ):
        with T.Kernel(T.ceildiv(m, rows), pieces, threads=BLOCK) as (bx, part):
            states, result = fragments(op, shape), fragments(op, (rows, 1, 1))
            first = part * tiles * span
            take_row(op, X, states, bx * rows, m, first, T.min(n, first + tiles * span), shape, span)
            join_row(op, states, result, shape)
            for a, b, j in T.Parallel(rows, 1, 1):
                if bx * rows + a < m:
                    keep(op, P, at(result, a, b, j), (bx * rows + a, part))
        finish_pieces(op, Q, Y, Z, divisor, outer, count, width, last, 32 if flag(key, "again") else 1)

    def launch(run, x, y, z, fold, divisor):
        m, x = x.numel() // fold[-2], words(x, dtype)
        n = x.numel() // m
        again = (fold[0], fold[1], fold[2]) if len(fold) == 5 else None
        tiles = -(-n // span)
        pieces, tiles = (1, tiles) if again else split(tiles, m)
        outer, count, width = again or (m, pieces, 1)
        p = workspace(op, x, m * pieces)
        q, p = p.view(op.parts, outer, count, width), p.view(op.parts, m, pieces)
        run(x.view(m, n), p, q, y.view(outer, width), z.view(outer, width), tiles, -(-width // 32), divisor)

    return Kernel(
        main, launch=launcher(op, launch), claims=claims(dtype, key.aligned), pass_configs=op.configs
    )
