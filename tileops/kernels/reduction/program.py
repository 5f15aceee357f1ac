"""The program of all reductions, over rows or columns of memory. Bound: bytes of the input.

An input is seen as (slabs, n, inner) and reduced along n. Where `inner` is 1 the reduced elements are
neighbours, and a block owns several rows; else it owns neighbouring columns of one slab. With `split` a few
long ones are each spread over many blocks: the first kernel leaves the state of every piece in a workspace,
the second joins them in a fixed order. So it is too where results are reduced once more, over an axis further
out.
"""

import math
from typing import Any, NamedTuple

import tilelang.language as T

from tileops.kernel import Kernel, Key
from tileops.kernels.elements import stored, vector_of, wide
from tileops.kernels.reduction import lanes as l
from tileops.kernels.reduction.calls import flag, gathered, launcher, walked, words, workspace
from tileops.kernels.rows import F32, amid, fragment
from tileops.kernels.rows import split as pieces_of

THREADS, BLOCKS = 128, 2048  # of a block that owns rows; that a split aims at


def reduce_rows(key: Key) -> Kernel:
    """Reduces rows, each by `lanes` threads of one block, with four 16-byte accesses of a thread in flight.

    Where more than two runs of axes are reduced, the input is copied with those axes last.
    """
    return _reduce(key, True)


def reduce_columns(key: Key) -> Kernel:
    """Reduces columns: a thread walks 16 bytes of them, in every A-th row."""
    return _reduce(key, False)


class Walk(NamedTuple):
    """How blocks walk over an input: lanes (A, B, width) are of A rows, or of B times `width` columns."""

    rows: bool
    slabs: Any
    n: Any
    inner: Any
    shape: l.Shape
    batch: int  # accesses of a lane that are in flight

    @property
    def step(self) -> tuple[int, ...]:
        """How far apart along n the elements of a tile are: see `lanes`."""
        groups, lanes, width = self.shape
        return (lanes * width, 0, width, 1) if self.rows else (groups, 1, 0, 0)

    @property
    def span(self) -> int:
        """Elements along n of a tile."""
        return self.batch * self.step[0]

    @property
    def across(self) -> int:
        """Columns of a block."""
        return 1 if self.rows else self.shape[1] * self.shape[2]

    @property
    def results(self) -> l.Shape:
        """Results of a block."""
        return (self.shape[0], 1, 1) if self.rows else (1, self.shape[1], self.shape[2])

    def grid(self, blocks: Any) -> Any:
        """How many blocks there are, from those that cover the columns of a slab."""
        return T.ceildiv(self.slabs, self.shape[0]) if self.rows else T.cast(self.slabs, "int32") * blocks

    def origin(self, bx: Any, blocks: Any) -> tuple[Any, Any]:
        """The first slab and column of a block."""
        if self.rows:
            return bx * self.shape[0], 0
        return T.truncdiv(bx, blocks), T.cast(T.truncmod(bx, blocks), "int64") * self.across

    def place(self, o: Any, c: Any, a: Any, b: Any, j: Any) -> tuple[Any, Any]:
        """Slab and column of a lane's element."""
        return (o + a, 0) if self.rows else (o, c + b * self.shape[2] + j)

    def known(self, o: Any, c: Any, a: Any, b: Any) -> Any:
        """Whether there are such."""
        return o + a < self.slabs if self.rows else c + b * self.shape[2] < self.inner


