"""Products and quantization in 8 and 4 bits."""

import tilelang.language as T
import torch

from tests.targets.programs.case import BF16, CASES, E4M3, E5M2, F32, I8, I32, U8, Case, randn


def gemm_fp8_scaled(m: int, n: int, k: int, bm: int = 64, bn: int = 64, bk: int = 128):
    """Per-128-block scales along K, as in block-scaled fp8 training."""

    @T.prim_func
    def main(
        A: T.Tensor((m, k), E4M3),
        B: T.Tensor((n, k), E4M3),
        SA: T.Tensor((m, k // bk), F32),
        SB: T.Tensor((n, k // bk), F32),
        C: T.Tensor((m, n), BF16),
    ):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            sa, sb = T.alloc_shared((bm, bk), E4M3), T.alloc_shared((bn, bk), E4M3)
            part, acc = T.alloc_fragment((bm, bn), F32), T.alloc_fragment((bm, bn), F32)
            T.clear(acc)
            for ko in T.Pipelined(k // bk, num_stages=2):
                T.copy(A[by * bm, ko * bk], sa)
                T.copy(B[bx * bn, ko * bk], sb)
                T.gemm(sa, sb, part, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(bm, bn):
                    acc[i, j] += part[i, j] * SA[by * bm + i, ko] * SB[bx * bn + j, ko]
            T.copy(acc, C[by * bm, bx * bn])

    return main


CASES["gemm_fp8_block_scales"] = Case(
    lambda: gemm_fp8_scaled(64, 128, 256),
    lambda: [
        randn(64, 256).to(torch.float8_e4m3fn),
        randn(128, 256, seed=1).to(torch.float8_e4m3fn),
        randn(64, 2).abs(),
        randn(128, 2).abs(),
    ],
    lambda a, b, sa, sb: (
        (a.float() * sa.repeat_interleave(128, 1)) @ (b.float() * sb.repeat_interleave(128, 1)).T
    ),
    tol=3e-1,
    needs=("wgmma",),
)


def quantize_rows(m: int, n: int, dtype: str):
    top = {E4M3: 448.0, E5M2: 57344.0}[dtype]

    @T.prim_func
    def main(X: T.Tensor((m, n), F32), Q: T.Tensor((m, n), dtype), S: T.Tensor((m,), F32)):
        with T.Kernel(m, threads=128) as row:
            x, amax = T.alloc_fragment((1, n), F32), T.alloc_fragment((1,), F32)
            T.copy(X[row, 0], x)
            T.reduce_absmax(x, amax, dim=1)
            S[row] = amax[0] / top
            for i, j in T.Parallel(1, n):
                Q[row, j] = T.cast(x[i, j] * (top / amax[i]), dtype)

    return main


for _d, _t in ((E4M3, torch.float8_e4m3fn), (E5M2, torch.float8_e5m2)):
    CASES[f"quantize_{_d}"] = Case(
        lambda _d=_d: quantize_rows(9, 256, _d),
        lambda: [randn(9, 256)],
        lambda x, _t=_t: [
            (x * (torch.finfo(_t).max / x.abs().amax(1, keepdim=True))).to(_t),
            x.abs().amax(1) / torch.finfo(_t).max,
        ],
        outputs=(1, 2),
        tol=0,
    )


def gemm_int4(m: int, n: int, k: int, bm: int = 64, bn: int = 64, bk: int = 64, group: int = 64):
    """Weights packed two per byte along K, one scale per group of K."""

    @T.prim_func
    def main(
        A: T.Tensor((m, k), BF16),
        P: T.Tensor((n, k // 2), U8),
        S: T.Tensor((n, k // group), BF16),
        C: T.Tensor((m, n), BF16),
    ):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            sa, sp = T.alloc_shared((bm, bk), BF16), T.alloc_shared((bn, bk // 2), U8)
            packed, w, sb = (
                T.alloc_fragment((bn, bk // 2), U8),
                T.alloc_fragment((bn, bk), BF16),
                T.alloc_shared((bn, bk), BF16),
            )
            acc = T.alloc_fragment((bm, bn), F32)
            T.clear(acc)
            for ko in T.Pipelined(k // bk, num_stages=2):
                T.copy(A[by * bm, ko * bk], sa)
                T.copy(P[bx * bn, ko * (bk // 2)], sp)
                T.copy(sp, packed)
                for i, j in T.Parallel(bn, bk):
                    nibble = T.cast((packed[i, j // 2] >> T.cast((j % 2) * 4, U8)) & T.cast(15, U8), I32) - 8
                    w[i, j] = T.cast(nibble, F32) * T.cast(S[bx * bn + i, ko * bk // group], F32)
                T.copy(w, sb)
                T.gemm(sa, sb, acc, transpose_B=True)
            T.copy(acc, C[by * bm, bx * bn])

    return main


def int4_ref(a: torch.Tensor, p: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
    w = torch.stack((p & 15, p >> 4), -1).reshape(p.shape[0], -1).int() - 8
    return a.float() @ (w * s.float().repeat_interleave(64, 1)).bfloat16().float().T


CASES["gemm_int4_weights"] = Case(
    lambda: gemm_int4(64, 128, 128),
    lambda: [
        randn(64, 128, dtype=torch.bfloat16),
        torch.randint(0, 256, (128, 64), dtype=torch.uint8),
        (randn(128, 2) / 8).bfloat16(),
    ],
    int4_ref,
    tol=1e-1,
    needs=("wgmma",),
)


def gemm_int8(m: int, n: int, k: int, bm: int = 64, bn: int = 64, bk: int = 64):
    @T.prim_func
    def main(A: T.Tensor((m, k), I8), B: T.Tensor((n, k), I8), C: T.Tensor((m, n), I32)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            sa, sb, acc = (
                T.alloc_shared((bm, bk), I8),
                T.alloc_shared((bn, bk), I8),
                T.alloc_fragment((bm, bn), I32),
            )
            T.clear(acc)
            for ko in T.Pipelined(T.ceildiv(k, bk), num_stages=2):
                T.copy(A[by * bm, ko * bk], sa)
                T.copy(B[bx * bn, ko * bk], sb)
                T.gemm(sa, sb, acc, transpose_B=True)
            T.copy(acc, C[by * bm, bx * bn])

    return main


CASES["gemm_int8"] = Case(
    lambda: gemm_int8(64, 64, 128),
    lambda: [
        torch.randint(-128, 128, (64, 128), dtype=torch.int8),
        torch.randint(-128, 128, (64, 128), dtype=torch.int8),
    ],
    lambda a, b: a.int() @ b.int().T,
    tol=0,
    needs=("wgmma",),
)
