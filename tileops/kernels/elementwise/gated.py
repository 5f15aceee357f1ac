"""Gated activations: the first half of a row goes through an activation and scales the second."""

import tilelang.language as T

from tileops.kernel import Kernel, Key
from tileops.kernels.elements import ITEM_SIZE, vector_of, wide
from tileops.kernels.elementwise.expressions import gelu, gelu_tanh, silu
from tileops.kernels.elementwise.unary import F32, THREADS

ACTIVATIONS = {"SiluAndMul": silu, "GeluAndMul": gelu, "GeluTanhAndMul": gelu_tanh}


def gated(key: Key) -> Kernel:
    """One piece of a row a block: 16 bytes of each half a thread, one write. Bound: bytes of x and y.

    The input is seen as rows of half the width, gate and value in turn. Only widths of whole 16 bytes have
    wide accesses.
    """
    activation, dtype = ACTIVATIONS[key.op.removesuffix("FwdOp")], key.dtype("x")
    block, half = THREADS * vector_of(dtype), ITEM_SIZE[dtype] < 4
    m, n = T.dynamic("m", "int64"), T.dynamic("n8") * 8 if key.aligned else T.dynamic("n")

    @T.prim_func
    def main(X: T.Tensor((2 * m, n), dtype), Y: T.Tensor((m, n), dtype)):
        with T.Kernel(m, T.ceildiv(n, block), threads=THREADS) as (row, piece):
            gate, value = T.alloc_fragment((1, block), dtype), T.alloc_fragment((1, block), dtype)
            T.copy(X[2 * row, piece * block], gate)
            T.copy(X[2 * row + 1, piece * block], value)
            for i, j in T.Parallel(1, block):
                y = activation(T.cast(gate[i, j], F32), half) * T.cast(value[i, j], F32)
                value[i, j] = T.cast(y, dtype)
            T.copy(value, Y[row, piece * block])

    def launch(run, x, y):
        run(x.view(-1, y.shape[1]), y)

    return Kernel(main, launch=launch, claims=wide(dtype, key.aligned))
