"""The programs of all operators with two or three operands: an operator is an expression of `arithmetic`."""

from collections.abc import Callable
from typing import Any

import tilelang.language as T
from torch import Tensor

from tileops.kernel import Kernel, Key
from tileops.kernels.elements import FLOATS, ITEM_SIZE, UNCHECKED, stored, wide
from tileops.kernels.elementwise.arithmetic import OPERATORS
from tileops.kernels.elementwise.broadcasting import BLOCKS, NARROW, THREADS, UNROLL, launches


def same_shape(key: Key) -> Kernel:
    """Results of tensors of one shape: vectors of 16 bytes, two a thread. Bound: bytes of the tensors.

    Full blocks check no bounds, whatever the size is; the last one goes element by element. A fill value is
    one element.
    """
    da, db, dc, dy, s_type = arguments(key)
    f, size, one = element(key), vector(key), key.op == "MaskedFillFwdOp"
    block, n = THREADS * UNROLL * size, T.dynamic("n", "int64")
    c_type = T.Tensor((1 if one else n,), dc) if dc else False

    @T.prim_func
    def main(A: T.Tensor((n,), da), B: T.Tensor((n,), db), C: c_type, Y: T.Tensor((n,), dy), s: s_type):
        with T.Kernel(T.ceildiv(n, block), threads=THREADS) as bx:
            inputs, R = [in_registers(X) for X in (A, B, C) if X is not False], in_registers(Y)
            xs, y = [T.alloc_local((size,), X.dtype) for X in inputs], T.alloc_local((size,), R.dtype)
            p = T.alloc_var("int64")
            if (bx + 1) * block <= n:
                for u in T.unroll(UNROLL):
                    for t in T.Parallel(THREADS):
                        p = (bx * UNROLL + u) * THREADS + t
                        for k, x in enumerate(xs):
                            alone = one and k == 2
                            read(inputs[k], x, 0 if alone else p, not alone, size)
                        for v in T.unroll(size):
                            y[v] = T.cast(f(*[x[v] for x in xs], s), R.dtype)
                        for v in T.vectorized(size):
                            R[p * size + v] = y[v]
            else:
                for t in T.Parallel(block):
                    p = bx * block + t
                    if p < n:
                        found = [X[0 if one and k == 2 else p] for k, X in enumerate(inputs)]
                        R[p] = T.cast(f(*found, s), R.dtype)

    def launch(run, operands, y, *scalars):
        run(*[x.view(-1) for x in operands], y.view(-1), *scalars)

    return Kernel(main, launch=launcher(key, launch), claims=claims(key), pass_configs=UNCHECKED)


def broadcast(key: Key) -> Kernel:
    """Results of tensors of any shapes that broadcast; no operand is expanded in memory.

    The axes of the result are merged to four on the host (`broadcasting`), and an element's place in each
    operand follows from three divisions by multiplication. Where the innermost axis is whole vectors of 16
    bytes a thread does two, and reads an operand that is constant along it once; else it does four elements.
    Threads past the end repeat the last element, so that no branch parts the loads of a thread. Bound: bytes
    of the result and of what is read.
    """
    da, db, dc, dy, s_type = arguments(key)
    f, size, along = element(key), vector(key), T.int64 if dc else False
    na, nb, nc, ny = (T.dynamic(name, "int64") for name in ("na", "nb", "nc", "ny"))
    c_type = T.Tensor((nc,), dc) if dc else False
    blocks_at_once = BLOCKS - 1 if dc else BLOCKS  # a third place needs registers

    @T.prim_func
    def main(
        A: T.Tensor((na,), da), B: T.Tensor((nb,), db), C: c_type, Y: T.Tensor((ny,), dy), s: s_type,
        blocks: T.int32, count: T.int32, wide: T.int32,
        n1: T.int32, n2: T.int32, n3: T.int32, r1: T.int64, r2: T.int64, r3: T.int64,
        a0: T.int64, a1: T.int64, a2: T.int64, a3: T.int64, a_first: T.int64,
        b0: T.int64, b1: T.int64, b2: T.int64, b3: T.int64, b_first: T.int64,
        c0: along, c1: along, c2: along, c3: along, c_first: along, first: T.int64,
    ):  # fmt: skip
        with T.Kernel(blocks, threads=THREADS) as bx:
            T.annotate_min_blocks_per_sm(blocks_at_once)
            inputs, R = [in_registers(X) for X in (A, B, C) if X is not False], in_registers(Y)
            xs, y = [T.alloc_local((size,), X.dtype) for X in inputs], T.alloc_local((size,), R.dtype)
            ks, begin = tuple(range(len(inputs))), (a_first, b_first, c_first)
            strides = (a0, a1, a2, a3), (b0, b1, b2, b3), (c0, c1, c2, c3)
            i, q1, q2, q3 = (T.alloc_var("int32") for _ in range(4))
            places = [T.alloc_var("int64") for _ in inputs]
            if wide > 0:
                for u in T.unroll(UNROLL):
                    for t in T.Parallel(THREADS):
                        i = T.min((bx * UNROLL + u) * THREADS + t, count - 1)
                        q1 = quotient(i, r3)
                        q2 = quotient(q1, r2)
                        q3 = quotient(q2, r1)
                        for k in ks:
                            places[k][0] = begin[k] + place(i, q1, q2, q3, n1, n2, n3, *strides[k])
                        for k in ks:
                            read(inputs[k], xs[k], places[k][0], strides[k][3] > 0, size)
                        for v in T.unroll(size):
                            y[v] = T.cast(f(*[x[v] for x in xs], s), R.dtype)
                        for v in T.vectorized(size):
                            R[(first + i) * size + v] = y[v]
            else:
                for u in T.unroll(NARROW):
                    for t in T.Parallel(THREADS):
                        i = T.min((bx * NARROW + u) * THREADS + t, count - 1)
                        q1 = quotient(i, r3)
                        q2 = quotient(q1, r2)
                        q3 = quotient(q2, r1)
                        for k in ks:
                            places[k][0] = begin[k] + place(i, q1, q2, q3, n1, n2, n3, *strides[k])
                        R[first + i] = T.cast(f(*[inputs[k][places[k][0]] for k in ks], s), R.dtype)

    def launch(run, operands, y, *scalars):
        for places in launches(shapes(key, *operands), size):
            run(*[x.view(-1) for x in operands], y.view(-1), *scalars, *places)

    return Kernel(main, launch=launcher(key, launch), claims=claims(key), pass_configs=UNCHECKED)


