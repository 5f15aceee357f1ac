"""Programs over rows: reductions, scans, norms, softmax."""

import tilelang.language as T
import torch
import torch.nn.functional as F

from tests.targets.programs.case import BF16, CASES, F32, I32, I64, Case, randn


def argmax_rows(m: int, n: int, bm: int = 4):
    @T.prim_func
    def main(X: T.Tensor((m, n), F32), V: T.Tensor((m,), F32), At: T.Tensor((m,), I64)):
        with T.Kernel(T.ceildiv(m, bm), threads=128) as bx:
            x, best = T.alloc_fragment((bm, n), F32), T.alloc_fragment((bm,), F32)
            where, first = T.alloc_fragment((bm, n), I32), T.alloc_fragment((bm,), I32)
            T.copy(X[bx * bm, 0], x)
            T.reduce_max(x, best, dim=1)
            for i, j in T.Parallel(bm, n):
                where[i, j] = T.if_then_else(x[i, j] == best[i], j, n)
            T.reduce_min(where, first, dim=1)
            T.copy(best, V[bx * bm])
            for i in T.Parallel(bm):
                if bx * bm + i < m:
                    At[bx * bm + i] = T.cast(first[i], I64)

    return main


CASES["argmax_rows"] = Case(
    lambda: argmax_rows(10, 384),
    lambda: [(randn(10, 384) * 3).round()],
    lambda x: [x.amax(1), x.argmax(1)],
    outputs=(1, 2),
    tol=0,
)


def softmax_long(m: int, n: int, block: int = 1024, dtype: str = F32):
    @T.prim_func
    def main(X: T.Tensor((m, n), dtype), Y: T.Tensor((m, n), dtype)):
        with T.Kernel(m, threads=128) as row:
            x = T.alloc_fragment((1, block), F32)
            top, nxt, total, part = (T.alloc_fragment((1,), F32) for _ in range(4))
            T.fill(top, -T.infinity(F32))
            T.clear(total)
            for b in T.serial(T.ceildiv(n, block)):
                for i, j in T.Parallel(1, block):
                    x[i, j] = T.if_then_else(
                        b * block + j < n, T.cast(X[row, b * block + j], F32), -T.infinity(F32)
                    )
                T.copy(top, nxt)
                T.reduce_max(x, nxt, dim=1, clear=False)
                for i, j in T.Parallel(1, block):
                    x[i, j] = T.exp(x[i, j] - nxt[i])
                T.reduce_sum(x, part, dim=1)
                for i in T.Parallel(1):
                    total[i] = total[i] * T.exp(top[i] - nxt[i]) + part[i]
                    top[i] = nxt[i]
            for b in T.serial(T.ceildiv(n, block)):
                for i, j in T.Parallel(1, block):
                    if b * block + j < n:
                        Y[row, b * block + j] = T.exp(T.cast(X[row, b * block + j], F32) - top[i]) / total[i]

    return main


CASES["softmax_long_rows"] = Case(
    lambda: softmax_long(3, 5000), lambda: [randn(3, 5000)], lambda x: x.softmax(-1)
)


def welford_rows(m: int, n: int, block: int = 256):
    @T.prim_func
    def main(X: T.Tensor((m, n), F32), Mean: T.Tensor((m,), F32), Var: T.Tensor((m,), F32)):
        with T.Kernel(m, threads=128) as row:
            x = T.alloc_fragment((1, block), F32)
            s = T.alloc_fragment((1,), F32)
            count, mean, m2 = (
                T.alloc_var(F32, init=0.0),
                T.alloc_var(F32, init=0.0),
                T.alloc_var(F32, init=0.0),
            )
            for b in T.serial(T.ceildiv(n, block)):
                size = T.cast(T.min(block, n - b * block), F32)
                for i, j in T.Parallel(1, block):
                    x[i, j] = T.if_then_else(b * block + j < n, X[row, b * block + j], 0.0)
                T.reduce_sum(x, s, dim=1)
                part = s[0] / size
                for i, j in T.Parallel(1, block):
                    x[i, j] = T.if_then_else(
                        b * block + j < n, (x[i, j] - s[0] / size) * (x[i, j] - s[0] / size), 0.0
                    )
                delta = part - mean
                mean = mean + delta * size / (count + size)
                T.reduce_sum(x, s, dim=1)
                m2 = m2 + s[0] + delta * delta * count * size / (count + size)
                count = count + size
            Mean[row] = mean
            Var[row] = m2 / count

    return main


CASES["welford"] = Case(
    lambda: welford_rows(5, 1000),
    lambda: [randn(5, 1000) + 100],
    lambda x: [x.mean(1), x.var(1, correction=0)],
    outputs=(1, 2),
    tol=2e-4,
)


