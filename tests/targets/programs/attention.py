"""Attention with an online softmax: causal, grouped heads, window, packed sequences."""

import itertools
import math

import tilelang.language as T
import torch
import torch.nn.functional as F

from tests.targets.programs.case import BF16, CASES, F16, F32, I32, Case, randn


@T.macro
def online_step(s, p, o, top, prev, scale_o, part, total, scale, rows, cols, dim):
    """One online-softmax step: scores ``s`` to weights ``p``, running ``top``/``total``, rescaled ``o``."""
    T.copy(top, prev)
    T.reduce_max(s, top, dim=1, clear=False)
    for i in T.Parallel(rows):
        top[i] = T.max(top[i], prev[i])
        # A row that has seen no key yet keeps -inf; subtracting would give NaN.
        scale_o[i] = T.if_then_else(top[i] == -T.infinity(F32), 1.0, T.exp2((prev[i] - top[i]) * scale))
    for i, j in T.Parallel(rows, cols):
        s[i, j] = T.if_then_else(top[i] == -T.infinity(F32), 0.0, T.exp2((s[i, j] - top[i]) * scale))
    T.reduce_sum(s, part, dim=1)
    for i in T.Parallel(rows):
        total[i] = total[i] * scale_o[i] + part[i]
    T.copy(s, p)
    for i, j in T.Parallel(rows, dim):
        o[i, j] = o[i, j] * scale_o[i]


