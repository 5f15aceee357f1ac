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


def grouped_gemm(
    a: Tensor,
    b: Tensor,
    batch_sizes: Tensor,
    batch_offsets: Tensor,
    batch_padded_offsets: Tensor | None,
    *,
    transpose_a: bool,
    transpose_b: bool,
) -> Tensor:
    """A product for each group of rows, in a loop; rows of no group are zero."""
    a, b = a.double(), b.double()
    right = b.mT if transpose_b else b
    groups = [slice(o, o + n) for n, o in zip(batch_sizes.tolist(), batch_offsets.tolist(), strict=True)]
    if transpose_a:
        return torch.stack([a[rows].mT @ right[rows] for rows in groups])
    y = a.new_zeros(a.shape[0], right.shape[-1])
    for e, rows in enumerate(groups):
        y[rows] = a[rows] @ right[e]
    return y


def gemm_w4_a16(
    activation: Tensor, packed_weight: Tensor, weight_scale: Tensor, weight_zero: Tensor, *, group_size: int
) -> Tensor:
    """Product with the unpacked weights, the low four bits of a byte first."""
    q = torch.stack([packed_weight & 15, packed_weight >> 4], dim=-1).flatten(1)
    zero, scale = (t.double().repeat_interleave(group_size, 1) for t in (weight_zero, weight_scale))
    return activation.double() @ ((q.double() - zero) * scale).mT
