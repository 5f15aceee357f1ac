"""Element-wise programs: scalar functions, types, broadcasting, dynamic sizes and strides."""

import math

import tilelang.language as T
import torch
import torch.nn.functional as F

from tests.targets.programs.case import BF16, BOOL, CASES, F16, F32, F64, I8, I32, I64, U8, Case, randn


def silu_1d(n: int, block: int = 256, dtype: str = BF16):
    @T.prim_func
    def main(X: T.Tensor((n,), dtype), Y: T.Tensor((n,), dtype)):
        with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
            for i in T.Parallel(block):
                x = T.cast(X[bx * block + i], F32)
                Y[bx * block + i] = x / (1.0 + T.exp(-x))

    return main


def silu_1d_guarded(n: int, block: int = 256, dtype: str = BF16):
    @T.prim_func
    def main(X: T.Tensor((n,), dtype), Y: T.Tensor((n,), dtype)):
        with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
            for i in T.Parallel(block):
                p = bx * block + i
                if p < n:
                    Y[p] = T.cast(X[p], F32) * T.sigmoid(T.cast(X[p], F32))

    return main


for _name, _fn in (("silu_1d", silu_1d), ("silu_1d_guarded", silu_1d_guarded)):
    CASES[_name] = Case(
        lambda _fn=_fn: _fn(1000),
        lambda: [randn(1000, dtype=torch.bfloat16)],
        lambda x: F.silu(x.float()),
        tol=1e-2,
    )


def broadcast_2d(m: int, n: int, bm: int = 32, bn: int = 64):
    @T.prim_func
    def main(
        X: T.StridedTensor((m, n), (n + 13, 1), F32),
        Row: T.Tensor((n,), F32),
        Col: T.Tensor((m, 1), F32),
        Y: T.Tensor((m, n), F32),
    ):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            x = T.alloc_fragment((bm, bn), F32)
            T.copy(X[by * bm, bx * bn], x)
            for i, j in T.Parallel(bm, bn):
                x[i, j] = x[i, j] * Row[bx * bn + j] + Col[by * bm + i, 0]
            T.copy(x, Y[by * bm, bx * bn])

    return main


CASES["broadcast_2d"] = Case(
    lambda: broadcast_2d(45, 77),
    lambda: [randn(45, 90)[:, :77], randn(77), randn(45, 1)],
    lambda x, r, c: x * r + c,
)


def dyn_rows(n: int, bm: int = 16):
    m = T.dynamic("m")

    @T.prim_func
    def main(X: T.Tensor((m, n), F16), S: T.float32, Y: T.Tensor((m, n), F16)):
        with T.Kernel(T.ceildiv(m, bm), threads=128) as bx:
            x = T.alloc_fragment((bm, n), F32)
            T.copy(X[bx * bm, 0], x)
            for i, j in T.Parallel(bm, n):
                x[i, j] = T.max(x[i, j], 0.0) * S
            T.copy(x, Y[bx * bm, 0])

    return main


CASES["dyn_rows_scalar_arg"] = Case(
    lambda: dyn_rows(128),
    lambda: [randn(37, 128, dtype=torch.float16), 0.5],
    lambda x, s: x.float().relu() * s,
    tol=1e-3,
)


def dyn_strides():
    m, n, s = T.dynamic("m"), T.dynamic("n"), T.dynamic("s")

    @T.prim_func
    def main(X: T.StridedTensor((m, n), (s, 1), F32), Y: T.Tensor((m, n), F32)):
        with T.Kernel(m, T.ceildiv(n, 128), threads=128) as (bx, by):
            for j in T.Parallel(128):
                if by * 128 + j < n:
                    Y[bx, by * 128 + j] = X[bx, by * 128 + j] + 1.0

    return main


def dyn_aligned(bm: int = 4, top: int = 512):
    """A dynamic size written as a multiple of 8 keeps 16-byte vector access (and is checked on the host)."""
    m, n8 = T.dynamic("m"), T.dynamic("n8")

    @T.prim_func
    def main(X: T.Tensor((m, n8 * 8), BF16), Y: T.Tensor((m, n8 * 8), BF16)):
        with T.Kernel(T.ceildiv(m, bm), threads=128) as bx:
            x, s = T.alloc_fragment((bm, top), F32), T.alloc_fragment((bm,), F32)
            T.copy(X[bx * bm, 0], x)
            T.reduce_sum(x, s, dim=1)
            for i, j in T.Parallel(bm, top):
                x[i, j] = x[i, j] - s[i] / (n8 * 8)
            T.copy(x, Y[bx * bm, 0])

    return main


CASES["dyn_aligned"] = Case(
    dyn_aligned,
    lambda: [randn(9, 200, dtype=torch.bfloat16)],
    lambda x: x.float() - x.float().mean(1, keepdim=True),
    tol=2e-2,
    needs=("uint4",),
)

CASES["dyn_strides"] = Case(dyn_strides, lambda: [randn(9, 300)[:, :200]], lambda x: x + 1)


def int_types(n: int):
    @T.prim_func
    def main(
        A: T.Tensor((n,), I32),
        B: T.Tensor((n,), U8),
        C: T.Tensor((n,), I8),
        D: T.Tensor((n,), I64),
        Mask: T.Tensor((n,), BOOL),
        Sum: T.Tensor((n,), I64),
        Bits: T.Tensor((n,), U8),
        Div: T.Tensor((n,), I32),
    ):
        with T.Kernel(T.ceildiv(n, 128), threads=128) as bx:
            for t in T.Parallel(128):
                i = bx * 128 + t
                if i < n:
                    Mask[i] = (A[i] > 0) and (D[i] % 3 == 0)
                    Sum[i] = T.cast(A[i], I64) * 1000000007 + T.cast(C[i], I64) - D[i]
                    Bits[i] = (B[i] >> 2) ^ (B[i] << 1) ^ T.cast(0x5A, U8)
                    Div[i] = T.floordiv(A[i], 7) + T.truncmod(A[i], 5)

    return main


