"""Programs of the matrix products: one mainloop (`tiles`), and a module for each kind of schedule."""

from tileops.kernels.gemm.dense import gemm_general, gemm_persistent, gemm_split, gemm_tma
from tileops.kernels.gemm.fp8 import (
    bmm_fp8_general,
    bmm_fp8_persistent,
    gemm_fp8_general,
    gemm_fp8_persistent,
)

__all__ = [
    "bmm_fp8_general",
    "bmm_fp8_persistent",
    "gemm_fp8_general",
    "gemm_fp8_persistent",
    "gemm_general",
    "gemm_persistent",
    "gemm_split",
    "gemm_tma",
]