def _rows(key: Key, dtype: str, size: int, split: bool) -> Walk:
    lanes = key.lanes if not split else 8 if flag(key, "short") else THREADS
    index = "int64" if split else "int32"
    n = T.dynamic("n16", index) * size if key.aligned else T.dynamic("n", index)
    shape = (THREADS // lanes, lanes, vector_of(dtype, key.aligned))
    return Walk(True, T.dynamic("m", "int64"), n, 1, shape, l.BATCH)


def _columns(key: Key, dtype: str, split: bool) -> Walk:
    slabs, n, tall = T.dynamic("slabs", "int64"), T.dynamic("n"), split or key.tall
    if key.aligned:
        inner = T.dynamic("inner16", "int64") * 16
        return Walk(False, slabs, n, inner, (32 if tall else 4, 8 if tall else 32, vector_of(dtype)), l.BATCH)
    inner = T.dynamic("inner", "int64")
    return Walk(False, slabs, n, inner, (16 if tall else 4, 16 if tall else 32, 1), 4 * l.BATCH)


@T.macro
def read(X, x, k, o, c, first, limit):
    """A tile of elements from `first` up to `limit` along n; 0 where there are none."""
    for u, a, b, j in T.Parallel(k.batch, *k.shape):
        there = l.inside(first, k.step, limit, u, a, b) & k.known(o, c, a, b)
        slab, column = k.place(o, c, a, b, j)
        place = l.along(first, k.step, u, a, b, j)
        x[u, a, b, j] = T.if_then_else(there, X[slab, place, column], T.cast(0, X.dtype))


@T.macro
def middles(X, out, k, o, c, shape):
    """A value amid those of every result, which means are counted from: see `amid`."""
    for a, b, j in T.Parallel(*shape):
        slab, column = k.place(o, c, a, b, j)
        three = [
            T.if_then_else(k.known(o, c, a, b), T.cast(X[slab, place, column], F32), 0.0)
            for place in (0, k.n // 2, k.n - 1)
        ]
        out[a, b, j] = amid(*three)


@T.macro
def take_all(op, X, x, states, k, o, c, first, limit):
    """Takes the elements from `first` up to `limit` along n into the states of their lanes, by tiles `x`."""
    mine = l.lanes_of(op, states, k.shape)
    middle = fragment(k.shape, F32, op.kind == "moments")
    T.annotate_layout(l.layouts(x, states, mine, [] if middle is None else [middle]))
    l.begin(op, mine, k.shape)
    if middle is not None:
        middles(X, middle, k, o, c, k.shape)
    for i in T.serial(T.ceildiv(limit - first, k.span)):
        at_tile = first + i * k.span
        read(X, x, k, o, c, at_tile, limit)
        l.take(op, mine, x, middle, at_tile, i * k.batch, k.step, limit, k.batch, k.shape)
    l.seal(op, mine, states, first, k.step, limit, k.shape)


def _reduce(key: Key, rows: bool) -> Kernel:
    (op, dtype, size), split = walked(key, rows), key.implementation.startswith("split")
    k = _rows(key, dtype, size, split) if rows else _columns(key, dtype, split)
    number, out = T.int64 if rows else T.int32, stored(op.out)
    pieces = T.dynamic("pieces") if split else 1
    outer, count, width = k.slabs, pieces, k.inner
    if split:
        outer, count, width = T.dynamic("outer", "int64"), T.dynamic("count"), T.dynamic("width", "int64")

    @T.prim_func
    def main(
        X: T.Tensor((k.slabs, k.n, k.inner), dtype),
        P: T.Tensor((op.parts, k.slabs, pieces, k.inner), op.acc) if split else False,
        Q: T.Tensor((op.parts, outer, count, width), op.acc) if split else False,
        Y: T.Tensor((outer, width), out),
        Z: T.Tensor((outer, width), out),
        tiles: number if split else False,
        blocks: False if rows else T.int32,
        last: T.int32 if split else False,
        divisor: T.float32,
    ):
        with T.Kernel(k.grid(blocks), pieces, threads=k.shape[0] * k.shape[1]) as (bx, part):
            x = T.alloc_fragment((k.batch, *k.shape), dtype)
            states, result = l.fragments(op, k.shape), l.fragments(op, k.results)
            o, c = k.origin(bx, blocks)
            if split:
                first = part * tiles * k.span
                take_all(op, X, x, states, k, o, c, first, T.min(k.n, first + tiles * k.span))
            else:
                take_all(op, X, x, states, k, o, c, 0, k.n)
            if rows:
                l.join_row(op, states, result, k.shape)
            else:
                l.join_columns(op, states, result, k.shape)
            if op.kind == "moments":
                middle = T.alloc_fragment(k.results, F32)
                middles(X, middle, k, o, c, k.results)
                for a, b, j in T.Parallel(*k.results):
                    result[1][a, b, j] = result[1][a, b, j] + middle[a, b, j]
            for a, b, j in T.Parallel(*k.results):
                if k.known(o, c, a, b):
                    slab, column = k.place(o, c, a, b, j)
                    if split:
                        l.keep(P, l.at(result, a, b, j), (slab, part, column))
                    else:
                        l.store(op, l.at(result, a, b, j), divisor, Y, Z, (slab, column))
        if split:
            across = 32 if not rows or flag(key, "again") else 1
            l.finish_pieces(op, Q, Y, Z, divisor, outer, count, width, last, across)

    def launch(run, x, y, z, fold, divisor):
        inner = 1 if rows else fold[-1]
        slabs = x.numel() // (inner * (fold[-2] if split else math.prod(fold[1::2])))
        x = words(x if split else gathered(x, fold), dtype).view(slabs, -1, inner)
        blocks = () if rows else (-(-inner // k.across),)
        if not split:
            run(x, y.view(slabs, inner), z.view(slabs, inner), *blocks, divisor)
            return
        again = (fold[0], fold[1], fold[2] * inner) if len(fold) == 5 else None
        tiles = -(-x.shape[1] // k.span)
        pieces, tiles = (1, tiles) if again else pieces_of(tiles, BLOCKS // (slabs * math.prod(blocks)))
        outer, count, width = again or (slabs, pieces, inner)
        p = workspace(op, x, slabs * pieces * inner)
        q, p = p.view(op.parts, outer, count, width), p.view(op.parts, slabs, pieces, inner)
        run(x, p, q, y.view(outer, width), z.view(outer, width), tiles, *blocks, -(-width // 32), divisor)

    return Kernel(main, launch=launcher(op, launch), claims=wide(dtype, key.aligned), pass_configs=op.configs)
