"""Selection, scatter, random numbers, control flow, and explicit stages."""

from typing import Any

import tilelang
import tilelang.language as T
import torch

from tests.targets.programs.case import BF16, CASES, F16, F32, I32, I64, U8, U32, Case, randn


def histogram_topk(rows: int, n: int, k: int):
    """The k-th largest 8-bit key of each row: histogram in shared memory, suffix sum, threshold."""

    @T.prim_func
    def main(
        X: T.Tensor((rows, n), U8),
        Kth: T.Tensor((rows,), I32),
        Out: T.Tensor((rows, n), I32),
        Num: T.Tensor((rows,), I32),
    ):
        with T.Kernel(rows, threads=128) as row:
            hist, kth, fill = (
                T.alloc_shared((256,), I32),
                T.alloc_shared((1,), I32),
                T.alloc_shared((1,), I32),
            )
            T.clear(hist)
            T.clear(kth)
            T.clear(fill)
            T.sync_threads()
            for i in T.Parallel(n):
                T.atomic_add(hist[T.cast(X[row, i], I32)], 1)
            T.sync_threads()
            T.cumsum(hist, dim=0, reverse=True)
            for i in T.Parallel(256):
                if hist[i] >= k:
                    T.atomic_max(kth[0], i)
            T.sync_threads()
            for i in T.Parallel(n):
                if T.cast(X[row, i], I32) > kth[0]:
                    slot = T.alloc_var(I32, init=0)
                    slot = T.atomic_add(fill[0], 1, return_prev=True)
                    Out[row, slot] = T.cast(X[row, i], I32)
            T.sync_threads()
            Kth[row] = kth[0]
            Num[row] = fill[0]

    return main


def topk_ref(x: torch.Tensor) -> list[Any]:
    kth = x.int().topk(10, 1).values[:, -1]
    return [kth.int(), None, (x.int() > kth[:, None]).sum(1).int()]


CASES["topk_histogram"] = Case(
    lambda: histogram_topk(4, 512, 10),
    lambda: [torch.randint(0, 256, (4, 512), dtype=torch.uint8)],
    topk_ref,
    outputs=(1, 2, 3),
    tol=0,
)


def index_add(n: int, rows: int, d: int, dtype: str):
    @T.prim_func
    def main(Src: T.Tensor((n, d), dtype), Idx: T.Tensor((n,), I64), Dst: T.Tensor((rows, d), dtype)):
        with T.Kernel(n, threads=128) as bx:
            for j in T.Parallel(d):
                T.atomic_add(Dst[Idx[bx], j], Src[bx, j])

    return main


for _d, _t in ((F32, torch.float32), (BF16, torch.bfloat16)):
    CASES[f"index_add_{_d}"] = Case(
        lambda _d=_d: index_add(40, 7, 64, _d),
        lambda _t=_t: [randn(40, 64, dtype=_t), torch.randint(0, 7, (40,)), torch.zeros(7, 64, dtype=_t)],
        lambda s, i, d: [s, i, torch.zeros(7, 64).index_add_(0, i, s.float())],
        outputs=(),
        inplace=(2,),
        tol=2e-1,
    )


@T.macro
def philox_round(c, k0, k1):
    lo0, lo1 = (
        T.cast(c[0], "uint64") * T.cast(0xD2511F53, "uint64"),
        T.cast(c[2], "uint64") * T.cast(0xCD9E8D57, "uint64"),
    )
    a = T.cast(lo1 >> T.cast(32, "uint64"), U32) ^ c[1] ^ k0
    b = T.cast(lo0 >> T.cast(32, "uint64"), U32) ^ c[3] ^ k1
    c[1] = T.cast(lo1 & T.cast(0xFFFFFFFF, "uint64"), U32)
    c[3] = T.cast(lo0 & T.cast(0xFFFFFFFF, "uint64"), U32)
    c[0] = a
    c[2] = b


def philox_uniform(n: int, seed: int):
    """Counter-based random numbers written in the language: the same bits on every target."""

    @T.prim_func
    def main(Y: T.Tensor((n, 4), U32)):
        with T.Kernel(T.ceildiv(n, 128), threads=128) as bx:
            for t in T.Parallel(128):
                c = T.alloc_local((4,), U32)
                k0, k1 = T.alloc_var(U32, init=T.cast(seed, U32)), T.alloc_var(U32, init=T.cast(0, U32))
                c[0] = T.cast(bx * 128 + t, U32)
                c[1] = T.cast(0, U32)
                c[2] = T.cast(0, U32)
                c[3] = T.cast(0, U32)
                for _ in T.serial(10):
                    philox_round(c, k0, k1)
                    k0 = k0 + T.cast(0x9E3779B9, U32)
                    k1 = k1 + T.cast(0xBB67AE85, U32)
                if bx * 128 + t < n:
                    for q in T.serial(4):
                        Y[bx * 128 + t, q] = c[q]

    return main


