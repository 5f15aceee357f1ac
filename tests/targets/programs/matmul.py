"""Tiled matrix products: transposes, epilogues, dynamic sizes, groups, split K, persistent blocks."""

import itertools

import tilelang.language as T
import torch
import torch.nn.functional as F

from tests.targets.programs.case import BF16, CASES, F16, F32, I32, Case, randn


@T.macro
def gelu_tanh(acc, rows, cols):
    for i, j in T.Parallel(rows, cols):
        acc[i, j] = (
            0.5
            * acc[i, j]
            * (1.0 + T.tanh(0.7978845608 * (acc[i, j] + 0.044715 * acc[i, j] * acc[i, j] * acc[i, j])))
        )


def gemm_epilogue(
    m: int, n: int, k: int, ta: bool, tb: bool, dtype: str = BF16, bm: int = 64, bn: int = 64, bk: int = 32
):
    a_shape, b_shape = ((k, m) if ta else (m, k)), ((n, k) if tb else (k, n))

    @T.prim_func
    def main(
        A: T.Tensor(a_shape, dtype),
        B: T.Tensor(b_shape, dtype),
        Bias: T.Tensor((n,), F32),
        C: T.Tensor((m, n), dtype),
    ):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            sa = T.alloc_shared((bk, bm) if ta else (bm, bk), dtype)
            sb = T.alloc_shared((bn, bk) if tb else (bk, bn), dtype)
            acc, sc = T.alloc_fragment((bm, bn), F32), T.alloc_shared((bm, bn), dtype)
            T.use_swizzle(8)
            T.clear(acc)
            for ko in T.Pipelined(T.ceildiv(k, bk), num_stages=2):
                if ta:
                    T.copy(A[ko * bk, by * bm], sa)
                else:
                    T.copy(A[by * bm, ko * bk], sa)
                if tb:
                    T.copy(B[bx * bn, ko * bk], sb)
                else:
                    T.copy(B[ko * bk, bx * bn], sb)
                T.gemm(sa, sb, acc, transpose_A=ta, transpose_B=tb)
            for i, j in T.Parallel(bm, bn):
                acc[i, j] = acc[i, j] + Bias[bx * bn + j]
            gelu_tanh(acc, bm, bn)
            T.copy(acc, sc)
            T.copy(sc, C[by * bm, bx * bn])

    return main


for _ta in (False, True):
    for _tb in (False, True):
        CASES[f"gemm_{'t' if _ta else 'n'}{'t' if _tb else 'n'}_bias_gelu"] = Case(
            lambda _ta=_ta, _tb=_tb: gemm_epilogue(128, 192, 96, _ta, _tb),
            lambda _ta=_ta, _tb=_tb: [
                randn(*((96, 128) if _ta else (128, 96)), dtype=torch.bfloat16),
                randn(*((192, 96) if _tb else (96, 192)), dtype=torch.bfloat16, seed=1),
                randn(192),
            ],
            lambda a, b, c, _ta=_ta, _tb=_tb: F.gelu(
                (a.T if _ta else a).float() @ (b.T if _tb else b).float() + c, approximate="tanh"
            ),
            tol=2e-1,
            needs=("wgmma", "tma_load", "tma_store"),
        )

CASES["gemm_ragged"] = Case(
    lambda: gemm_epilogue(100, 90, 72, False, True),
    lambda: [randn(100, 72, dtype=torch.bfloat16), randn(90, 72, dtype=torch.bfloat16, seed=1), randn(90)],
    lambda a, b, c: F.gelu(a.float() @ b.float().T + c, approximate="tanh"),
    tol=2e-1,
    needs=("wgmma", "tma_load"),
)


