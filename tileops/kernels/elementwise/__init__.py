"""Elementwise programs: few of them, an operator is an expression. The bound is the bytes of the tensors."""

from tileops.kernels.elementwise.gated import gated
from tileops.kernels.elementwise.operands import broadcast, same_shape
from tileops.kernels.elementwise.position import alibi, sinusoidal
from tileops.kernels.elementwise.unary import unary

__all__ = ["alibi", "broadcast", "gated", "same_shape", "sinusoidal", "unary"]
