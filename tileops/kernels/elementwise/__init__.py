"""Elementwise programs: few of them, an operator is an expression. The bound is the bytes of the tensors."""

from tileops.kernels.elementwise.unary import gelu_unary, round_unary, unary

__all__ = ["gelu_unary", "round_unary", "unary"]
