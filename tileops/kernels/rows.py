"""What the row kernels share: the shape of a tile, and the pieces of a normalization as macros.

A tile holds whole rows, or one piece of a row. It stays in registers in the dtype of its tensor; arithmetic
is float32.
"""

import tilelang.language as T

F32 = "float32"
ITEM_SIZE = {"float16": 2, "bfloat16": 2, "float32": 4}
FLUSH = {"tl.device_compile_flags": ["-ftz=true"]}  # exp2 in one instruction; results below 2^-126 are 0


def row_tile(n: int, dtype: str, values: int = 16) -> tuple[int, int, int]:
    """Rows, padded row length and threads of a block: 16-byte accesses, `values` elements a thread or so."""
    vector = 16 // ITEM_SIZE[dtype]
    if n <= 128 * vector:
        width = max(vector, 1 << (n - 1).bit_length())
        return 256 * vector // width, width, 128
    threads = min(512, max(128, 1 << (n // values - 1).bit_length()))
    span = threads * vector
    return 1, -(-n // span) * span, threads


def wide_access(n: int, dtype: str) -> tuple[str, ...]:
    """What the generated source must show: 16-byte accesses wherever the row length allows them."""
    vector = 16 // ITEM_SIZE[dtype]
    return () if n % vector else ("uint4",) if vector == 8 else ("float4",)


@T.macro
def sum_rows(x, mean, out, first, n, rows, width, centered):
    """Sum over each row of the tile ``x``, or of its squared distance from ``mean`` when ``centered``."""
    total = T.alloc_reducer((rows,), F32, op="sum")
    T.reducer_init(total)
    for i, j in T.Parallel(rows, width):
        if centered:
            d = T.if_then_else(first + j < n, T.cast(x[i, j], F32) - mean[i], 0.0)
            T.reducer_update(total[i], d * d)
        else:
            T.reducer_update(total[i], T.cast(x[i, j], F32))
    T.finalize_reducer(total, out)


@T.macro
def sum_squares(x, out, rows, width):
    """Sum of squares of each row; columns past the row's end were read as 0."""
    total = T.alloc_reducer((rows,), F32, op="sum")
    T.reducer_init(total)
    for i, j in T.Parallel(rows, width):
        T.reducer_update(total[i], T.cast(x[i, j], F32) * T.cast(x[i, j], F32))
    T.finalize_reducer(total, out)


@T.macro
def rms_rows(x, W, scale, n, eps, rows, width, dtype, weight):
    """The whole of RMSNorm on a tile of complete rows."""
    sum_squares(x, scale, rows, width)
    for i in T.Parallel(rows):
        scale[i] = T.rsqrt(scale[i] / n + eps)
    scale_rows(x, W, scale, 0, rows, width, dtype, weight)


@T.macro
def scale_rows(x, W, scale, first, rows, width, dtype, weight):
    """``x = x * scale * W`` for the columns from ``first``."""
    for i, j in T.Parallel(rows, width):
        if weight:
            x[i, j] = T.cast(T.cast(x[i, j], F32) * scale[i] * T.cast(W[first + j], F32), dtype)
        else:
            x[i, j] = T.cast(T.cast(x[i, j], F32) * scale[i], dtype)


@T.macro
def center_rows(x, W, B, mean, scale, first, rows, width, dtype, weight, bias):
    """``x = (x - mean) * scale * W + B`` for the columns from ``first``."""
    for i, j in T.Parallel(rows, width):
        y = (T.cast(x[i, j], F32) - mean[i]) * scale[i]
        if weight and bias:
            x[i, j] = T.cast(y * T.cast(W[first + j], F32) + T.cast(B[first + j], F32), dtype)
        elif weight:
            x[i, j] = T.cast(y * T.cast(W[first + j], F32), dtype)
        elif bias:
            x[i, j] = T.cast(y + T.cast(B[first + j], F32), dtype)
        else:
            x[i, j] = T.cast(y, dtype)


@T.macro
def add_rows(x, r, rows, width, dtype):
    """``x = x + r`` in float32, rounded to the dtype: what is stored is what the statistics see."""
    for i, j in T.Parallel(rows, width):
        x[i, j] = T.cast(T.cast(x[i, j], F32) + T.cast(r[i, j], F32), dtype)