def element(key: Key) -> Callable[..., Any]:
    """What the operator of a key does to its elements, and with two of them to the launch's number."""
    name, dtype = key.op.removesuffix("FwdOp"), key.dtypes[0][1]
    if name == "Div":
        name += (key.rounding_mode or "").title()
    elif name == "Clamp" and not (key.given("min") and key.given("max")):
        name = "Maximum" if key.given("min") else "Minimum"
    return lambda a, b, c, *_: OPERATORS[name](a, b, c, dtype)


def arguments(key: Key) -> tuple[str, str, str | None, str, Any]:
    """Dtypes of the operands and the result; the type of the launch's number, which three have not."""
    da, db, *third, dy = (dtype for _, dtype in key.dtypes)
    return da, db, third[0] if third else None, dy, False if third else number(da)[0]


def number(dtype: str) -> tuple[Any, Callable[[Any], int | float]]:
    """The type of a launch's number beside tensors of this dtype, and what makes it of a param."""
    if dtype in FLOATS:
        return T.float32, float
    return T.int64, (lambda value: int(bool(value))) if dtype == "bool" else _wrapped


def _wrapped(value: float) -> int:
    """The whole part in 64 bits."""
    return (int(value) + 2**63) % 2**64 - 2**63


def launcher(key: Key, launch: Callable[..., None]) -> Callable[..., None]:
    """``launch(run, operands, y, number)`` as it is called; with three operands there is no number."""
    if len(key.dtypes) == 4:
        return lambda run, a, b, c, y: launch(run, (a, b, c), y)
    value = number(key.dtypes[0][1])[1]
    if key.op == "ClampFwdOp":
        return lambda run, x, low, high, y: launch(run, (x, high if low is None else low), y, value(0))
    return lambda run, a, b, y, s=0: launch(run, (a, b), y, value(s))


def shapes(key: Key, *operands: Tensor) -> tuple[tuple[int, ...], ...]:
    """The shapes that broadcast: the weight of PReLU lies along the second axis."""
    found = tuple(x.shape for x in operands)
    if key.op != "PreluFwdOp":
        return found
    return found[0], () if operands[1].numel() == 1 else (*found[1], *(1 for _ in found[0][2:]))


def vector(key: Key) -> int:
    """Elements of 16 bytes of the largest dtype."""
    return 16 // max(ITEM_SIZE[dtype] for _, dtype in key.dtypes)


def claims(key: Key) -> tuple[str, ...]:
    """16 bytes of the largest dtype."""
    return wide(max((dtype for _, dtype in key.dtypes), key=lambda dtype: ITEM_SIZE[dtype]))


def in_registers(X: Any) -> Any:
    """A tensor of elements as registers hold them."""
    return T.view(X, X.shape, stored(str(X.dtype)))


def quotient(i, reciprocal):
    """``i // size`` for the `reciprocal` of the size, as `broadcasting.reciprocal` makes it."""
    factor = T.cast(T.bitwise_and(reciprocal, 0xFFFFFFFF), "uint64")
    return T.cast(T.shift_right(T.cast(i, "uint64") * factor, T.cast(reciprocal >> 32, "uint64")), "int32")


def place(i, q1, q2, q3, n1, n2, n3, s0, s1, s2, s3):
    """Where element ``i`` of the result lies in an operand, from the quotients by the inner sizes."""
    return q3 * s0 + (q2 - q3 * n1) * s1 + (q1 - q2 * n2) * s2 + (i - q1 * n3) * s3


@T.macro
def read(X, x, p, contiguous, size):
    """``x`` from the vector number ``p``, or from the element number ``p`` that is all of it."""
    if contiguous:
        for v in T.vectorized(size):
            x[v] = X[p * size + v]
    else:
        for v in T.unroll(size):
            x[v] = X[p]
