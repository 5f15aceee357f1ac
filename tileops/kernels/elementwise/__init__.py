"""Elementwise programs: few of them, an operator is an expression. The bound is the bytes of the tensors."""

from tileops.kernels.elementwise.binary import binary, binary_broadcast, div, div_broadcast, prelu
from tileops.kernels.elementwise.gated import gated
from tileops.kernels.elementwise.position import alibi, sinusoidal
from tileops.kernels.elementwise.ternary import clamp, clamp_broadcast, ternary, ternary_broadcast
from tileops.kernels.elementwise.unary import gelu_unary, round_unary, unary

__all__ = [
    "alibi",
    "binary",
    "binary_broadcast",
    "clamp",
    "clamp_broadcast",
    "div",
    "div_broadcast",
    "gated",
    "gelu_unary",
    "prelu",
    "round_unary",
    "sinusoidal",
    "ternary",
    "ternary_broadcast",
    "unary",
]
