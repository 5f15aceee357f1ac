"""The program of all unary operators: an operator is an expression of `expressions`."""

from collections.abc import Callable
from typing import Any

import tilelang.language as T
import torch

from tileops.kernel import Kernel, Key
from tileops.kernels.elements import ITEM_SIZE, stored, wide
from tileops.kernels.elementwise.expressions import FLOAT, INTEGER, NUMBERS, TESTS

F32, THREADS = "float32", 256


def unary(key: Key) -> Kernel:
    """An expression over flat tensors: two reads of 16 bytes a thread, as many writes. Bound: their bytes.

    Blocks that are full need no check of bounds, so that their accesses are wide whatever the length is; the
    last one goes element by element. Booleans are bytes of 0 and 1.
    """
    name = key.op.removesuffix("FwdOp")
    name += "To" if name == "Round" and key.decimal else "Tanh" if name == "Gelu" and key.tanh else ""
    (_, declared), (_, returned) = key.dtypes
    dtype, out, flat_x, flat_y = stored(declared), stored(returned), flat(declared), flat(returned)
    floating = "float" in dtype or "float" in out
    widest = out if ITEM_SIZE[out] > ITEM_SIZE[dtype] else dtype
    vectors = 1 if name in ("Sin", "Cos") else 2  # each element has code of its own for large angles
    block = THREADS * 16 * vectors // ITEM_SIZE[widest]
    n = T.dynamic("n", "int64")

    def f(x: Any, *numbers: Any) -> Any:
        numbers = numbers if takes else ()
        if floating:
            y = FLOAT[name](T.cast(x, F32), ITEM_SIZE[out] < 4, *numbers)
        else:
            y = INTEGER[name](x, declared, *numbers)
        if name in TESTS:  # CUDA has no vectors of booleans; a choice is made for each element by itself
            return T.if_then_else(y, T.cast(1, out), T.cast(0, out))
        return T.cast(y, out)

    takes = name in NUMBERS and (floating or name in ("ClampScalar", "Hardtanh"))
    number = False if not takes else T.float32 if floating else T.int64

    @T.prim_func
    def main(X: T.Tensor((n,), dtype), Y: T.Tensor((n,), out), a: number, b: number, c: number):
        with T.Kernel(T.ceildiv(n, block), threads=THREADS) as bx:
            x, y = T.alloc_fragment((block,), dtype), T.alloc_fragment((block,), out)
            if (bx + 1) * block <= n:
                T.copy(X[bx * block], x)
                for i in T.Parallel(block):
                    y[i] = f(x[i], a, b, c)
                T.copy(y, Y[bx * block])
            else:
                for i in T.Parallel(block):
                    if bx * block + i < n:
                        Y[bx * block + i] = f(X[bx * block + i], a, b, c)

    def launch(run, x, y, *params):
        run(flat_x(x), flat_y(y), *(NUMBERS[name](declared, *params) if takes else ()))

    return Kernel(main, launch=launch, claims=wide(widest))


def flat(dtype: str) -> Callable[[torch.Tensor], torch.Tensor]:
    """How a launch sees a tensor: one dimension, booleans as bytes."""
    return (lambda x: x.view(-1).view(torch.uint8)) if dtype == "bool" else (lambda x: x.view(-1))
