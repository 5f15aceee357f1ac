"""The program around a tile of outputs: its tensors, its sizes and its launch."""

from typing import Any

import tilelang.language as T

from tileops.kernel import Kernel, Key
from tileops.kernels.convolution.outputs import direct_grid, outputs
from tileops.kernels.convolution.product import matrix_grid, product
from tileops.kernels.convolution.sizes import I64, Form, Sizes, three
from tileops.kernels.elements import UNCHECKED


def conv(key: Key) -> Kernel:
    """A program for each pair of layouts, on tensor cores where the key has the `width` of a tile."""
    last = key.implementation in ("input_channels_last", "channels_last")
    alike = last and key.kernel == (1, 1, 1)  # one position: both layouts of the weight are the same
    weight_last = alike or key.implementation in ("weight_channels_last", "channels_last")
    given, axes = key.given("bias"), int(key.op[4])
    form = Form(key.dtype("input"), last, weight_last, key.lanes, given, key.kernel, axes)
    if key.width:
        threads = 256 if last else 2 * key.width  # a group of warps for 64 rows of sums
        return _kernel(form, product(form, key.width), matrix_grid(key.width), threads, ("wgmma",))
    tile = ((16, 16) if key.lanes > 1 else (4, 64)) if last else (4, 64)
    return _kernel(form, outputs(form, tile), direct_grid(form, tile), 256, ())


def _kernel(form: Form, body: Any, grid: Any, threads: int, claims: tuple[str, ...]) -> Kernel:
    """The program around a `body`. Tensors are flat, in pieces of the lanes that their layout allows."""
    dtype, lanes = form.dtype, form.lanes
    wide = lanes if form.last else 1
    xs, ws, bs, ys = (T.dynamic(name, I64) for name in ("xs", "ws", "bs", "ys"))
    rows = lanes if form.plain_weight and claims else 1

    @T.prim_func
    def main(
        X: T.Tensor((xs, wide), dtype),
        W: T.Tensor((ws, rows), dtype),
        B: T.Tensor((bs,), dtype),
        Y: T.Tensor((ys, wide), dtype),
        n: T.int32, c: T.int32, cg: T.int32, og: T.int32, groups: T.int32,
        d: T.int32, h: T.int32, w: T.int32, od: T.int32, oh: T.int32, ow: T.int32,
        kz: T.int32, ky: T.int32, kx: T.int32, sz: T.int32, sy: T.int32, sx: T.int32,
        pz: T.int32, py: T.int32, px: T.int32, tz: T.int32, ty: T.int32, tx: T.int32,
    ):  # fmt: skip
        s = Sizes(
            *(n, c, cg, og, groups),
            *((d, h, w), (od, oh, ow), form.window((kz, ky, kx))),
            *((sz, sy, sx), (pz, py, px), (tz, ty, tx)),
        )
        with T.Kernel(*grid(s), threads=threads) as (bx, by, bz):
            body(X, W, B, Y, s, bx, by, bz)

    def launch(run, input, weight, bias, output, step, pad, spread, groups):
        x, y = (t.movedim(1, -1) if form.last else t for t in (input, output))
        w = weight.movedim(1, -1) if form.weight_last and not weight.is_contiguous() else weight
        tensors = x.view(-1, wide), w.view(-1, rows), y.view(-1) if bias is None else bias, y.view(-1, wide)
        counts = input.shape[0], input.shape[1], weight.shape[1], weight.shape[0] // groups, groups
        sizes = three(input.shape[2:], 1), three(output.shape[2:], 1), three(weight.shape[2:], 1)
        where = *three(step, 1), *three(pad, 0), *three(spread, 1)
        run(*tensors, *counts, *(number for triple in sizes for number in triple), *where)

    return Kernel(main, launch=launch, claims=claims, pass_configs=UNCHECKED)