def attention(
    b: int, hq: int, hkv: int, s: int, d: int, window: int = 0, bm: int = 64, bn: int = 64, dtype: str = BF16
):
    """Causal (optionally sliding-window) attention with grouped key/value heads."""
    scale = math.log2(math.e) / math.sqrt(d)

    @T.prim_func
    def main(
        Q: T.Tensor((b, s, hq, d), dtype),
        K: T.Tensor((b, s, hkv, d), dtype),
        V: T.Tensor((b, s, hkv, d), dtype),
        Out: T.Tensor((b, s, hq, d), dtype),
    ):
        with T.Kernel(T.ceildiv(s, bm), hq, b, threads=128) as (bx, h, bz):
            sq, sk, sv = (
                T.alloc_shared((bm, d), dtype),
                T.alloc_shared((bn, d), dtype),
                T.alloc_shared((bn, d), dtype),
            )
            acc, p, o = (
                T.alloc_fragment((bm, bn), F32),
                T.alloc_fragment((bm, bn), dtype),
                T.alloc_fragment((bm, d), F32),
            )
            top, prev, alpha, part, total = (T.alloc_fragment((bm,), F32) for _ in range(5))
            T.copy(Q[bz, bx * bm : (bx + 1) * bm, h, :], sq)
            T.clear(o)
            T.clear(total)
            T.fill(top, -T.infinity(F32))
            first = T.max(0, bx * bm - window + 1) // bn if window else 0
            last = T.min(T.ceildiv((bx + 1) * bm, bn), T.ceildiv(s, bn))
            for kk in T.Pipelined(last - first, num_stages=2):
                n0 = (first + kk) * bn
                T.copy(K[bz, n0 : n0 + bn, h // (hq // hkv), :], sk)
                T.gemm(sq, sk, acc, transpose_B=True, clear_accum=True, policy=T.GemmWarpPolicy.FullRow)
                for i, j in T.Parallel(bm, bn):
                    ok = (n0 + j <= bx * bm + i) and (n0 + j < s)
                    if window:
                        ok = ok and (n0 + j > bx * bm + i - window)
                    acc[i, j] = T.if_then_else(ok, acc[i, j], -T.infinity(F32))
                online_step(acc, p, o, top, prev, alpha, part, total, scale, bm, bn, d)
                T.copy(V[bz, n0 : n0 + bn, h // (hq // hkv), :], sv)
                T.gemm(p, sv, o, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(bm, d):
                o[i, j] = o[i, j] / total[i]
            T.copy(o, Out[bz, bx * bm : (bx + 1) * bm, h, :])

    return main


def attention_ref(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, window: int = 0) -> torch.Tensor:
    q, k, v = (x.float().transpose(1, 2) for x in (q, k, v))
    n = q.shape[2]
    d = torch.arange(n)[:, None] - torch.arange(n)[None]
    mask = (d >= 0) & (d < window if window else True)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True).transpose(1, 2)


for _name, _args, _win in (
    ("causal", (1, 2, 2, 128, 64), 0),
    ("gqa_ragged", (1, 4, 2, 100, 64), 0),
    ("window", (1, 2, 1, 192, 64), 50),
):
    CASES[f"attention_{_name}"] = Case(
        lambda _args=_args, _win=_win: attention(*_args, window=_win),
        lambda _args=_args: [
            randn(_args[0], _args[3], h, _args[4], dtype=torch.bfloat16, seed=i)
            for i, h in enumerate((_args[1], _args[2], _args[2]))
        ],
        lambda q, k, v, _win=_win: attention_ref(q, k, v, _win),
        tol=3e-2,
        needs=("wgmma", "tma_load"),
    )


def attention_varlen(
    total: int, batch: int, h: int, d: int, max_len: int, bm: int = 64, bn: int = 64, dtype: str = F16
):
    """Packed sequences: ``Cu`` holds the start of every sequence."""
    scale = math.log2(math.e) / math.sqrt(d)

    @T.prim_func
    def main(
        Q: T.Tensor((total, h, d), dtype),
        K: T.Tensor((total, h, d), dtype),
        V: T.Tensor((total, h, d), dtype),
        Cu: T.Tensor((batch + 1,), I32),
        Out: T.Tensor((total, h, d), dtype),
    ):
        with T.Kernel(T.ceildiv(max_len, bm), h, batch, threads=128) as (bx, hh, bz):
            sq, sk, sv = (
                T.alloc_shared((bm, d), dtype),
                T.alloc_shared((bn, d), dtype),
                T.alloc_shared((bn, d), dtype),
            )
            acc, p, o = (
                T.alloc_fragment((bm, bn), F32),
                T.alloc_fragment((bm, bn), dtype),
                T.alloc_fragment((bm, d), F32),
            )
            top, prev, alpha, part, total_w = (T.alloc_fragment((bm,), F32) for _ in range(5))
            start = Cu[bz]
            length = Cu[bz + 1] - Cu[bz]
            if bx * bm < length:
                T.copy(Q[start + bx * bm : start + (bx + 1) * bm, hh, :], sq)
                T.clear(o)
                T.clear(total_w)
                T.fill(top, -T.infinity(F32))
                for kk in T.Pipelined(T.ceildiv(length, bn), num_stages=2):
                    T.copy(K[start + kk * bn : start + (kk + 1) * bn, hh, :], sk)
                    T.gemm(sq, sk, acc, transpose_B=True, clear_accum=True, policy=T.GemmWarpPolicy.FullRow)
                    for i, j in T.Parallel(bm, bn):
                        acc[i, j] = T.if_then_else(kk * bn + j < length, acc[i, j], -T.infinity(F32))
                    online_step(acc, p, o, top, prev, alpha, part, total_w, scale, bm, bn, d)
                    T.copy(V[start + kk * bn : start + (kk + 1) * bn, hh, :], sv)
                    T.gemm(p, sv, o, policy=T.GemmWarpPolicy.FullRow)
                for i, j in T.Parallel(bm, d):
                    if bx * bm + i < length:
                        Out[start + bx * bm + i, hh, j] = o[i, j] / total_w[i]

    return main


def varlen_ref(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, cu: torch.Tensor) -> torch.Tensor:
    parts = [
        F.scaled_dot_product_attention(*(x[s:e].float().transpose(0, 1) for x in (q, k, v))).transpose(0, 1)
        for s, e in itertools.pairwise(cu)
    ]
    return torch.cat(parts)


CASES["attention_varlen"] = Case(
    lambda: attention_varlen(200, 3, 2, 64, 120),
    lambda: (
        [randn(200, 2, 64, dtype=torch.float16, seed=i) for i in range(3)]
        + [torch.tensor([0, 120, 125, 200], dtype=torch.int32)]
    ),
    varlen_ref,
    tol=5e-3,
    needs=("wgmma",),
)
