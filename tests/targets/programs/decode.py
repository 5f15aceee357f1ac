"""Decode over a paged cache, split along the sequence and combined."""

import math
from typing import Any

import tilelang.language as T
import torch
import torch.nn.functional as F

from tests.targets.programs.attention import online_step
from tests.targets.programs.case import BF16, CASES, F32, I32, Case, randn


def decode_split(
    b: int, hq: int, hkv: int, d: int, pages: int, page: int, max_pages: int, splits: int, dtype: str = BF16
):
    """Decode step over a paged cache, split along the sequence: partial outputs and log-sum-exps."""
    scale, group = math.log2(math.e) / math.sqrt(d), hq // hkv
    bm = 64  # wgmma rows; the unused ones are padding

    @T.prim_func
    def main(
        Q: T.Tensor((b, hq, d), dtype),
        KC: T.Tensor((pages, page, hkv, d), dtype),
        VC: T.Tensor((pages, page, hkv, d), dtype),
        Table: T.Tensor((b, max_pages), I32),
        Len: T.Tensor((b,), I32),
        PO: T.Tensor((b, hq, splits, d), F32),
        LSE: T.Tensor((b, hq, splits), F32),
    ):
        with T.Kernel(splits, hkv, b, threads=128) as (sp, h, bz):
            sq, sk, sv = (
                T.alloc_shared((bm, d), dtype),
                T.alloc_shared((page, d), dtype),
                T.alloc_shared((page, d), dtype),
            )
            acc, p, o = (
                T.alloc_fragment((bm, page), F32),
                T.alloc_fragment((bm, page), dtype),
                T.alloc_fragment((bm, d), F32),
            )
            top, prev, alpha, part, total = (T.alloc_fragment((bm,), F32) for _ in range(5))
            for i, j in T.Parallel(bm, d):
                sq[i, j] = T.if_then_else(
                    i < group, Q[bz, h * group + T.min(i, group - 1), j], T.cast(0, dtype)
                )
            T.clear(o)
            T.clear(total)
            T.fill(top, -T.infinity(F32))
            used = T.ceildiv(Len[bz], page)
            per = T.ceildiv(used, splits)
            for kk in T.Pipelined(T.max(0, T.min(per, used - sp * per)), num_stages=2):
                block = sp * per + kk
                slot = Table[bz, block]
                T.copy(KC[slot, :, h, :], sk)
                T.gemm(sq, sk, acc, transpose_B=True, clear_accum=True, policy=T.GemmWarpPolicy.FullRow)
                for i, j in T.Parallel(bm, page):
                    acc[i, j] = T.if_then_else(block * page + j < Len[bz], acc[i, j], -T.infinity(F32))
                online_step(acc, p, o, top, prev, alpha, part, total, scale, bm, page, d)
                T.copy(VC[slot, :, h, :], sv)
                T.gemm(p, sv, o, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(bm, d):
                if i < group:
                    PO[bz, h * group + i, sp, j] = T.if_then_else(total[i] > 0.0, o[i, j] / total[i], 0.0)
            for i in T.Parallel(bm):
                if i < group:
                    LSE[bz, h * group + i, sp] = T.if_then_else(
                        total[i] > 0.0, T.log2(total[i]) + top[i] * scale, -T.infinity(F32)
                    )

    return main


def combine_splits(b: int, h: int, d: int, splits: int, dtype: str = BF16):
    @T.prim_func
    def main(
        PO: T.Tensor((b, h, splits, d), F32),
        LSE: T.Tensor((b, h, splits), F32),
        Out: T.Tensor((b, h, d), dtype),
    ):
        with T.Kernel(h, b, threads=128) as (hh, bz):
            acc = T.alloc_fragment((d,), F32)
            top, total = T.alloc_var(F32, init=-T.infinity(F32)), T.alloc_var(F32, init=0.0)
            for i in T.serial(splits):
                top = T.max(top, LSE[bz, hh, i])
            T.clear(acc)
            for i in T.serial(splits):
                w = T.exp2(LSE[bz, hh, i] - top)
                total = total + w
                for j in T.Parallel(d):
                    acc[j] += PO[bz, hh, i, j] * w
            for j in T.Parallel(d):
                Out[bz, hh, j] = acc[j] / total

    return main


def paged_inputs() -> list[torch.Tensor]:
    b, hq, hkv, d, pages, page, max_pages = 2, 8, 2, 64, 12, 32, 5
    table = (
        torch.randperm(pages, generator=torch.Generator().manual_seed(0))[: b * max_pages]
        .reshape(b, max_pages)
        .int()
    )
    return [
        randn(b, hq, d, dtype=torch.bfloat16),
        randn(pages, page, hkv, d, dtype=torch.bfloat16, seed=1),
        randn(pages, page, hkv, d, dtype=torch.bfloat16, seed=2),
        table,
        torch.tensor([150, 33], dtype=torch.int32),
    ]


def paged_ref(
    q: torch.Tensor, kc: torch.Tensor, vc: torch.Tensor, table: torch.Tensor, lens: torch.Tensor
) -> torch.Tensor:
    outs = []
    for i, n in enumerate(lens.tolist()):
        k, v = (c[table[i].long()].flatten(0, 1)[:n].float().transpose(0, 1) for c in (kc, vc))
        outs.append(F.scaled_dot_product_attention(q[i].float()[:, None], k, v, enable_gqa=True)[:, 0])
    return torch.stack(outs)


def paged_partial_ref(q: Any, kc: Any, vc: Any, table: Any, lens: Any) -> list[torch.Tensor]:
    b, hq, d = q.shape
    splits, page = 3, kc.shape[1]
    po, lse = torch.zeros(b, hq, splits, d), torch.full((b, hq, splits), -math.inf)
    for i, n in enumerate(lens.tolist()):
        per = math.ceil(math.ceil(n / page) / splits) * page
        k, v = (c[table[i].long()].flatten(0, 1)[:n].float().repeat_interleave(4, 1) for c in (kc, vc))
        for s in range(splits):
            kk, vv = k[s * per : (s + 1) * per], v[s * per : (s + 1) * per]
            if len(kk):
                w = torch.einsum("hd,nhd->hn", q[i].float(), kk) / math.sqrt(d)
                po[i, :, s], lse[i, :, s] = (
                    torch.einsum("hn,nhd->hd", w.softmax(-1), vv),
                    w.logsumexp(-1) * math.log2(math.e),
                )
    return [po, lse]


CASES["decode_paged_split"] = Case(
    lambda: decode_split(2, 8, 2, 64, 12, 32, 5, 3), paged_inputs, paged_partial_ref, outputs=(5, 6), tol=2e-2
)

CASES["decode_combine"] = Case(
    lambda: combine_splits(2, 4, 64, 3),
    lambda: [randn(2, 4, 3, 64), randn(2, 4, 3)],
    lambda po, lse: (po * (lse * math.log(2)).softmax(-1)[..., None]).sum(2),
    tol=2e-2,
)
