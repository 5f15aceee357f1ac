"""Convolution over one to three axes.

With 16-bit operands and wide groups it is a matrix product, whose one operand is gathered. The rest runs on
CUDA cores, an output a thread.
"""

from tileops.kernels.convolution.program import conv

__all__ = ["conv"]
