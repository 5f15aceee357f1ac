"""Pooling: averages and maxima of windows, over one to three axes. Bound: the bytes of input and outputs.

One program serves all; an axis that an operator does not have has size 1. A thread owns outputs and walks
their windows in order, so neighbours read what the L1 cache holds. What differs is how outputs are laid over
a block: images, rows and columns, or columns and channels where these are innermost in memory.
"""

from typing import Any

import tilelang.language as T

from tileops.kernel import Kernel, Key
from tileops.kernels.elements import UNCHECKED, vector_of, wide

F32, I64, I32 = "float32", "int64", "int32"
THREADS = 256
CONSTANT = {"float16": "half_t", "bfloat16": "bfloat16_t", "float32": "float"}


def pool(key: Key) -> Kernel:
    """Contiguous tensors: a thread has one output, a block rows and columns of one image or of several."""
    height, width = key.tile
    cols = min(width, THREADS)
    rows = min(height, THREADS // cols)
    return _pool(key, (THREADS // cols // rows, rows, cols), 0, 1)


def pool_channels_last(key: Key) -> Kernel:
    """Channels innermost: a thread has several of them where their number allows it, a block also columns."""
    cols = min(key.channels & -key.channels, THREADS)
    lanes = min(vector_of(key.dtype("input")), cols)
    rows = min(key.tile[1], THREADS * lanes // cols)
    return _pool(key, (1, rows, cols), key.channels, lanes)


def _pool(key: Key, tile: tuple[int, int, int], channels: int, lanes: int) -> Kernel:
    """The program for a tile of outputs, `lanes` a thread; without `channels` innermost they count as images.

    Longer than 80 lines because its macros share the sizes of one program.
    """
    dtype, average, indices = key.dtype("input"), "Avg" in key.op, "Indices" in key.op
    adaptive, deep = "Adaptive" in key.op, "3d" in key.op
    n = T.dynamic("n", I64)
    d, h, w, od, oh, ow = (T.dynamic(name) for name in ("d", "h", "w", "od", "oh", "ow"))
    last = [channels] if channels else []
    images, rows, cols = tile
    grid = (n * od * oh, ow, channels) if channels else (n * od, oh, ow)

    def place(g: Any, i: Any, j: Any, bx: Any, by: Any, bz: Any) -> tuple[Any, ...]:
        """Batch, output coordinates and channel of an element of a tile."""
        image, row, col = T.cast(bx, I32) * images + g, by * rows + i, bz * cols + j
        if channels:
            outer = T.truncdiv(image, oh)
            return T.truncdiv(outer, od), T.truncmod(outer, od), T.truncmod(image, oh), row, [col]
        return (
            (T.truncdiv(image, od), T.truncmod(image, od), row, col, []) if deep else (image, 0, row, col, [])
        )

    def whole(o: Any) -> Any:
        """An output coordinate; times a size it may need 64 bits."""
        return T.cast(o, I64) if key.wide else o

    def begin(o: Any, size: Any, out: Any, stride: Any, pad: Any) -> Any:
        """Where the window of output `o` begins."""
        return T.cast(T.truncdiv(whole(o) * size, out), I32) if adaptive else o * stride - pad

    def end(o: Any, size: Any, out: Any, stride: Any, pad: Any, reach: Any) -> Any:
        """Where it ends: one past its last position, in the padding perhaps."""
        if not adaptive:
            return o * stride - pad + reach
        return T.cast(T.truncdiv(whole(o + 1) * size + out - 1, out), I32)

    def valid(first: Any, dilation: Any) -> Any:
        """The first position that is not in the padding before the image."""
        return first + T.truncdiv(T.max(-first, 0) + dilation - 1, dilation) * dilation

    def positions(first: Any, stop: Any, size: Any, pad: Any, padded: Any) -> Any:
        """How many positions a window has, in the padded image or in the image."""
        inside = T.min(stop, size) - T.max(first, 0)
        return T.if_then_else(padded != 0, T.min(stop, size + pad) - first, inside)

    def walk(kz: Any, ky: Any, kx: Any) -> Any:
        """The positions of a window; the loops over a small one are unrolled."""
        return T.grid(*key.window) if key.window else T.grid(kz, ky, kx)

    @T.macro
    def start(best, where, bx, by, bz, sz, sy, sx, pz, py, px, tz, ty, tx):
        for g, i, j in T.Parallel(images, rows, cols):
            _, oz, oy, ox, _ = place(g, i, j, bx, by, bz)
            best[g, i, j] = T.float32(0.0) if average else -T.infinity(F32)
            if indices:
                z, y = valid(begin(oz, d, od, sz, pz), tz), valid(begin(oy, h, oh, sy, py), ty)
                where[g, i, j] = (z * h + y) * w + valid(begin(ox, w, ow, sx, px), tx)

    @T.macro
    def visit(X, held, best, where, bx, by, bz, u, v, t, kz, ky, kx, sz, sy, sx, pz, py, px, tz, ty, tx):
        T.fill(held, T.cast(0.0 if average else -T.infinity(F32), dtype))
        for g, i, j in T.Parallel(images, rows, cols):  # by itself: neighbouring channels are one access
            b, oz, oy, ox, c = place(g, i, j, bx, by, bz)
            z, y = begin(oz, d, od, sz, pz) + u * tz, begin(oy, h, oh, sy, py) + v * ty
            x = begin(ox, w, ow, sx, px) + t * tx
            tall = z >= 0 and z < T.min(end(oz, d, od, sz, pz, (kz - 1) * tz + 1), d)
            high = y >= 0 and y < T.min(end(oy, h, oh, sy, py, (ky - 1) * ty + 1), h)
            wide = x >= 0 and x < T.min(end(ox, w, ow, sx, px, (kx - 1) * tx + 1), w)
            there = bx * images + g < grid[0] and by * rows + i < grid[1] and (channels != 0 or ox < ow)
            if there and tall and high and wide:
                held[g, i, j] = X[(T.cast(b, I64), z, y, x, *c)]
        for g, i, j in T.Parallel(images, rows, cols):
            value = T.cast(held[g, i, j], F32)
            if average:
                best[g, i, j] = best[g, i, j] + value
            elif value > best[g, i, j] or T.isnan(value):
                if indices:  # before `best`: where loops are vectors, each store asks anew
                    _, oz, oy, ox, _ = place(g, i, j, bx, by, bz)
                    z, y = begin(oz, d, od, sz, pz) + u * tz, begin(oy, h, oh, sy, py) + v * ty
                    where[g, i, j] = (z * h + y) * w + begin(ox, w, ow, sx, px) + t * tx
                best[g, i, j] = value

    @T.macro
    def finish(Y, At, best, where, bx, by, bz, kz, ky, kx, sz, sy, sx, pz, py, px, divisor, padded):
        for g, i, j in T.Parallel(images, rows, cols):
            b, oz, oy, ox, c = place(g, i, j, bx, by, bz)
            if bx * images + g < grid[0] and by * rows + i < grid[1] and (channels != 0 or ox < ow):
                at = (T.cast(b, I64), oz, oy, ox, *c)
                if average:
                    z, y = begin(oz, d, od, sz, pz), begin(oy, h, oh, sy, py)
                    x = begin(ox, w, ow, sx, px)
                    count = positions(z, end(oz, d, od, sz, pz, kz), d, pz, padded)
                    count = count * positions(y, end(oy, h, oh, sy, py, ky), h, py, padded)
                    count = count * positions(x, end(ox, w, ow, sx, px, kx), w, px, padded)
                    share = T.if_then_else(divisor != 0.0, divisor, T.cast(count, F32))
                    Y[at] = T.cast(best[g, i, j] / share, dtype)
                else:
                    Y[at] = T.cast(best[g, i, j], dtype)
                if indices:
                    At[at] = T.cast(where[g, i, j], I64)

    @T.prim_func
    def main(
        X: T.Tensor((n, d, h, w, *last), dtype),
        Y: T.Tensor((n, od, oh, ow, *last), dtype),
        At: T.Tensor((n, od, oh, ow, *last), I64 if indices else dtype),
        kz: T.int32, ky: T.int32, kx: T.int32,
        sz: T.int32, sy: T.int32, sx: T.int32,
        pz: T.int32, py: T.int32, px: T.int32,
        tz: T.int32, ty: T.int32, tx: T.int32,
        divisor: T.float32, padded: T.int32,
    ):  # fmt: skip
        with T.Kernel(*map(T.ceildiv, grid, tile), threads=max(images * rows * cols // lanes, 1)) as (
            bx,
            by,
            bz,
        ):
            held, best = T.alloc_fragment(tile, dtype), T.alloc_fragment(tile, F32)
            where = T.alloc_fragment(tile, I32)
            T.annotate_layout({x: neighbours(tile, lanes) for x in (held, best, where)})
            start(best, where, bx, by, bz, sz, sy, sx, pz, py, px, tz, ty, tx)
            for u, v, t in walk(kz, ky, kx):
                visit(
                    X, held, best, where, bx, by, bz, u, v, t, kz, ky, kx, sz, sy, sx, pz, py, px, tz, ty, tx
                )
            finish(Y, At, best, where, bx, by, bz, kz, ky, kx, sz, sy, sx, pz, py, px, divisor, padded)

    def launch(run, x, y, *others):
        kernel, *numbers = others[indices:]
        stride, padding = ((), ()) if adaptive else numbers[:2]
        dilation = () if adaptive or average else numbers[2]
        divisor, padded = numbers[2:] if average and not adaptive else (0, False)
        tensors = [volume(t, channels) for t in (x, y, others[0] if indices else y)]
        where = (*three(kernel, 1), *three(stride, 1), *three(padding, 0), *three(dilation, 1))
        run(*tensors, *where, float(divisor), int(padded))

    reads = [f"*({spelling}*)(X + " for spelling in wide(dtype, lanes == vector_of(dtype))]
    reads = reads or [f"const {CONSTANT[dtype]}* __restrict__ X"]  # by the read-only path
    loops = [f"t < {key.window[2]};"] if key.window and key.window[2] > 1 else []  # which nvcc unrolls
    return Kernel(main, launch=launch, claims=[*reads, *loops], pass_configs=UNCHECKED)


def mean_pooling(key: Key) -> Kernel:
    """Means of chunks of consecutive rows: a block owns a chunk and up to 1024 columns, summed in order."""
    dtype, packed = key.dtype("x"), key.given("offsets")
    lanes = vector_of(dtype)
    cols = min(key.features & -key.features, 1024)
    threads = max(cols // lanes, 1)
    b, s, c, f = T.dynamic("b", I64), T.dynamic("s"), T.dynamic("c"), key.features
    sequences = T.dynamic("sequences")

    @T.macro
    def mean(X, Y, batch, chunk, col, begin, stop):
        total, x = T.alloc_fragment((cols,), F32), T.alloc_fragment((cols,), dtype)
        T.clear(total)
        for row in T.serial(T.max(stop - begin, 0)):
            T.copy(X[batch, begin + row, col * cols], x)
            for j in T.Parallel(cols):
                total[j] = total[j] + T.cast(x[j], F32)
        for j in T.Parallel(cols):
            total[j] = total[j] / T.cast(T.max(stop - begin, 1), F32)
        for j in T.Parallel(cols):
            Y[batch, chunk, col * cols + j] = T.cast(total[j], dtype)

    if packed:

        @T.prim_func
        def main(
            X: T.Tensor((b, s, f), dtype),
            Offsets: T.Tensor((sequences,), I32),
            Indices: T.Tensor((c, 2), I32),
            Y: T.Tensor((b, c, f), dtype),
            size: T.int32,
        ):
            with T.Kernel(c, f // cols, threads=threads) as (chunk, col):
                which = T.max(
                    T.min(Indices[chunk, 0], sequences - 2), 0
                )  # whatever it holds, nothing else is read
                number = T.cast(T.max(Indices[chunk, 1], 0), I64)  # times the size it may need 64 bits
                first = T.cast(T.max(Offsets[which], 0), I64) + number * T.cast(size, I64)
                limit = T.max(T.min(Offsets[T.min(which + 1, sequences - 1)], s), 0)
                begin = T.cast(T.min(first, T.cast(limit, I64)), I32)
                mean(X, Y, 0, chunk, col, begin, begin + T.min(size, limit - begin))

        def launch(run, x, offsets, indices, y, chunk_size):
            run(flat(x), offsets, indices, flat(y), within(x, chunk_size))

    else:

        @T.prim_func
        def main(X: T.Tensor((b, s, f), dtype), Y: T.Tensor((b, c, f), dtype), size: T.int32):
            with T.Kernel(b * c, f // cols, threads=threads) as (block, col):
                batch, chunk = (
                    T.truncdiv(block, T.cast(c, I64)),
                    T.cast(T.truncmod(block, T.cast(c, I64)), I32),
                )
                begin = chunk * size
                mean(X, Y, batch, chunk, col, begin, begin + T.min(size, s - begin))

        def launch(run, x, offsets, indices, y, chunk_size):
            run(flat(x), flat(y), within(x, chunk_size))

    return Kernel(main, launch=launch, claims=wide(dtype, cols >= lanes))


def neighbours(tile: tuple[int, int, int], lanes: int) -> Any:
    """The layout of a tile: a thread has `lanes` neighbours, the next thread those after them."""
    _, rows, cols = tile

    def place(g, i, j):
        at = (g * rows + i) * cols + j
        return at // lanes, at % lanes

    return T.Fragment(tile, forward_fn=place)


def within(x: Any, chunk_size: int) -> int:
    """A chunk that is longer than all rows is as long as they are."""
    return min(chunk_size, max(x.shape[1], 1))


def flat(x: Any) -> Any:
    """The last two axes as one."""
    return x.view(*x.shape[:2], x.shape[2] * x.shape[3])


def three(values: tuple[int, ...], fill: int) -> tuple[int, ...]:
    """Numbers of one to three axes as those of three."""
    return (*(fill,) * (3 - len(values)), *values)


def volume(x: Any, channels: int) -> Any:
    """A tensor as (batch times channels, depth, height, width), or with its channels innermost."""
    if channels:
        x = x.movedim(1, -1)
        return x.view(x.shape[0], *three(tuple(x.shape[1:-1]), 1), channels)
    return x.view(-1, *three(tuple(x.shape[2:]), 1))
