"""Outputs one by one on CUDA cores: float32, and groups that are too narrow for a tile.

Bound: bytes of input and output where a group is one channel, else float32 operations.
"""

from typing import Any

import tilelang.language as T

from tileops.kernels.convolution.sizes import F32, I32, I64, Form


def direct_grid(form: Form, tile: tuple[int, int]) -> Any:
    """Tiles of positions, of channels."""
    if form.last:
        channels = tile[1] * form.lanes
        return lambda s: (T.ceildiv(s.rows, tile[0]), T.ceildiv(s.outputs * s.groups, channels), 1)
    return lambda s: (
        T.cast(s.batch, I64) * T.truncdiv(s.places + tile[1] - 1, tile[1]),
        T.ceildiv(s.outputs * s.groups, tile[0]),
        1,
    )


def outputs(form: Form, tile: tuple[int, int]) -> Any:
    """An output a thread, or with lanes several channels of a depthwise one, which walks its window."""
    lanes, last, dtype = form.lanes, form.last, form.dtype
    shape = (*tile, lanes)

    def place(s: Any, i: Any, j: Any, bx: Any, by: Any) -> tuple[Any, Any, Any, Any]:
        """Image, position in it and channels, in lanes, of an output; and whether there is one."""
        if last:
            row, channel = T.cast(bx, I64) * tile[0] + i, by * tile[1] + j
            image = T.truncdiv(row, s.places)
            return image, T.cast(row - image * s.places, I32), channel, row < s.rows
        columns = T.truncdiv(s.places + tile[1] - 1, tile[1])
        image = T.truncdiv(T.cast(bx, I64), columns)
        at = (T.cast(bx, I64) - image * columns) * tile[1] + j
        return image, T.cast(at, I32), by * tile[0] + i, at < s.places

    @T.macro
    def visit(X, W, x, acc, s, bx, by, tap, c):
        for i, j, v in T.Parallel(*shape):
            image, at, o, there = place(s, i, j, bx, by)
            z, y, t = s.begin(at)
            fz, fy, fx = s.tap(tap)
            z, y, t = z + fz, y + fy, t + fx
            channel = o if lanes > 1 else T.truncdiv(o, s.outputs) * s.width + c
            inside = t >= 0 and t < s.size[2] and there and o < T.truncdiv(s.outputs * s.groups, lanes)
            around = y >= 0 and y < s.size[1] and z >= 0 and z < s.size[0]
            where = (
                (image * s.pixels + s.flat((z, y, t))) * T.truncdiv(s.channels, lanes) + channel
                if last
                else (image * s.channels + channel) * s.pixels + s.flat((z, y, t))
            )
            x[i, j, v] = T.if_then_else(inside and around, X[where, v], T.cast(0, dtype))
        for i, j, v in T.Parallel(*shape):
            _, _, o, _ = place(s, i, j, bx, by)
            o = T.cast(T.min(o * lanes + v, s.outputs * s.groups - 1), I64)
            k = (o * s.taps + tap) * s.width + c if form.weight_last else (o * s.width + c) * s.taps + tap
            acc[i, j, v] += T.cast(x[i, j, v], F32) * T.cast(W[k, 0], F32)

    @T.macro
    def body(X, W, B, Y, s, bx, by, bz):
        x, acc = T.alloc_fragment(shape, dtype), T.alloc_fragment(shape, F32)
        T.clear(acc)
        for tap, c in T.grid(s.taps, s.width):
            visit(X, W, x, acc, s, bx, by, tap, c)
        for i, j, v in T.Parallel(*shape):
            image, at, o, there = place(s, i, j, bx, by)
            if form.bias:
                acc[i, j, v] += T.cast(B[T.min(o * lanes + v, s.outputs * s.groups - 1)], F32)
            every = T.truncdiv(s.outputs * s.groups, lanes)
            where = (image * s.places + at) * every + o if last else (image * every + o) * s.places + at
            if there and o < every:
                Y[where, v] = T.cast(acc[i, j, v], dtype)

    return body
