"""Programs without a sequential meaning, or of types that a CPU lacks: they must be refused."""

import tilelang.language as T

from tests.targets.programs.case import BF16, F16, F32


def warp_specialized(m: int, n: int, k: int, bm: int = 128, bn: int = 128, bk: int = 64, dtype: str = F16):
    @T.prim_func
    def main(A: T.Tensor((m, k), dtype), B: T.Tensor((k, n), dtype), C: T.Tensor((m, n), dtype)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=256) as (bx, by):
            sa, sb, acc = (
                T.alloc_shared((2, bm, bk), dtype),
                T.alloc_shared((2, bk, bn), dtype),
                T.alloc_fragment((bm, bn), F32),
            )
            full, empty = T.alloc_barrier([128] * 2), T.alloc_barrier([128] * 2)
            with T.ws(1):
                T.set_max_nreg(24, 0)
                for ko in T.serial(k // bk):
                    T.barrier_wait(empty[ko % 2], ((ko // 2) % 2) ^ 1)
                    T.tma_copy(
                        A[by * bm : (by + 1) * bm, ko * bk : (ko + 1) * bk],
                        sa[ko % 2, :, :],
                        barrier=full[ko % 2],
                    )
                    T.tma_copy(
                        B[ko * bk : (ko + 1) * bk, bx * bn : (bx + 1) * bn],
                        sb[ko % 2, :, :],
                        barrier=full[ko % 2],
                    )
                    T.barrier_arrive(full[ko % 2])
            with T.ws(0):
                T.set_max_nreg(240, 1)
                T.clear(acc)
                for ko in T.serial(k // bk):
                    T.barrier_wait(full[ko % 2], (ko // 2) % 2)
                    T.gemm(sa[ko % 2, :, :], sb[ko % 2, :, :], acc)
                    T.barrier_arrive(empty[ko % 2])
                T.copy(acc, C[by * bm, bx * bn])

    return main


def warp_shuffle(n: int):
    @T.prim_func
    def main(X: T.Tensor((n,), F32), Y: T.Tensor((1,), F32)):
        with T.Kernel(1, threads=32):
            tx = T.get_thread_binding()
            v = T.alloc_var(F32, init=X[tx])
            v = T.warp_reduce_sum(v)
            if tx == 0:
                Y[0] = v

    return main


def curand(n: int):
    @T.prim_func
    def main(Y: T.Tensor((n,), F32)):
        with T.Kernel(T.ceildiv(n, 128), threads=128) as bx:
            T.rng_init(7)
            for i in T.Parallel(128):
                Y[bx * 128 + i] = T.rng_rand_float()

    return main


def bf16_atomic_result(n: int):
    @T.prim_func
    def main(X: T.Tensor((n,), BF16), Y: T.Tensor((n,), BF16)):
        with T.Kernel(1, threads=n):
            for i in T.Parallel(n):
                old = T.alloc_var(BF16, init=T.cast(0, BF16))
                old = T.atomic_add(X[0], X[i], return_prev=True)
                Y[i] = old

    return main


def int4_copy(n: int):
    @T.prim_func
    def main(X: T.Tensor((n,), "int4"), Y: T.Tensor((n,), "int4")):
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((n,), "int4")
            T.copy(X, s)
            T.copy(s, Y)

    return main


# how to trace it, and what the refusal says
REFUSED = {
    "bf16_atomic_result": (lambda: bf16_atomic_result(128), "atomic_add_ret_elem_op on bfloat16"),
    "int4_copy": (lambda: int4_copy(256), "int4 has no CPU form"),
    "warp_specialized": (lambda: warp_specialized(256, 256, 256), "reads the thread index"),
    "warp_shuffle": (lambda: warp_shuffle(32), "reads the thread index"),
    "curand": (lambda: curand(256), "rng_init works on threads"),
}
