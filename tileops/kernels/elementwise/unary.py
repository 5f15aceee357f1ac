"""The program of all unary operators: an operator is an expression of `expressions`."""

from collections.abc import Callable
from typing import Any

import tilelang.language as T
import torch

from tileops.kernel import Kernel, Key
from tileops.kernels.elementwise.expressions import FLOAT, INTEGER, NUMBERS, TESTS

F32 = "float32"
THREADS = 256
ITEM_SIZE = {"uint8": 1, "int8": 1, "int16": 2, "float16": 2, "bfloat16": 2, "int32": 4, F32: 4, "int64": 8}
WIDE = {
    F32: "float4",
    "int8": "int4",
    "int16": "int4",
    "int32": "int4",
    "int64": "longlong2",
}  # how CUDA spells 16 bytes; of others uint4


def unary(key: Key) -> Kernel:
    """An expression over flat tensors: two reads of 16 bytes a thread, as many writes. Bound: their bytes.

    Blocks that are full need no check of bounds, so that their accesses are wide whatever the length is; the
    last one goes element by element. Booleans are bytes of 0 and 1.
    """
    return _unary(key, key.op.removesuffix("FwdOp"))


def round_unary(key: Key) -> Kernel:
    """`unary` for the two forms of round: to an integer, and to a decimal place."""
    return _unary(key, "RoundTo" if key.decimal else "Round")


def gelu_unary(key: Key) -> Kernel:
    """`unary` for the two forms of GELU."""
    return _unary(key, "GeluTanh" if key.tanh else "Gelu")


def _unary(key: Key, name: str) -> Kernel:
    (_, declared), (_, returned) = key.dtypes
    dtype, out, flat_x, flat_y = stored(declared), stored(returned), flat(declared), flat(returned)
    floating = "float" in dtype or "float" in out
    widest = out if ITEM_SIZE[out] > ITEM_SIZE[dtype] else dtype
    vectors = 1 if name in ("Sin", "Cos") else 2  # each element has code of its own for large angles
    block = THREADS * 16 * vectors // ITEM_SIZE[widest]
    n = T.dynamic("n", "int64")

    def f(x: Any, *numbers: Any) -> Any:
        if floating:
            y = FLOAT[name](T.cast(x, F32), ITEM_SIZE[out] < 4, *numbers)
        else:
            y = INTEGER[name](x, declared, *numbers)
        if name in TESTS:  # CUDA has no vectors of booleans; a choice is made for each element by itself
            return T.if_then_else(y, T.cast(1, out), T.cast(0, out))
        return T.cast(y, out)

    @T.macro
    def body(X, Y, bx, *numbers):
        x, y = T.alloc_fragment((block,), dtype), T.alloc_fragment((block,), out)
        if (bx + 1) * block <= n:
            T.copy(X[bx * block], x)
            for i in T.Parallel(block):
                y[i] = f(x[i], *numbers)
            T.copy(y, Y[bx * block])
        else:
            for i in T.Parallel(block):
                if bx * block + i < n:
                    Y[bx * block + i] = f(X[bx * block + i], *numbers)

    if name not in NUMBERS or (not floating and name not in ("ClampScalar", "Hardtanh")):

        @T.prim_func
        def main(X: T.Tensor((n,), dtype), Y: T.Tensor((n,), out)):
            with T.Kernel(T.ceildiv(n, block), threads=THREADS) as bx:
                body(X, Y, bx)

        def launch(run, x, y, *_):
            run(flat_x(x), flat_y(y))

    else:
        number = T.float32 if floating else T.int64

        @T.prim_func
        def main(X: T.Tensor((n,), dtype), Y: T.Tensor((n,), out), a: number, b: number, c: number):
            with T.Kernel(T.ceildiv(n, block), threads=THREADS) as bx:
                body(X, Y, bx, a, b, c)

        def launch(run, x, y, *params):
            run(flat_x(x), flat_y(y), *NUMBERS[name](declared, *params))

    return Kernel(main, launch=launch, claims=(WIDE.get(widest, "uint4"),))


def stored(dtype: str) -> str:
    """The dtype of a tensor's memory as programs see it."""
    return "uint8" if dtype == "bool" else dtype


def flat(dtype: str) -> Callable[[torch.Tensor], torch.Tensor]:
    """How a launch sees a tensor: one dimension, booleans as bytes."""
    return (lambda x: x.view(-1).view(torch.uint8)) if dtype == "bool" else (lambda x: x.view(-1))
