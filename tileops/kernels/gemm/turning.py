"""Programs that transpose: float8 operands to have K innermost, their block scales to have K outermost."""

from typing import Any

import tilelang.language as T
import torch

from tileops.kernels.gemm.tiles import F32

SQUARE = 128


def turned_scales() -> Any:
    """Both block scales with K outermost, in rows of whole 16 bytes, as the mainloop reads them."""
    m, n, steps = T.dynamic("m"), T.dynamic("n"), T.dynamic("steps")
    m4, n4 = T.dynamic("m4") * 4, T.dynamic("n4") * 4

    @T.prim_func
    def main(
        SA: T.Tensor((m, steps), F32),
        SB: T.Tensor((n, steps), F32),
        TA: T.Tensor((steps, m4), F32),
        TB: T.Tensor((steps, n4), F32),
    ):
        with T.Kernel(T.ceildiv(T.max(m, n), 32), T.ceildiv(steps, 32), threads=128) as (bx, by):
            s = T.alloc_shared((2, 32, 33), F32)
            for i, j in T.Parallel(32, 32):
                s[0, i, j] = SA[bx * 32 + i, by * 32 + j]
                s[1, i, j] = SB[bx * 32 + i, by * 32 + j]
            for i, j in T.Parallel(32, 32):
                TA[by * 32 + i, bx * 32 + j] = s[0, j, i]
                TB[by * 32 + i, bx * 32 + j] = s[1, j, i]

    return main


def turned(dtype: str) -> Any:
    """Every matrix of a batch transposed, through shared memory in squares."""
    rows, cols, batch = T.dynamic("rows"), T.dynamic("cols"), T.dynamic("batch")

    @T.prim_func
    def main(X: T.Tensor((batch, rows, cols), dtype), Y: T.Tensor((batch, cols, rows), dtype)):
        with T.Kernel(T.ceildiv(cols, SQUARE), T.ceildiv(rows, SQUARE), batch, threads=256) as (bx, by, bz):
            s, y = T.alloc_shared((SQUARE, SQUARE + 4), dtype), T.alloc_fragment((SQUARE, SQUARE), dtype)
            for i, j in T.Parallel(SQUARE, SQUARE):
                s[i, j] = X[bz, by * SQUARE + i, bx * SQUARE + j]
            for i, j in T.Parallel(SQUARE, SQUARE):
                y[i, j] = s[j, i]
            T.copy(y, Y[bz, bx * SQUARE : (bx + 1) * SQUARE, by * SQUARE : (by + 1) * SQUARE])

    return main


def turn(run: Any, scale_a: torch.Tensor, scale_b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Both block scales with K outermost."""
    a, b = (s.new_empty(s.shape[1], -(-s.shape[0] // 4) * 4) for s in (scale_a, scale_b))
    run(scale_a, scale_b, a, b)
    return a, b