def gemm_dyn_m(n: int, k: int, dtype: str = BF16, bm: int = 64, bn: int = 128, bk: int = 64):
    m = T.dynamic("m")

    @T.prim_func
    def main(A: T.Tensor((m, k), dtype), B: T.Tensor((n, k), dtype), C: T.Tensor((m, n), dtype)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            sa, sb = T.alloc_shared((bm, bk), dtype), T.alloc_shared((bn, bk), dtype)
            acc = T.alloc_fragment((bm, bn), F32)
            T.clear(acc)
            for ko in T.Pipelined(T.ceildiv(k, bk), num_stages=3):
                T.copy(A[by * bm, ko * bk], sa)
                T.copy(B[bx * bn, ko * bk], sb)
                T.gemm(sa, sb, acc, transpose_B=True)
            T.copy(acc, C[by * bm, bx * bn])

    return main


CASES["gemm_dynamic_m"] = Case(
    lambda: gemm_dyn_m(256, 128),
    lambda: [randn(75, 128, dtype=torch.bfloat16), randn(256, 128, dtype=torch.bfloat16, seed=1)],
    lambda a, b: a.float() @ b.float().T,
    tol=2e-1,
    needs=("wgmma", "tma_load"),
)


def grouped_gemm(
    total: int, groups: int, n: int, k: int, bm: int = 64, bn: int = 64, bk: int = 64, dtype: str = BF16
):
    """Rows of A are sorted by group; the boundaries are read on the device."""
    tiles = total // bm + groups  # upper bound on row tiles

    @T.prim_func
    def main(
        A: T.Tensor((total, k), dtype),
        B: T.Tensor((groups, k, n), dtype),
        Off: T.Tensor((groups + 1,), I32),
        C: T.Tensor((total, n), dtype),
    ):
        with T.Kernel(T.ceildiv(n, bn), tiles, threads=128) as (bx, by):
            sa, sb, acc = (
                T.alloc_shared((bm, bk), dtype),
                T.alloc_shared((bk, bn), dtype),
                T.alloc_fragment((bm, bn), F32),
            )
            g, row, end, seen = (
                T.alloc_var(I32, init=-1),
                T.alloc_var(I32, init=0),
                T.alloc_var(I32, init=0),
                T.alloc_var(I32, init=0),
            )
            for e in T.serial(groups):
                count = T.ceildiv(Off[e + 1] - Off[e], bm)
                if (by >= seen) and (by < seen + count):
                    g = e
                    row = Off[e] + (by - seen) * bm
                    end = Off[e + 1]
                seen = seen + count
            if g >= 0:
                T.clear(acc)
                for ko in T.Pipelined(T.ceildiv(k, bk), num_stages=2):
                    T.copy(A[row : row + bm, ko * bk : (ko + 1) * bk], sa)
                    T.copy(B[g, ko * bk : (ko + 1) * bk, bx * bn : (bx + 1) * bn], sb)
                    T.gemm(sa, sb, acc)
                for i, j in T.Parallel(bm, bn):
                    if row + i < end:
                        C[row + i, bx * bn + j] = acc[i, j]

    return main


def grouped_ref(a: torch.Tensor, b: torch.Tensor, off: torch.Tensor) -> torch.Tensor:
    return torch.cat([a[s:e].float() @ b[i].float() for i, (s, e) in enumerate(itertools.pairwise(off))])


CASES["grouped_gemm"] = Case(
    lambda: grouped_gemm(300, 4, 128, 64),
    lambda: [
        randn(300, 64, dtype=torch.bfloat16),
        randn(4, 64, 128, dtype=torch.bfloat16),
        torch.tensor([0, 70, 70, 211, 300], dtype=torch.int32),
    ],
    grouped_ref,
    tol=2e-1,
    needs=("wgmma",),
)


def split_k(m: int, n: int, k: int, split: int, bm: int = 64, bn: int = 64, bk: int = 32, dtype: str = F16):
    @T.prim_func
    def main(A: T.Tensor((m, k), dtype), B: T.Tensor((k, n), dtype), C: T.Tensor((m, n), F32)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), split, threads=128) as (bx, by, bz):
            sa, sb, acc = (
                T.alloc_shared((bm, bk), dtype),
                T.alloc_shared((bk, bn), dtype),
                T.alloc_fragment((bm, bn), F32),
            )
            T.clear(acc)
            for ko in T.Pipelined(k // split // bk, num_stages=2):
                T.copy(A[by * bm, bz * (k // split) + ko * bk], sa)
                T.copy(B[bz * (k // split) + ko * bk, bx * bn], sb)
                T.gemm(sa, sb, acc)
            T.atomic_add(C[by * bm, bx * bn], acc)

    return main


CASES["split_k_atomic"] = Case(
    lambda: split_k(64, 128, 256, 4),
    lambda: [
        randn(64, 256, dtype=torch.float16),
        randn(256, 128, dtype=torch.float16, seed=1),
        torch.ones(64, 128),
    ],
    lambda a, b, c: [a, b, 1 + a.float() @ b.float()],
    outputs=(),
    inplace=(2,),
    tol=1e-3,
)


def persistent_gemm(
    m: int, n: int, k: int, workers: int, bm: int = 64, bn: int = 64, bk: int = 32, dtype: str = F16
):
    @T.prim_func
    def main(A: T.Tensor((m, k), dtype), B: T.Tensor((n, k), dtype), C: T.Tensor((m, n), dtype)):
        with T.Kernel(workers, threads=128) as worker:
            sa, sb, acc = (
                T.alloc_shared((bm, bk), dtype),
                T.alloc_shared((bn, bk), dtype),
                T.alloc_fragment((bm, bn), F32),
            )
            for bx, by in T.Persistent([T.ceildiv(m, bm), T.ceildiv(n, bn)], workers, worker):
                T.clear(acc)
                for ko in T.Pipelined(T.ceildiv(k, bk), num_stages=2):
                    T.copy(A[bx * bm, ko * bk], sa)
                    T.copy(B[by * bn, ko * bk], sb)
                    T.gemm(sa, sb, acc, transpose_B=True)
                T.copy(acc, C[bx * bm, by * bn])

    return main


CASES["persistent_gemm"] = Case(
    lambda: persistent_gemm(256, 192, 128, 5),
    lambda: [randn(256, 128, dtype=torch.float16), randn(192, 128, dtype=torch.float16)],
    lambda a, b: a.float() @ b.float().T,
    tol=5e-2,
    needs=("wgmma",),
)