CASES["int_types"] = Case(
    lambda: int_types(500),
    lambda: [
        torch.randint(-1000, 1000, (500,), dtype=torch.int32),
        torch.randint(0, 256, (500,), dtype=torch.uint8),
        torch.randint(-128, 128, (500,), dtype=torch.int8),
        torch.randint(0, 10**12, (500,)),
    ],
    lambda a, b, c, d: [
        (a > 0) & (d % 3 == 0),
        a.long() * 1000000007 + c.long() - d,
        (b >> 2) ^ (b << 1) ^ 0x5A,
        torch.div(a, 7, rounding_mode="floor") + torch.fmod(a, 5),
    ],
    outputs=(4, 5, 6, 7),
    tol=0,
)


def double_math(n: int):
    @T.prim_func
    def main(X: T.Tensor((n,), F64), Y: T.Tensor((n,), F64)):
        with T.Kernel(T.ceildiv(n, 128), threads=128) as bx:
            for t in T.Parallel(128):
                if bx * 128 + t < n:
                    Y[bx * 128 + t] = T.log(T.abs(X[bx * 128 + t]) + 1.0) + T.sqrt(T.abs(X[bx * 128 + t]))

    return main


CASES["float64"] = Case(
    lambda: double_math(300),
    lambda: [randn(300).double()],
    lambda x: x.abs().log1p() + x.abs().sqrt(),
    tol=1e-10,
)


def unary_math(n: int, dtype: str):
    @T.prim_func
    def main(X: T.Tensor((n,), dtype), Y: T.Tensor((n,), dtype)):
        with T.Kernel(T.ceildiv(n, 128), threads=128) as bx:
            for t in T.Parallel(128):
                x = T.cast(X[bx * 128 + t], F32)
                a = T.tanh(x) + T.erf(x) + T.sin(x) * T.cos(x) + T.exp2(x) + T.rsqrt(T.abs(x) + 1.0)
                b = (
                    T.floor(x)
                    + T.ceil(x)
                    + T.round(x)
                    + T.trunc(x)
                    + T.pow(T.abs(x) + 0.5, 1.5)
                    + T.log2(T.abs(x) + 1.0)
                )
                Y[bx * 128 + t] = T.if_then_else(x > 0.0, a + b, T.Select(x < -1.0, a, b)) + T.clamp(
                    x, -0.5, 0.5
                )

    return main


def unary_ref(x: torch.Tensor) -> torch.Tensor:
    x = x.float()
    a = x.tanh() + x.erf() + x.sin() * x.cos() + x.exp2() + (x.abs() + 1).rsqrt()
    b = x.floor() + x.ceil() + x.round() + x.trunc() + (x.abs() + 0.5) ** 1.5 + (x.abs() + 1).log2()
    return torch.where(x > 0, a + b, torch.where(x < -1, a, b)) + x.clamp(-0.5, 0.5)


CASES["unary_math"] = Case(lambda: unary_math(512, F32), lambda: [randn(512)], unary_ref, tol=2e-5)

CASES["unary_math_f16"] = Case(
    lambda: unary_math(512, F16), lambda: [randn(512, dtype=torch.float16)], unary_ref, tol=2e-2
)


def edge_values(n: int):
    """Half-way rounding and NaN: the same on both targets (round to even; a NaN loses in max and min)."""

    @T.prim_func
    def main(
        X: T.Tensor((n,), F32),
        R: T.Tensor((n,), F32),
        A: T.Tensor((n,), F32),
        B: T.Tensor((n,), F32),
        Nan: T.Tensor((n,), BOOL),
    ):
        with T.Kernel(1, threads=n):
            for i in T.Parallel(n):
                R[i] = T.round(X[i])
                A[i] = T.max(X[i], 0.0)
                B[i] = T.min(0.0, X[i])
                Nan[i] = T.isnan(X[i])

    return main


CASES["edge_values"] = Case(
    lambda: edge_values(32),
    lambda: [
        torch.cat(
            [torch.arange(-8, 8) * 0.5, torch.tensor([math.nan, math.inf, -math.inf, -0.0]), torch.zeros(12)]
        )
    ],
    lambda x: [x.round(), torch.fmax(x, torch.zeros(())), torch.fmin(x, torch.zeros(())), x.isnan()],
    outputs=(1, 2, 3, 4),
    tol=0,
)


def half_arithmetic(n: int, dtype: str):
    @T.prim_func
    def main(X: T.Tensor((n,), dtype), Y: T.Tensor((n,), dtype), Z: T.Tensor((n,), dtype)):
        with T.Kernel(T.ceildiv(n, 128), threads=128) as bx:
            x = T.alloc_fragment((128,), dtype)
            y = T.alloc_shared((128,), dtype)
            T.copy(X[bx * 128], x)
            T.copy(Y[bx * 128], y)
            for t in T.Parallel(128):
                x[t] = (x[t] + y[t]) * x[t] - y[t]
            T.copy(x, Z[bx * 128])

    return main


for _d, _t in ((F16, torch.float16), (BF16, torch.bfloat16)):
    CASES[f"native_arithmetic_{_d}"] = Case(
        lambda _d=_d: half_arithmetic(500, _d),
        lambda _t=_t: [randn(500, dtype=_t), randn(500, dtype=_t, seed=1)],
        lambda x, y: (x + y) * x - y,
        tol=0,
        gpu_tol=5e-2,  # nvcc fuses the multiply and the subtraction: one rounding fewer
    )
