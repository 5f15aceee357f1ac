"""Convolution as a matrix product on tensor cores, one operand of which is gathered. Bound: matrix rate.

Rows are output positions, a step of K is a few weights of each, read where they stand, in any layout. What
the next step needs is on its way to registers while this one is multiplied.
"""

from typing import Any, NamedTuple

import tilelang.language as T

from tileops.kernels.convolution.sizes import F32, I32, I64, Form

ROWS = 128  # output positions of a tile
FAR = -(2**30)  # where the window of a row beyond the last one is: in no image


class Rows(NamedTuple):
    """Of each row of a tile: where its window begins in memory and by axis, and where its output goes."""

    base: Any
    target: Any
    z: Any
    y: Any
    x: Any


def matrix_grid(cols: int) -> Any:
    """Tiles of rows, of output channels, groups."""
    return lambda s: (T.ceildiv(s.rows, ROWS), T.ceildiv(s.outputs, cols), s.groups)


@T.macro
def locate(at, s, bx, form):
    """Where the windows of a tile begin."""
    for i in T.Parallel(ROWS):
        row = T.cast(bx, I64) * ROWS + i
        image = T.truncdiv(row, s.places)
        place = T.cast(row - image * s.places, I32)
        z, y, x = s.begin(place)
        if form.last:
            at.base[i] = (image * s.pixels + s.flat((z, y, x))) * T.truncdiv(s.channels, form.wide)
            at.target[i] = row * T.truncdiv(s.outputs * s.groups, form.wide)
        else:
            at.base[i] = image * s.pixels * s.channels + s.flat((z, y, x))
            at.target[i] = image * s.places * (s.outputs * s.groups) + place
        at.z[i] = z
        at.y[i] = y
        at.x[i] = T.if_then_else(row < s.rows, x, FAR)


@T.macro
def gather(X, x, at, s, ko, group, form):
    """What the rows of a tile see in a step of K; outside of the image it is zero."""
    if form.last:
        for i, q, v in T.Parallel(ROWS, form.depth // form.wide, form.wide):
            k = ko * (form.depth // form.wide) + q
            every, width = T.truncdiv(s.channels, form.wide), T.truncdiv(s.width, form.wide)
            tap, channel = form.split(k, s, width)
            z, y, t = s.tap(tap)
            off = s.flat((z, y, t)) * every + group * width + channel
            x[i, q, v] = T.if_then_else(
                k < s.taps * width
                and (at.x[i] + t >= 0 and at.x[i] + t < s.size[2])
                and (form.axes < 2 or (at.y[i] + y >= 0 and at.y[i] + y < s.size[1]))
                and (form.axes < 3 or (at.z[i] + z >= 0 and at.z[i] + z < s.size[0])),
                X[at.base[i] + off, v],
                T.cast(0, form.dtype),
            )
    else:
        for j, i in T.Parallel(form.depth, ROWS):
            k = ko * form.depth + j
            tap, channel = form.split(k, s, s.width)
            z, y, t = s.tap(tap)
            off = (T.cast(group, I64) * s.width + channel) * s.pixels + s.flat((z, y, t))
            x[j, i] = T.if_then_else(
                k < s.taps * s.width
                and (at.x[i] + t >= 0 and at.x[i] + t < s.size[2])
                and (form.axes < 2 or (at.y[i] + y >= 0 and at.y[i] + y < s.size[1]))
                and (form.axes < 3 or (at.z[i] + z >= 0 and at.z[i] + z < s.size[0])),
                X[at.base[i] + off, 0],
                T.cast(0, form.dtype),
            )


@T.macro
def weights(W, w, s, ko, by, group, form, cols, lanes):
    """The weights of a step of K, for the output channels of a tile."""
    for j, q, v in T.Parallel(cols, form.depth // lanes, lanes):
        o, k = by * cols + j, ko * (form.depth // lanes) + q
        depth = T.truncdiv(s.taps * s.width, lanes)
        first = (T.cast(group, I64 if lanes == 1 else I32) * s.outputs + o) * depth  # pieces fit 32 bits
        tap, channel = form.split(k, s, s.width)
        where = first + (k if form.plain_weight else channel * s.taps + tap)
        w[j, q, v] = T.if_then_else(o < s.outputs and k < depth, W[where, v], T.cast(0, form.dtype))


@T.macro
def leave(B, Y, acc, out, target, s, bx, by, group, form, cols):
    """Add the bias, round, and store what is inside of the output, along its innermost axis."""
    first = group * s.outputs
    if form.bias:
        for i, j in T.Parallel(*acc.shape):
            o = by * cols + (j if form.last else i)
            acc[i, j] += T.cast(B[first + T.min(o, s.outputs - 1)], F32)
    T.copy(acc, out)
    if form.last:
        for i, q, v in T.Parallel(ROWS, cols // form.wide, form.wide):
            o = by * (cols // form.wide) + q
            if T.cast(bx, I64) * ROWS + i < s.rows and o < T.truncdiv(s.outputs, form.wide):
                Y[target[i] + T.truncdiv(first, form.wide) + o, v] = out[i, q * form.wide + v]
    else:
        for j, i in T.Parallel(cols, ROWS):
            o = by * cols + j
            if T.cast(bx, I64) * ROWS + i < s.rows and o < s.outputs:
                Y[target[i] + (first + o) * s.places, 0] = out[j, i]


def product(form: Form, cols: int) -> Any:
    """A tile of positions times a tile of output channels of a group.

    Sums are (positions, channels) where channels are innermost, else the other way round, as they are stored.
    """
    wide, lanes = form.wide, (form.lanes if form.plain_weight else 1)
    dtype, last = form.dtype, form.last
    shape = (ROWS, cols) if last else (cols, ROWS)

    @T.macro
    def body(X, W, B, Y, s, bx, by, bz):
        x = T.alloc_shared((ROWS, form.depth) if last else (form.depth, ROWS), dtype)
        w = T.alloc_shared((cols, form.depth), dtype)
        next_x = T.alloc_fragment((ROWS, form.depth // wide, wide) if last else (form.depth, ROWS), dtype)
        next_w = T.alloc_fragment((cols, form.depth // lanes, lanes), dtype)
        acc, out = T.alloc_fragment(shape, F32), T.alloc_shared(shape, dtype)
        base, target = T.alloc_shared((ROWS,), I64), T.alloc_shared((ROWS,), I64)
        zs, ys, xs = T.alloc_shared((ROWS,), I32), T.alloc_shared((ROWS,), I32), T.alloc_shared((ROWS,), I32)
        at = Rows(base, target, zs, ys, xs)
        locate(at, s, bx, form)
        T.clear(acc)
        gather(X, next_x, at, s, 0, bz, form)
        weights(W, next_w, s, 0, by, bz, form, cols, lanes)
        for ko in T.serial(T.ceildiv(s.taps * s.width, form.depth)):
            if last:
                for i, q, v in T.Parallel(ROWS, form.depth // wide, wide):
                    x[i, q * wide + v] = next_x[i, q, v]
            else:
                T.copy(next_x, x)
            for j, q, v in T.Parallel(cols, form.depth // lanes, lanes):
                w[j, q * lanes + v] = next_w[j, q, v]
            gather(X, next_x, at, s, ko + 1, bz, form)
            weights(W, next_w, s, ko + 1, by, bz, form, cols, lanes)
            if last:
                T.gemm(x, w, acc, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
            else:
                T.gemm(w, x, acc, policy=T.GemmWarpPolicy.FullRow)
        leave(B, Y, acc, out, target, s, bx, by, bz, form, cols)

    return body
