"""The program of all operators with two operands: an operator is an expression of `arithmetic`."""

from collections.abc import Callable
from typing import Any

import tilelang.language as T

from tileops.kernel import Kernel, Key
from tileops.kernels.elementwise import pointwise as pw
from tileops.kernels.elementwise.arithmetic import BINARY
from tileops.kernels.elementwise.broadcasting import BLOCKS, NARROW, THREADS, UNROLL, launches

Element = Callable[[Any, Any, Any, str], Any]  # of both operands, the launch's number and the first's dtype


def binary(key: Key) -> Kernel:
    """The operator of the key on two tensors of one shape."""
    return same_shape(key, BINARY[key.op.removesuffix("FwdOp")])


def binary_broadcast(key: Key) -> Kernel:
    """The operator of the key on two tensors that broadcast."""
    return broadcast(key, BINARY[key.op.removesuffix("FwdOp")])


def div(key: Key) -> Kernel:
    """`binary` for the three roundings of a quotient."""
    return same_shape(key, BINARY[f"Div{(key.rounding_mode or '').title()}"])


def div_broadcast(key: Key) -> Kernel:
    """`binary_broadcast` for the three roundings of a quotient."""
    return broadcast(key, BINARY[f"Div{(key.rounding_mode or '').title()}"])


def prelu(key: Key) -> Kernel:
    """`binary_broadcast` with the weight along the second axis."""
    kernel = binary_broadcast(key)
    size = pw.vector(key)

    def launch(run, x, weight, y):
        w_shape = () if weight.numel() == 1 else (*weight.shape, *(1 for _ in x.shape[2:]))
        for places in launches((x.shape, w_shape), size):
            run(x.view(-1), weight.view(-1), y.view(-1), 0.0, *places)

    kernel.launch = launch
    return kernel


def same_shape(key: Key, f: Element) -> Kernel:
    """Results of f, element by element: vectors of 16 bytes, two a thread. Bound: bytes of the three tensors.

    Full blocks check no bounds, whatever the size is; the last one goes element by element.
    """
    (_, da), (_, db), (_, dy) = key.dtypes
    sa, sb, sy, size = pw.stored(da), pw.stored(db), pw.stored(dy), pw.vector(key)
    ds, value = pw.number(da)
    block, n = THREADS * UNROLL * size, T.dynamic("n", "int64")

    @T.prim_func
    def main(A: T.Tensor((n,), da), B: T.Tensor((n,), db), Y: T.Tensor((n,), dy), s: ds):
        with T.Kernel(T.ceildiv(n, block), threads=THREADS) as bx:
            X, Z, R = T.view(A, (n,), sa), T.view(B, (n,), sb), T.view(Y, (n,), sy)
            a, b, y = T.alloc_local((size,), sa), T.alloc_local((size,), sb), T.alloc_local((size,), sy)
            p = T.alloc_var("int64")
            if (bx + 1) * block <= n:
                for u in T.unroll(UNROLL):
                    for t in T.Parallel(THREADS):
                        p = (bx * UNROLL + u) * THREADS + t
                        for v in T.vectorized(size):
                            a[v] = X[p * size + v]
                        for v in T.vectorized(size):
                            b[v] = Z[p * size + v]
                        for v in T.unroll(size):
                            y[v] = T.cast(f(a[v], b[v], s, da), sy)
                        for v in T.vectorized(size):
                            R[p * size + v] = y[v]
            else:
                for t in T.Parallel(block):
                    if bx * block + t < n:
                        R[bx * block + t] = T.cast(f(X[bx * block + t], Z[bx * block + t], s, da), sy)

    def launch(run, a, b, y, s=0):
        run(a.view(-1), b.view(-1), y.view(-1), value(s))

    return Kernel(main, launch=launch, claims=pw.claims(key), pass_configs=pw.UNCHECKED)


def broadcast(key: Key, f: Element) -> Kernel:
    """Results of f for any two shapes that broadcast; no operand is expanded in memory.

    The axes of the result are merged to four on the host (`broadcasting`), and an element's place in each
    operand follows from three divisions by multiplication. Where the innermost axis is whole vectors of 16
    bytes a thread does two, and reads an operand that is constant along it once; else it does four elements.
    Threads past the end repeat the last element, so that no branch parts the loads of a thread. Bound: bytes
    of the result and of what is read.
    """
    (_, da), (_, db), (_, dy) = key.dtypes
    sa, sb, sy, size = pw.stored(da), pw.stored(db), pw.stored(dy), pw.vector(key)
    ds, value = pw.number(da)
    na, nb, ny = T.dynamic("na", "int64"), T.dynamic("nb", "int64"), T.dynamic("ny", "int64")

    @T.prim_func
    def main(
        A: T.Tensor((na,), da), B: T.Tensor((nb,), db), Y: T.Tensor((ny,), dy), s: ds,
        blocks: T.int32, count: T.int32, wide: T.int32,
        n1: T.int32, n2: T.int32, n3: T.int32, r1: T.int64, r2: T.int64, r3: T.int64,
        a0: T.int64, a1: T.int64, a2: T.int64, a3: T.int64, a_first: T.int64,
        b0: T.int64, b1: T.int64, b2: T.int64, b3: T.int64, b_first: T.int64, first: T.int64,
    ):  # fmt: skip
        with T.Kernel(blocks, threads=THREADS) as bx:
            T.annotate_min_blocks_per_sm(BLOCKS)
            X, Z, R = T.view(A, (na,), sa), T.view(B, (nb,), sb), T.view(Y, (ny,), sy)
            a, b, y = T.alloc_local((size,), sa), T.alloc_local((size,), sb), T.alloc_local((size,), sy)
            i, q1, q2, q3 = (T.alloc_var("int32") for _ in range(4))
            pa, pb = T.alloc_var("int64"), T.alloc_var("int64")
            if wide > 0:
                for u in T.unroll(UNROLL):
                    for t in T.Parallel(THREADS):
                        i = T.min((bx * UNROLL + u) * THREADS + t, count - 1)
                        q1 = pw.quotient(i, r3)
                        q2 = pw.quotient(q1, r2)
                        q3 = pw.quotient(q2, r1)
                        pa = a_first + pw.place(i, q1, q2, q3, n1, n2, n3, a0, a1, a2, a3)
                        pb = b_first + pw.place(i, q1, q2, q3, n1, n2, n3, b0, b1, b2, b3)
                        pw.read(X, a, pa, a3 > 0, size)
                        pw.read(Z, b, pb, b3 > 0, size)
                        for v in T.unroll(size):
                            y[v] = T.cast(f(a[v], b[v], s, da), sy)
                        for v in T.vectorized(size):
                            R[(first + i) * size + v] = y[v]
            else:
                for u in T.unroll(NARROW):
                    for t in T.Parallel(THREADS):
                        i = T.min((bx * NARROW + u) * THREADS + t, count - 1)
                        q1 = pw.quotient(i, r3)
                        q2 = pw.quotient(q1, r2)
                        q3 = pw.quotient(q2, r1)
                        pa = a_first + pw.place(i, q1, q2, q3, n1, n2, n3, a0, a1, a2, a3)
                        pb = b_first + pw.place(i, q1, q2, q3, n1, n2, n3, b0, b1, b2, b3)
                        R[first + i] = T.cast(f(X[pa], Z[pb], s, da), sy)

    def launch(run, a, b, y, s=0):
        for places in launches((a.shape, b.shape), size):
            run(a.view(-1), b.view(-1), y.view(-1), value(s), *places)

    return Kernel(main, launch=launch, claims=pw.claims(key), pass_configs=pw.UNCHECKED)
