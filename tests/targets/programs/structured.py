"""Linear attention, convolution, pooling and a Fourier transform."""

import math

import tilelang.language as T
import torch
import torch.nn.functional as F

from tests.targets.programs.case import BF16, CASES, F16, F32, I64, Case, randn


def linear_attention(b: int, h: int, s: int, dk: int, dv: int, chunk: int = 64, dtype: str = BF16):
    """Chunked causal linear attention: the running state lives in a fragment across chunks."""

    @T.prim_func
    def main(
        Q: T.Tensor((b, s, h, dk), dtype),
        K: T.Tensor((b, s, h, dk), dtype),
        V: T.Tensor((b, s, h, dv), dtype),
        Out: T.Tensor((b, s, h, dv), F32),
        Last: T.Tensor((b, h, dk, dv), F32),
    ):
        with T.Kernel(h, b, threads=128) as (hh, bz):
            sq, sk, sv = (
                T.alloc_shared((chunk, dk), dtype),
                T.alloc_shared((chunk, dk), dtype),
                T.alloc_shared((chunk, dv), dtype),
            )
            state, state_s = T.alloc_fragment((dk, dv), F32), T.alloc_shared((dk, dv), dtype)
            w, ws, o = (
                T.alloc_fragment((chunk, chunk), F32),
                T.alloc_shared((chunk, chunk), dtype),
                T.alloc_fragment((chunk, dv), F32),
            )
            T.clear(state)
            for c in T.Pipelined(s // chunk, num_stages=1):
                T.copy(Q[bz, c * chunk : (c + 1) * chunk, hh, :], sq)
                T.copy(K[bz, c * chunk : (c + 1) * chunk, hh, :], sk)
                T.copy(V[bz, c * chunk : (c + 1) * chunk, hh, :], sv)
                T.copy(state, state_s)
                T.gemm(sq, sk, w, transpose_B=True, clear_accum=True)
                for i, j in T.Parallel(chunk, chunk):
                    w[i, j] = T.if_then_else(i >= j, w[i, j], 0.0)
                T.copy(w, ws)
                T.gemm(ws, sv, o, clear_accum=True)
                T.gemm(sq, state_s, o)
                T.gemm(sk, sv, state, transpose_A=True)
                T.copy(o, Out[bz, c * chunk : (c + 1) * chunk, hh, :])
            T.copy(state, Last[bz, hh, :, :])

    return main


def linear_ref(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> list[torch.Tensor]:
    q, k, v = (x.float().transpose(1, 2) for x in (q, k, v))
    return [((q @ k.transpose(-1, -2)).tril() @ v).transpose(1, 2), k.transpose(-1, -2) @ v]


CASES["linear_attention_chunks"] = Case(
    lambda: linear_attention(1, 2, 192, 64, 64),
    lambda: [(randn(1, 192, 2, 64, seed=i) / 8).bfloat16() for i in range(3)],
    linear_ref,
    outputs=(3, 4),
    tol=3e-2,
    needs=("wgmma",),
)


def conv_implicit(
    n: int,
    h: int,
    w: int,
    c: int,
    f: int,
    k: int = 3,
    bm: int = 64,
    bn: int = 64,
    bk: int = 32,
    pad: int = 1,
    dtype: str = F16,
):
    """NHWC convolution as a GEMM whose A tile is gathered with predication."""
    kk = k * k * c

    @T.prim_func
    def main(
        X: T.Tensor((n, h, w, c), dtype), Wt: T.Tensor((kk, f), dtype), Y: T.Tensor((n * h * w, f), dtype)
    ):
        with T.Kernel(T.ceildiv(f, bn), T.ceildiv(n * h * w, bm), threads=128) as (bx, by):
            sa, sb, acc = (
                T.alloc_shared((bm, bk), dtype),
                T.alloc_shared((bk, bn), dtype),
                T.alloc_fragment((bm, bn), F32),
            )
            T.clear(acc)
            for ko in T.Pipelined(T.ceildiv(kk, bk), num_stages=2):
                for i, j in T.Parallel(bm, bk):
                    q, m = ko * bk + j, by * bm + i
                    yy = m // w % h + q // (k * c) - pad
                    xx = m % w + q // c % k - pad
                    inside = (
                        (m < n * h * w) and (q < kk) and (yy >= 0) and (yy < h) and (xx >= 0) and (xx < w)
                    )
                    sa[i, j] = T.if_then_else(inside, X[m // (h * w), yy, xx, q % c], T.cast(0, dtype))
                T.copy(Wt[ko * bk, bx * bn], sb)
                T.gemm(sa, sb, acc)
            T.copy(acc, Y[by * bm, bx * bn])

    return main


def conv_ref(x: torch.Tensor, wt: torch.Tensor) -> torch.Tensor:
    c, f = x.shape[3], wt.shape[1]
    y = F.conv2d(x.float().permute(0, 3, 1, 2), wt.float().reshape(3, 3, c, f).permute(3, 2, 0, 1), padding=1)
    return y.permute(0, 2, 3, 1).reshape(-1, f)


CASES["conv_gather"] = Case(
    lambda: conv_implicit(2, 9, 7, 16, 64),
    lambda: [randn(2, 9, 7, 16, dtype=torch.float16), randn(144, 64, dtype=torch.float16)],
    conv_ref,
    tol=5e-2,
    needs=("wgmma",),
)


def conv_im2col(
    n: int,
    h: int,
    w: int,
    c: int,
    f: int,
    k: int = 3,
    bm: int = 64,
    bn: int = 64,
    bk: int = 32,
    dtype: str = F16,
):
    @T.prim_func
    def main(
        X: T.Tensor((n, h, w, c), dtype),
        Wt: T.Tensor((k * k * c, f), dtype),
        Y: T.Tensor((n * h * w, f), dtype),
    ):
        with T.Kernel(T.ceildiv(f, bn), T.ceildiv(n * h * w, bm), threads=128) as (bx, by):
            sa, sb, acc = (
                T.alloc_shared((bm, bk), dtype),
                T.alloc_shared((bk, bn), dtype),
                T.alloc_fragment((bm, bn), F32),
            )
            T.clear(acc)
            for ko in T.Pipelined(k * k * c // bk, num_stages=2):
                T.im2col(X, sa, by, ko, k, 1, 1, 1)
                T.copy(Wt[ko * bk, bx * bn], sb)
                T.gemm(sa, sb, acc)
            T.copy(acc, Y[by * bm, bx * bn])

    return main


CASES["conv_im2col_op"] = Case(
    lambda: conv_im2col(1, 8, 8, 32, 64),
    lambda: [randn(1, 8, 8, 32, dtype=torch.float16), randn(288, 64, dtype=torch.float16)],
    conv_ref,
    tol=1e-1,
    needs=("wgmma", "im2col"),
)


def max_pool(n: int, c: int, h: int, w: int):
    ho, wo = h // 2, w // 2

    @T.prim_func
    def main(
        X: T.Tensor((n, c, h, w), F32), Y: T.Tensor((n, c, ho, wo), F32), At: T.Tensor((n, c, ho, wo), I64)
    ):
        with T.Kernel(n * c, threads=128) as bx:
            for i, j in T.Parallel(ho, wo):
                best = T.alloc_var(F32, init=-T.infinity(F32))
                at = T.alloc_var(I64, init=0)
                for u in T.serial(2):
                    for v in T.serial(2):
                        x = X[bx // c, bx % c, i * 2 + u, j * 2 + v]
                        if x > best:
                            best = x
                            at = T.cast((i * 2 + u) * w + j * 2 + v, I64)
                Y[bx // c, bx % c, i, j] = best
                At[bx // c, bx % c, i, j] = at

    return main


CASES["max_pool_indices"] = Case(
    lambda: max_pool(2, 3, 8, 12),
    lambda: [randn(2, 3, 8, 12)],
    lambda x: list(F.max_pool2d(x, 2, return_indices=True)),
    outputs=(1, 2),
    tol=0,
)


def fft_rows(m: int, n: int):
    """Radix-2 butterflies on real/imaginary pairs in shared memory (complex tensors as (..., 2))."""
    stages = n.bit_length() - 1

    @T.prim_func
    def main(X: T.Tensor((m, n, 2), F32), Y: T.Tensor((m, n, 2), F32)):
        with T.Kernel(m, threads=128) as row:
            re, im = T.alloc_shared((2, n), F32), T.alloc_shared((2, n), F32)
            for i in T.Parallel(n):
                re[0, i] = X[row, i, 0]
                im[0, i] = X[row, i, 1]
            for s in T.unroll(stages):  # Stockham: input half-stride n/2, output stride 2**s
                for t in T.Parallel(n // 2):
                    size = 1 << s
                    k, base = t % size, t // size * (2 * size) + t % size
                    ang = -math.pi * T.cast(k, F32) / T.cast(size, F32)
                    cr, ci = T.cos(ang), T.sin(ang)
                    br = re[s % 2, t + n // 2] * cr - im[s % 2, t + n // 2] * ci
                    bi = re[s % 2, t + n // 2] * ci + im[s % 2, t + n // 2] * cr
                    re[(s + 1) % 2, base] = re[s % 2, t] + br
                    im[(s + 1) % 2, base] = im[s % 2, t] + bi
                    re[(s + 1) % 2, base + size] = re[s % 2, t] - br
                    im[(s + 1) % 2, base + size] = im[s % 2, t] - bi
            for i in T.Parallel(n):
                Y[row, i, 0] = re[stages % 2, i]
                Y[row, i, 1] = im[stages % 2, i]

    return main


CASES["fft_pairs"] = Case(
    lambda: fft_rows(3, 256),
    lambda: [torch.view_as_real(torch.complex(randn(3, 256), randn(3, 256, seed=5)))],
    lambda x: torch.view_as_real(torch.fft.fft(torch.view_as_complex(x))),
    tol=1e-3,
)
