"""Programs of the matrix products: one mainloop (`tiles`), and a module for each kind of schedule."""

from tileops.kernels.gemm.dense import gemm_general, gemm_persistent, gemm_split, gemm_tma
from tileops.kernels.gemm.few import bmm_swapped, gemm_gemv, gemm_swapped
from tileops.kernels.gemm.fp8 import (
    bmm_fp8_general,
    bmm_fp8_persistent,
    bmm_fp8_swapped,
    gemm_fp8_general,
    gemm_fp8_persistent,
    gemm_fp8_swapped,
)
from tileops.kernels.gemm.grouped import grouped_gemm_columns, grouped_gemm_general, grouped_gemm_rows
from tileops.kernels.gemm.w4a16 import (
    gemm_w4a16_few,
    gemm_w4a16_gemv,
    gemm_w4a16_general,
    gemm_w4a16_many,
)

__all__ = [
    "bmm_fp8_general",
    "bmm_fp8_persistent",
    "bmm_fp8_swapped",
    "bmm_swapped",
    "gemm_fp8_general",
    "gemm_fp8_persistent",
    "gemm_fp8_swapped",
    "gemm_gemv",
    "gemm_general",
    "gemm_persistent",
    "gemm_split",
    "gemm_swapped",
    "gemm_tma",
    "gemm_w4a16_few",
    "gemm_w4a16_gemv",
    "gemm_w4a16_general",
    "gemm_w4a16_many",
    "grouped_gemm_columns",
    "grouped_gemm_general",
    "grouped_gemm_rows",
]
