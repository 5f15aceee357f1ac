"""Oracles of the gemm family: float64, one formula a function."""

import torch
from torch import Tensor


def gemm(a: Tensor, b: Tensor, *, trans_a: bool, trans_b: bool) -> Tensor:
    """Matrix product, each operand transposed first if asked."""
    left = a.double().mT if trans_a else a.double()
    right = b.double().mT if trans_b else b.double()
    return left @ right


def bmm(a: Tensor, b: Tensor) -> Tensor:
    """Matrix product of each pair of a batch."""
    return a.double() @ b.double()


def gemm_fp8(
    a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, bias: Tensor | None, *, out_dtype: torch.dtype
) -> Tensor:
    """Product of the dequantized operands, with the bias added; `out_dtype` is what it is rounded to."""
    y = _dequantized(a, scale_a) @ _dequantized(b, scale_b).mT
    return y if bias is None else y + bias.double()


def _dequantized(x: Tensor, scale: Tensor) -> Tensor:
    """Each row in blocks of 128 elements times the scale of the block, or one scale for all."""
    if scale.shape == (1, 1):
        return x.double() * scale.double()
    return x.double() * scale.double().repeat_interleave(128, 1)[:, : x.shape[1]]


def bmm_fp8_kn(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, *, out_dtype: torch.dtype) -> Tensor:
    """Product of each pair of a batch, b stored (K, N)."""
    return a.double() @ b.double() * scale_a.double() * scale_b.double()


def bmm_fp8_nk(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, *, out_dtype: torch.dtype) -> Tensor:
    """Product of each pair of a batch, b stored (N, K)."""
    return bmm_fp8_kn(a, b.mT, scale_a, scale_b, out_dtype=out_dtype)