def philox_ref(n: int, seed: int) -> torch.Tensor:
    rows = []
    for i in range(n):
        c, k = [i, 0, 0, 0], [seed, 0]
        for _ in range(10):
            p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & 0xFFFFFFFF, (p0 >> 32) ^ c[3] ^ k[1], p0 & 0xFFFFFFFF]
            k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
        rows.append(c)
    return torch.tensor(rows, dtype=torch.int64).to(torch.uint32)


CASES["philox_macro"] = Case(lambda: philox_uniform(200, 42), list, lambda: philox_ref(200, 42), tol=0)


def collatz(n: int):
    """Data-dependent while loop and branches on the block index."""

    @T.prim_func
    def main(X: T.Tensor((n,), I32), Y: T.Tensor((n,), I32)):
        with T.Kernel(n, threads=32) as bx:
            x, steps = T.alloc_var(I32, init=X[bx]), T.alloc_var(I32, init=0)
            while x > 1:
                if x % 2 == 0:
                    x = x // 2
                else:
                    x = 3 * x + 1
                steps = steps + 1
            if bx == 0:
                Y[bx] = -1
            elif bx % 2 == 1:
                Y[bx] = steps
            else:
                Y[bx] = steps + 1000

    return main


def collatz_ref(x: torch.Tensor) -> torch.Tensor:
    def steps(v: int) -> int:
        n = 0
        while v > 1:
            v, n = (v // 2 if v % 2 == 0 else 3 * v + 1), n + 1
        return n

    return torch.tensor(
        [-1 if i == 0 else steps(v) + (0 if i % 2 else 1000) for i, v in enumerate(x.tolist())],
        dtype=torch.int32,
    )


CASES["while_and_branches"] = Case(
    lambda: collatz(30), lambda: [torch.arange(1, 31, dtype=torch.int32)], collatz_ref, tol=0
)


def transpose_swizzled(m: int, n: int, block: int = 64, dtype: str = F16):
    @T.prim_func
    def main(X: T.Tensor((m, n), dtype), Y: T.Tensor((n, m), dtype)):
        with T.Kernel(T.ceildiv(n, block), T.ceildiv(m, block), threads=128) as (bx, by):
            s, t = T.alloc_shared((block, block), dtype), T.alloc_fragment((block, block), dtype)
            T.annotate_layout({s: tilelang.layout.make_swizzled_layout(s)})
            T.copy(X[by * block, bx * block], s)
            for i, j in T.Parallel(block, block):
                t[i, j] = s[j, i]
            T.copy(t, Y[bx * block, by * block])

    return main


CASES["transpose_annotated_layout"] = Case(
    lambda: transpose_swizzled(128, 192), lambda: [randn(128, 192, dtype=torch.float16)], lambda x: x.T, tol=0
)


def manual_stages(m: int, n: int, k: int, bm: int = 64, bn: int = 64, bk: int = 32, dtype: str = F16):
    """Three-dimensional shared buffers indexed by a stage number."""

    @T.prim_func
    def main(A: T.Tensor((m, k), dtype), B: T.Tensor((k, n), dtype), C: T.Tensor((m, n), F32)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            sa, sb, acc = (
                T.alloc_shared((2, bm, bk), dtype),
                T.alloc_shared((2, bk, bn), dtype),
                T.alloc_fragment((bm, bn), F32),
            )
            T.clear(acc)
            for ko in T.serial(k // bk):
                T.copy(A[by * bm : (by + 1) * bm, ko * bk : (ko + 1) * bk], sa[ko % 2, :, :])
                T.copy(B[ko * bk : (ko + 1) * bk, bx * bn : (bx + 1) * bn], sb[ko % 2, :, :])
                T.gemm(sa[ko % 2, :, :], sb[ko % 2, :, :], acc)
            T.copy(acc, C[by * bm, bx * bn])

    return main


CASES["stage_indexed_buffers"] = Case(
    lambda: manual_stages(64, 64, 128),
    lambda: [randn(64, 128, dtype=torch.float16), randn(128, 64, dtype=torch.float16)],
    lambda a, b: a.float() @ b.float(),
    tol=1e-3,
    needs=("wgmma",),
)


def tma_barrier(m: int, n: int, dtype: str = F16):
    """Explicit TMA copy with a barrier but without warp specialization."""

    @T.prim_func
    def main(X: T.Tensor((m, n), dtype), Y: T.Tensor((m, n), dtype)):
        with T.Kernel(m // 64, threads=128) as bx:
            s, bar = T.alloc_shared((64, n), dtype), T.alloc_barrier(128)
            f = T.alloc_fragment((64, n), dtype)
            T.tma_copy(X[bx * 64 : (bx + 1) * 64, :], s, barrier=bar)
            T.barrier_arrive(bar)
            T.barrier_wait(bar, 0)
            T.copy(s, f)
            T.copy(f, Y[bx * 64, 0])

    return main


CASES["tma_copy_barrier"] = Case(
    lambda: tma_barrier(128, 64),
    lambda: [randn(128, 64, dtype=torch.float16)],
    lambda x: x,
    tol=0,
    needs=("tma_load",),
)
