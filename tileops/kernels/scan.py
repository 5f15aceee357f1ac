"""Running sums and products. Bound: bytes of both tensors, of which few long rows are read twice.

A thread scans what it reads itself, 16 neighbours of a row or several rows of its columns; what came before
is joined to that. A row is walked with a carry. Where there are few, pieces of it are: a first program leaves
the total of every piece in a workspace, and a piece starts from those before it, joined in a fixed order.
"""

from collections.abc import Callable
from typing import Any

import tilelang.language as T
import torch

from tileops.kernel import Kernel, Key
from tileops.kernels.elements import FLOATS, UNCHECKED, plain, stored, vector_of, wide
from tileops.kernels.rows import split

BLOCK, EACH, GROUP = 128, 16, 16  # threads; neighbours of a thread in a row; lanes whose totals one joins
ACROSS, BATCH = 64, 8  # threads across columns, and rows in flight
BLOCKS, PIECES = 1024, 64  # that a split aims at, and the pieces of a column at most

SCANS: dict[str, tuple[Callable[[Any, Any], Any], int]] = {
    "CumsumFwdOp": (lambda a, b: a + b, 0),
    "CumprodFwdOp": (lambda a, b: a * b, 1),
}
"""An operator is how two runs join, and what joins without a change."""


@T.macro
def scan_lanes(join, load, x, s, run, shape):
    """Scans what each lane holds, `s`, and leaves its total in `run`."""
    rows, lanes, batch, width = shape
    for u in T.unroll(batch):
        for v in T.unroll(width):
            for a, b in T.Parallel(rows, lanes):
                run[a, b] = join(run[a, b], load(x[a, b, u, v]))
                s[a, b, u, v] = run[a, b]


