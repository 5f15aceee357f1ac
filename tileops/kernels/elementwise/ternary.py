"""The program of all operators with three operands: an operator is an expression of `arithmetic`."""

import tilelang.language as T

from tileops.kernel import Kernel, Key
from tileops.kernels.elementwise import pointwise as pw
from tileops.kernels.elementwise.arithmetic import BINARY, TERNARY
from tileops.kernels.elementwise.binary import broadcast, same_shape
from tileops.kernels.elementwise.broadcasting import BLOCKS, NARROW, THREADS, UNROLL, launches


def clamp(key: Key) -> Kernel:
    """`ternary`, or with one bound the larger or the smaller of two tensors."""
    return _clamp(key, ternary, same_shape)


def clamp_broadcast(key: Key) -> Kernel:
    """`clamp` of tensors that broadcast."""
    return _clamp(key, ternary_broadcast, broadcast)


def _clamp(key: Key, three, two) -> Kernel:
    if key.given("min") and key.given("max"):
        return three(key)
    kernel = two(key, BINARY["Maximum" if key.given("min") else "Minimum"])
    launch = kernel.launch
    kernel.launch = lambda run, x, low, high, y: launch(run, x, high if low is None else low, y)
    return kernel


def ternary(key: Key) -> Kernel:
    """Results of f of three tensors of one shape; a fill value is one element. See `binary.same_shape`."""
    (_, da), (_, db), (_, dc), (_, dy) = key.dtypes
    f, size, one = TERNARY[key.op.removesuffix("FwdOp")], pw.vector(key), key.op == "MaskedFillFwdOp"
    sa, sb, sc, sy = pw.stored(da), pw.stored(db), pw.stored(dc), pw.stored(dy)
    block, n = THREADS * UNROLL * size, T.dynamic("n", "int64")
    nc = 1 if one else n

    @T.prim_func
    def main(A: T.Tensor((n,), da), B: T.Tensor((n,), db), C: T.Tensor((nc,), dc), Y: T.Tensor((n,), dy)):
        with T.Kernel(T.ceildiv(n, block), threads=THREADS) as bx:
            X, Z = T.view(A, (n,), sa), T.view(B, (n,), sb)
            W, R = T.view(C, (nc,), sc), T.view(Y, (n,), sy)
            a, b = T.alloc_local((size,), sa), T.alloc_local((size,), sb)
            c, y = T.alloc_local((size,), sc), T.alloc_local((size,), sy)
            p = T.alloc_var("int64")
            if (bx + 1) * block <= n:
                for u in T.unroll(UNROLL):
                    for t in T.Parallel(THREADS):
                        p = (bx * UNROLL + u) * THREADS + t
                        for v in T.vectorized(size):
                            a[v] = X[p * size + v]
                        for v in T.vectorized(size):
                            b[v] = Z[p * size + v]
                        if one:
                            for v in T.unroll(size):
                                c[v] = W[0]
                        else:
                            for v in T.vectorized(size):
                                c[v] = W[p * size + v]
                        for v in T.unroll(size):
                            y[v] = T.cast(f(a[v], b[v], c[v], da), sy)
                        for v in T.vectorized(size):
                            R[p * size + v] = y[v]
            else:
                for t in T.Parallel(block):
                    p = bx * block + t
                    if p < n:
                        R[p] = T.cast(f(X[p], Z[p], W[0 if one else p], da), sy)

    def launch(run, a, b, c, y):
        run(a.view(-1), b.view(-1), c.view(-1), y.view(-1))

    return Kernel(main, launch=launch, claims=pw.claims(key), pass_configs=pw.UNCHECKED)


def ternary_broadcast(key: Key) -> Kernel:
    """Results of f for any three shapes that broadcast: see `binary.broadcast`."""
    (_, da), (_, db), (_, dc), (_, dy) = key.dtypes
    f, size = TERNARY[key.op.removesuffix("FwdOp")], pw.vector(key)
    sa, sb, sc, sy = pw.stored(da), pw.stored(db), pw.stored(dc), pw.stored(dy)
    na, nb, nc, ny = (T.dynamic(name, "int64") for name in ("na", "nb", "nc", "ny"))

    @T.prim_func
    def main(
        A: T.Tensor((na,), da), B: T.Tensor((nb,), db), C: T.Tensor((nc,), dc), Y: T.Tensor((ny,), dy),
        blocks: T.int32, count: T.int32, wide: T.int32,
        n1: T.int32, n2: T.int32, n3: T.int32, r1: T.int64, r2: T.int64, r3: T.int64,
        a0: T.int64, a1: T.int64, a2: T.int64, a3: T.int64, a_first: T.int64,
        b0: T.int64, b1: T.int64, b2: T.int64, b3: T.int64, b_first: T.int64,
        c0: T.int64, c1: T.int64, c2: T.int64, c3: T.int64, c_first: T.int64, first: T.int64,
    ):  # fmt: skip
        with T.Kernel(blocks, threads=THREADS) as bx:
            T.annotate_min_blocks_per_sm(BLOCKS)
            X, Z = T.view(A, (na,), sa), T.view(B, (nb,), sb)
            W, R = T.view(C, (nc,), sc), T.view(Y, (ny,), sy)
            a, b = T.alloc_local((size,), sa), T.alloc_local((size,), sb)
            c, y = T.alloc_local((size,), sc), T.alloc_local((size,), sy)
            i, q1, q2, q3 = (T.alloc_var("int32") for _ in range(4))
            pa, pb, pc = T.alloc_var("int64"), T.alloc_var("int64"), T.alloc_var("int64")
            if wide > 0:
                for u in T.unroll(UNROLL):
                    for t in T.Parallel(THREADS):
                        i = T.min((bx * UNROLL + u) * THREADS + t, count - 1)
                        q1 = pw.quotient(i, r3)
                        q2 = pw.quotient(q1, r2)
                        q3 = pw.quotient(q2, r1)
                        pa = a_first + pw.place(i, q1, q2, q3, n1, n2, n3, a0, a1, a2, a3)
                        pb = b_first + pw.place(i, q1, q2, q3, n1, n2, n3, b0, b1, b2, b3)
                        pc = c_first + pw.place(i, q1, q2, q3, n1, n2, n3, c0, c1, c2, c3)
                        pw.read(X, a, pa, a3 > 0, size)
                        pw.read(Z, b, pb, b3 > 0, size)
                        pw.read(W, c, pc, c3 > 0, size)
                        for v in T.unroll(size):
                            y[v] = T.cast(f(a[v], b[v], c[v], da), sy)
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
                        pc = c_first + pw.place(i, q1, q2, q3, n1, n2, n3, c0, c1, c2, c3)
                        R[first + i] = T.cast(f(X[pa], Z[pb], W[pc], da), sy)

    def launch(run, a, b, c, y):
        for places in launches((a.shape, b.shape, c.shape), size):
            run(a.view(-1), b.view(-1), c.view(-1), y.view(-1), *places)

    return Kernel(main, launch=launch, claims=pw.claims(key), pass_configs=pw.UNCHECKED)
