"""Programs of the matrix products: one mainloop (`tiles`), and a module for each kind of schedule."""

from tileops.kernels.gemm.dense import gemm_general, gemm_split, gemm_tma

__all__ = ["gemm_general", "gemm_split", "gemm_tma"]
