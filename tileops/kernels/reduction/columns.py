"""Reduction of columns: the reduced elements lie `inner` apart. Bound: bytes of the input."""

import tilelang.language as T

from tileops.kernel import Kernel, Key
from tileops.kernels.reduction.calls import claims, launcher, reduction, split, stored, workspace
from tileops.kernels.reduction.lanes import (
    BATCH,
    at,
    begin,
    finish_pieces,
    fragments,
    inside,
    join_columns,
    keep,
    lanes_of,
    layouts,
    seal,
    store,
    take,
    vector_of,
    zero,
)


@T.macro
def take_columns(op, X, states, o, c, first, limit, inner, batch, shape):
    """Takes neighbouring columns, rows `first` up to `limit`, into the states of their lanes."""
    groups, _, width = shape
    x, mine, step = T.alloc_fragment((batch, *shape), X.dtype), lanes_of(op, states, shape), (groups, 1, 0, 0)
    T.annotate_layout(layouts(x, states, mine))
    begin(op, mine, shape)
    for i in T.serial(T.ceildiv(limit - first, batch * groups)):
        row = first + i * (batch * groups)
        for u, a, b, j in T.Parallel(batch, *shape):
            there = inside(row, step, limit, u, a, b) & (c + b * width < inner)
            x[u, a, b, j] = T.if_then_else(there, X[o, row + u * groups + a, c + b * width + j], zero(X))
        take(op, mine, x, row, i * batch, step, limit, batch, shape)
    seal(op, mine, states, first, step, limit, shape)


def column_shape(dtype: str, aligned: bool, tall: bool = True) -> tuple[int, tuple[int, int, int]]:
    """Accesses in flight, and (groups, across, width) of a block: `groups` rows of `across` accesses."""
    if aligned:
        return BATCH, (32 if tall else 4, 8 if tall else 32, vector_of(dtype, True))
    return 4 * BATCH, (16 if tall else 4, 16 if tall else 32, 1)


def reduce_columns(key: Key) -> Kernel:
    """Reduces columns: a block owns neighbouring ones, a thread 16 bytes of them in every `groups`-th row."""
    op, dtype = reduction(key), stored(key.dtypes[0][1])
    batch, shape = column_shape(dtype, key.aligned, key.tall)
    across, out = shape[1] * shape[2], stored(op.out)
    outer, n = T.dynamic("outer", "int64"), T.dynamic("n")
    inner = T.dynamic("inner16", "int64") * 16 if key.aligned else T.dynamic("inner", "int64")

    @T.prim_func
    def main(
        X: T.Tensor((outer, n, inner), dtype),
        Y: T.Tensor((outer, inner), out),
        Z: T.Tensor((outer, inner), out),
        blocks: T.int32,
        divisor: T.float32,
    ):
        with T.Kernel(T.cast(outer, "int32") * blocks, threads=shape[0] * shape[1]) as bx:
            states, result = fragments(op, shape), fragments(op, (1, shape[1], shape[2]))
            o, c = T.truncdiv(bx, blocks), T.cast(T.truncmod(bx, blocks), "int64") * across
            take_columns(op, X, states, o, c, 0, n, inner, batch, shape)
            join_columns(op, states, result, shape)
            for a, b, j in T.Parallel(1, shape[1], shape[2]):
                if c + b * shape[2] + j < inner:
                    store(op, at(result, a, b, j), divisor, Y, Z, (o, c + b * shape[2] + j))

    def launch(run, x, y, z, fold, divisor):
        blocks = -(-fold[2] // across)
        run(x.view(fold), y.view(fold[0], fold[2]), z.view(fold[0], fold[2]), blocks, divisor)

    return Kernel(
        main, launch=launcher(op, launch), claims=claims(dtype, key.aligned), pass_configs=op.configs
    )


def reduce_split_columns(key: Key) -> Kernel:
    """Reduces few columns that are long, over many blocks, or columns whose results are reduced once more.

    The first kernel leaves the state of every piece in a workspace; the second joins them in a fixed order.
    """
    op, dtype = reduction(key), stored(key.dtypes[0][1])
    batch, shape = column_shape(dtype, key.aligned)
    across, out = shape[1] * shape[2], stored(op.out)
    slabs, n, pieces = T.dynamic("slabs", "int64"), T.dynamic("n"), T.dynamic("pieces")
    inner = T.dynamic("inner16", "int64") * 16 if key.aligned else T.dynamic("inner", "int64")
    outer, count, width = T.dynamic("outer", "int64"), T.dynamic("count"), T.dynamic("width", "int64")

    @T.prim_func
    def main(
        X: T.Tensor((slabs, n, inner), dtype),
        P: T.Tensor((op.parts, slabs, pieces, inner), op.acc),
        Q: T.Tensor((op.parts, outer, count, width), op.acc),
        Y: T.Tensor((outer, width), out),
        Z: T.Tensor((outer, width), out),
        tiles: T.int32,
        blocks: T.int32,
        last: T.int32,
        divisor: T.float32,
    ):
        with T.Kernel(T.cast(slabs, "int32") * blocks, pieces, threads=shape[0] * shape[1]) as (bx, part):
            states, result = fragments(op, shape), fragments(op, (1, shape[1], shape[2]))
            o, c = T.truncdiv(bx, blocks), T.cast(T.truncmod(bx, blocks), "int64") * across
            first, rows = part * tiles * (batch * shape[0]), tiles * (batch * shape[0])
            take_columns(op, X, states, o, c, first, T.min(n, first + rows), inner, batch, shape)
            join_columns(op, states, result, shape)
            for a, b, j in T.Parallel(1, shape[1], shape[2]):
                if c + b * shape[2] + j < inner:
                    keep(op, P, at(result, a, b, j), (o, part, c + b * shape[2] + j))
        finish_pieces(op, Q, Y, Z, divisor, outer, count, width, last, 32)

    def launch(run, x, y, z, fold, divisor):
        n, inner = fold[-2:]
        slabs = x.numel() // (n * inner)
        again = (fold[0], fold[1], fold[2] * inner) if len(fold) == 5 else None
        tiles, blocks = -(-n // (batch * shape[0])), -(-inner // across)
        pieces, tiles = (1, tiles) if again else split(tiles, slabs * blocks)
        outer, count, width = again or (slabs, pieces, inner)
        p = workspace(op, x, slabs * pieces * inner)
        q, p = p.view(op.parts, outer, count, width), p.view(op.parts, slabs, pieces, inner)
        y, z, last = y.view(outer, width), z.view(outer, width), -(-width // 32)
        run(x.view(slabs, n, inner), p, q, y, z, tiles, blocks, last, divisor)

    return Kernel(
        main, launch=launcher(op, launch), claims=claims(dtype, key.aligned), pass_configs=op.configs
    )
