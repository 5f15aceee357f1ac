"""Elementwise programs: few of them, an operator is an expression. All are bound by the bytes of their tensors."""

from tileops.kernels.elementwise.unary import gelu_unary, round_unary, unary

__all__ = ["gelu_unary", "round_unary", "unary"]