def norm_rows(m: int, n: int, centered: bool, bm: int = 2, dtype: str = BF16):
    @T.prim_func
    def main(
        X: T.Tensor((m, n), dtype),
        W: T.Tensor((n,), dtype),
        B: T.Tensor((n,), dtype),
        Y: T.Tensor((m, n), dtype),
    ):
        with T.Kernel(T.ceildiv(m, bm), threads=128) as bx:
            x, sq = T.alloc_fragment((bm, n), F32), T.alloc_fragment((bm, n), F32)
            mean, var = T.alloc_fragment((bm,), F32), T.alloc_fragment((bm,), F32)
            T.copy(X[bx * bm, 0], x)
            T.clear(mean)
            if centered:
                T.reduce_sum(x, mean, dim=1)
            for i, j in T.Parallel(bm, n):
                x[i, j] = x[i, j] - mean[i] / n
                sq[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(sq, var, dim=1)
            for i, j in T.Parallel(bm, n):
                x[i, j] = x[i, j] * T.rsqrt(var[i] / n + 1e-5) * W[j] + B[j]
            T.copy(x, Y[bx * bm, 0])

    return main


CASES["rms_norm"] = Case(
    lambda: norm_rows(7, 512, False),
    lambda: [
        randn(7, 512, dtype=torch.bfloat16),
        randn(512, dtype=torch.bfloat16),
        randn(512, dtype=torch.bfloat16, seed=1),
    ],
    lambda x, w, b: F.rms_norm(x.float(), (512,), w.float(), 1e-5) + b.float(),
    tol=3e-2,
)

CASES["layer_norm"] = Case(
    lambda: norm_rows(7, 512, True),
    lambda: [
        randn(7, 512, dtype=torch.bfloat16),
        randn(512, dtype=torch.bfloat16),
        randn(512, dtype=torch.bfloat16, seed=1),
    ],
    lambda x, w, b: F.layer_norm(x.float(), (512,), w.float(), b.float(), 1e-5),
    tol=3e-2,
)


def reduce_kinds(m: int, n: int):
    @T.prim_func
    def main(
        X: T.Tensor((m, n), F32),
        A: T.Tensor((n,), F32),
        B: T.Tensor((m,), F32),
        C: T.Tensor((m,), F32),
        D: T.Tensor((1,), I32),
    ):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((m, n), F32)
            col, row, low = (
                T.alloc_fragment((n,), F32),
                T.alloc_fragment((m,), F32),
                T.alloc_fragment((m,), F32),
            )
            bits, one = T.alloc_fragment((n,), I32), T.alloc_fragment((1,), I32)
            T.copy(X, x)
            T.reduce_sum(x, col, dim=0)
            T.reduce_absmax(x, row, dim=1)
            T.reduce_min(x, low, dim=1)
            for j in T.Parallel(n):
                bits[j] = j
            T.reduce_bitor(bits, one, dim=0)
            T.copy(col, A)
            T.copy(row, B)
            T.copy(low, C)
            T.copy(one, D)

    return main


CASES["reduce_kinds"] = Case(
    lambda: reduce_kinds(16, 128),
    lambda: [randn(16, 128)],
    lambda x: [x.sum(0), x.abs().amax(1), x.amin(1), torch.tensor([127], dtype=torch.int32)],
    outputs=(1, 2, 3, 4),
)


def scans(m: int, n: int):
    @T.prim_func
    def main(
        X: T.Tensor((m, n), F32),
        Fwd: T.Tensor((m, n), F32),
        Rev: T.Tensor((m, n), F32),
        Top: T.Tensor((m, n), F32),
    ):
        with T.Kernel(1, threads=128):
            s, f = T.alloc_shared((m, n), F32), T.alloc_fragment((m, n), F32)
            T.copy(X, s)
            T.cumsum(s, dim=1)
            T.copy(s, Fwd)
            T.copy(X, f)
            T.cumsum(f, dim=1, reverse=True)
            T.copy(f, Rev)
            T.copy(X, s)
            T.cummax(s, dim=1)
            T.copy(s, Top)

    return main


CASES["cumsum_cummax"] = Case(
    lambda: scans(8, 64),
    lambda: [randn(8, 64)],
    lambda x: [x.cumsum(1), x.flip(1).cumsum(1).flip(1), x.cummax(1).values],
    outputs=(1, 2, 3),
)


def reducer_rows(m: int, n: int, bm: int = 8):
    @T.prim_func
    def main(X: T.Tensor((m, n), F32), S: T.Tensor((m,), F32), Top: T.Tensor((m,), F32)):
        with T.Kernel(T.ceildiv(m, bm), threads=128) as bx:
            x = T.alloc_fragment((bm, n), F32)
            total, top = T.alloc_reducer((bm,), F32, op="sum"), T.alloc_reducer((bm,), F32, op="max")
            s, t = T.alloc_fragment((bm,), F32), T.alloc_fragment((bm,), F32)
            T.copy(X[bx * bm, 0], x)
            T.reducer_init(total)
            T.reducer_init(top)
            for i, j in T.Parallel(bm, n):
                T.reducer_update(total[i], x[i, j] * x[i, j])
                T.reducer_update(top[i], x[i, j])
            T.finalize_reducer(total, s)
            T.finalize_reducer(top, t)
            T.copy(s, S[bx * bm])
            T.copy(t, Top[bx * bm])

    return main


CASES["alloc_reducer"] = Case(
    lambda: reducer_rows(16, 128),
    lambda: [randn(16, 128)],
    lambda x: [(x * x).sum(1), x.amax(1)],
    outputs=(1, 2),
    tol=1e-4,
)
