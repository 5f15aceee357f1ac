"""Oracles of the gemm family: float64, one formula a function."""

from torch import Tensor


def gemm(a: Tensor, b: Tensor, *, trans_a: bool, trans_b: bool) -> Tensor:
    """Matrix product, each operand transposed first if asked."""
    left = a.double().mT if trans_a else a.double()
    right = b.double().mT if trans_b else b.double()
    return left @ right


def bmm(a: Tensor, b: Tensor) -> Tensor:
    """Matrix product of each pair of a batch."""
    return a.double() @ b.double()