@T.macro
def before(join, empty, run, pre, carry, ours, groups, rows, lanes):
    """`pre`: what comes before each lane of a row, after `carry`; then the carry takes in the row's lanes."""
    size = min(lanes, GROUP)
    total = T.alloc_fragment((rows, lanes), run.dtype)
    T.copy(run, ours)
    for a, b in T.Parallel(rows, lanes):
        pre[a, b] = empty
        total[a, b] = empty
    for g in T.serial(size):
        for a, b in T.Parallel(rows, lanes):
            there = ours[a, b // size * size + g]
            pre[a, b] = join(pre[a, b], T.if_then_else(g < b % size, there, empty))
            total[a, b] = join(total[a, b], there)
    T.copy(total, groups)
    for a, b in T.Parallel(rows, lanes):
        pre[a, b] = join(carry[a, b], pre[a, b])
    for g in T.serial(lanes // size):
        for a, b in T.Parallel(rows, lanes):
            there = groups[a, g * size]
            pre[a, b] = join(pre[a, b], T.if_then_else(g < b // size, there, empty))
            carry[a, b] = join(carry[a, b], there)


def lanes_of_row(shape: tuple[int, ...]) -> Any:
    """The layout of a tile of rows: lane (a, b) is a thread, which holds its neighbours."""
    if len(shape) == 2:
        return T.Fragment(shape, forward_fn=lambda a, b: (a * shape[1] + b, 0))
    return T.Fragment(shape, forward_fn=lambda a, b, u, v: (a * shape[1] + b, u * shape[3] + v))


def lanes_across(shape: tuple[int, ...]) -> Any:
    """The layout of a tile of columns: a lane is a thread, which holds its columns of every row."""
    if len(shape) == 2:
        return T.Fragment(shape, forward_fn=lambda b, j: (b, j))
    return T.Fragment(shape, forward_fn=lambda u, b, j: (b, u * shape[2] + j))


def operands(key: Key) -> tuple[str, str, str, Callable[[Any, Any], Any], Any, Callable[[Any], Any]]:
    """Dtypes of elements, results and the scan; how runs join, what changes nothing, an element's value."""
    dtype = key.dtype("input")
    acc = "float32" if dtype in FLOATS else "int64"
    join, empty = SCANS[key.op]
    out = dtype if dtype in FLOATS else acc
    return stored(dtype), out, acc, join, T.cast(empty, acc), lambda x: T.cast(x, acc)


def scan_rows(key: Key) -> Kernel:
    """Scans rows: 128 threads of 16 neighbours each, for one row or for 16 short ones."""
    dtype, out, acc, join, empty, load = operands(key)
    width = vector_of(dtype, key.aligned)
    lanes = 8 if key.short else BLOCK
    rows, batch, tile = BLOCK // lanes, EACH // width, lanes * EACH
    shape = (rows, lanes, batch, width)
    m, pieces = T.dynamic("m", "int64"), T.dynamic("pieces")
    n = T.dynamic("n16", "int64") * 16 if key.aligned else T.dynamic("n", "int64")

    def program(totals: bool) -> Any:
        @T.prim_func
        def main(
            X: T.Tensor((m, n), dtype),
            P: T.Tensor((m, pieces), acc),
            Y: False if totals else T.Tensor((m, n), out),
            tiles: T.int64,
        ):
            with T.Kernel(T.ceildiv(m, rows), pieces, threads=BLOCK) as (bx, part):
                x, s, y = (T.alloc_fragment(shape, t) for t in (dtype, acc, out))
                run, pre, carry = (T.alloc_fragment((rows, lanes), acc) for _ in range(3))
                ours, groups = T.alloc_shared((rows, lanes), acc), T.alloc_shared((rows, lanes), acc)
                T.annotate_layout({t: lanes_of_row(t.shape) for t in (x, s, y, run, pre, carry)})
                for a, b in T.Parallel(rows, lanes):
                    run[a, b] = empty
                    carry[a, b] = empty
                if not totals:
                    for i in T.serial(T.ceildiv(part, lanes)):
                        for a, b in T.Parallel(rows, lanes):
                            there = (i * lanes + b < part) & (bx * rows + a < m)
                            kept = T.if_then_else(there, P[bx * rows + a, i * lanes + b], empty)
                            run[a, b] = join(run[a, b], kept)
                    if part > 0:
                        before(join, empty, run, pre, carry, ours, groups, rows, lanes)
                for i in T.serial(T.min(tiles, T.ceildiv(n - part * tiles * tile, tile))):
                    for a, b, u, v in T.Parallel(*shape):
                        at = (part * tiles + i) * tile + (b * batch + u) * width
                        there = (at < n) & (bx * rows + a < m)
                        x[a, b, u, v] = T.if_then_else(there, X[bx * rows + a, at + v], T.cast(0, dtype))
                    if totals:
                        for u in T.unroll(batch):
                            for v in T.unroll(width):
                                for a, b in T.Parallel(rows, lanes):
                                    at = (part * tiles + i) * tile + (b * batch + u) * width
                                    value = T.if_then_else(at < n, load(x[a, b, u, v]), empty)
                                    run[a, b] = join(run[a, b], value)
                    else:
                        for a, b in T.Parallel(rows, lanes):
                            run[a, b] = empty
                        scan_lanes(join, load, x, s, run, shape)
                        before(join, empty, run, pre, carry, ours, groups, rows, lanes)
                        for a, b, u, v in T.Parallel(*shape):
                            y[a, b, u, v] = T.cast(join(pre[a, b], s[a, b, u, v]), out)
                        for a, b, u, v in T.Parallel(*shape):
                            at = (part * tiles + i) * tile + (b * batch + u) * width
                            if (at < n) & (bx * rows + a < m):
                                Y[bx * rows + a, at + v] = y[a, b, u, v]
                if totals:
                    before(join, empty, run, pre, carry, ours, groups, rows, lanes)
                    for a, b in T.Parallel(rows, lanes):
                        if (b == 0) & (bx * rows + a < m):
                            P[bx * rows + a, part] = carry[a, b]

        return main

    def launch(run, x, y, fold):
        n = fold[1]
        x = plain(x).view(-1, n)
        m = x.shape[0]
        pieces, tiles = split(-(-n // tile), 1 if key.short else BLOCKS // -(-m // rows))
        p = torch.empty((m, pieces), dtype=getattr(torch, acc), device=x.device)
        if pieces > 1:
            run[0](x, p, tiles)
        run[1](x, p, y.view(m, n), tiles)

    return _kernel(key, program, launch, batch)


def scan_columns(key: Key) -> Kernel:
    """Scans columns: a thread walks 16 bytes of neighbouring ones, eight rows at a time."""
    dtype, out, acc, join, empty, load = operands(key)
    width = vector_of(dtype, key.aligned)
    shape, lanes, cols = (BATCH, ACROSS, width), (ACROSS, width), ACROSS * width
    outer, n, pieces = T.dynamic("outer", "int64"), T.dynamic("n"), T.dynamic("pieces")
    inner = T.dynamic("inner16", "int64") * 16 if key.aligned else T.dynamic("inner", "int64")

    def program(totals: bool) -> Any:
        @T.prim_func
        def main(
            X: T.Tensor((outer, n, inner), dtype),
            P: T.Tensor((outer, pieces, inner), acc),
            Y: False if totals else T.Tensor((outer, n, inner), out),
            tiles: T.int32,
            blocks: T.int32,
        ):
            with T.Kernel(T.cast(outer, "int32") * blocks, pieces, threads=ACROSS) as (bx, part):
                x, y = T.alloc_fragment(shape, dtype), T.alloc_fragment(shape, out)
                run = T.alloc_fragment(lanes, acc)
                T.annotate_layout({t: lanes_across(t.shape) for t in (x, y, run)})
                o, c = T.truncdiv(bx, blocks), T.cast(T.truncmod(bx, blocks), "int64") * cols
                for b, j in T.Parallel(*lanes):
                    run[b, j] = empty
                if not totals:
                    for s in T.serial(part):
                        for b, j in T.Parallel(*lanes):
                            there = c + b * width < inner
                            kept = T.if_then_else(there, P[o, s, c + b * width + j], empty)
                            run[b, j] = join(run[b, j], kept)
                for i in T.serial(tiles):
                    for u, b, j in T.Parallel(*shape):
                        row = (part * tiles + i) * BATCH + u
                        there = (row < n) & (c + b * width < inner)
                        x[u, b, j] = T.if_then_else(there, X[o, row, c + b * width + j], T.cast(0, dtype))
                    for u in T.unroll(BATCH):
                        for b, j in T.Parallel(*lanes):
                            if totals:
                                row = (part * tiles + i) * BATCH + u
                                value = T.if_then_else(row < n, load(x[u, b, j]), empty)
                                run[b, j] = join(run[b, j], value)
                            else:
                                run[b, j] = join(run[b, j], load(x[u, b, j]))
                                y[u, b, j] = T.cast(run[b, j], out)
                    if not totals:
                        for u, b, j in T.Parallel(*shape):
                            row = (part * tiles + i) * BATCH + u
                            if (row < n) & (c + b * width < inner):
                                Y[o, row, c + b * width + j] = y[u, b, j]
                if totals:
                    for b, j in T.Parallel(*lanes):
                        if c + b * width < inner:
                            P[o, part, c + b * width + j] = run[b, j]

        return main

    def launch(run, x, y, fold):
        outer, n, inner = fold
        x, blocks = plain(x).view(fold), -(-inner // cols)
        pieces, tiles = split(-(-n // BATCH), min(PIECES, BLOCKS // (outer * blocks)))
        p = torch.empty((outer, pieces, inner), dtype=getattr(torch, acc), device=x.device)
        if pieces > 1:
            run[0](x, p, tiles, blocks)
        run[1](x, p, y.view(fold), tiles, blocks)

    return _kernel(key, program, launch, BATCH)


def _kernel(key: Key, program: Callable[[bool], Any], launch: Callable[..., None], batch: int) -> Kernel:
    """Programs of the totals of pieces and of the scan: they claim wide accesses, or so many unrolled."""
    claims = wide(key.dtype("input"), key.aligned) or (f"u < {batch};",)
    return Kernel(program(True), program(False), launch=launch, claims=claims, pass_configs=UNCHECKED)
