"""Gated activations: one half of a row, through an activation, scales the other."""

from __future__ import annotations

from torch import Tensor

from tileops.op import PlainOp

__all__ = ["GeluAndMulFwdOp", "GeluTanhAndMulFwdOp", "SiluAndMulFwdOp"]


class SiluAndMulFwdOp(PlainOp):
    r"""SwiGLU without its matrix products: SiLU of the first half of each row, times the second half.

    $$
    y_{mn} = \frac{x_{m,n}}{1 + e^{-x_{m,n}}} \cdot x_{m,N+n}
    $$

    for rows of $2N$ elements. A model that stores the value before the gate swaps the halves first. A gate of
    $-\infty$ gives NaN, as in PyTorch.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Everything is float32, the activation is not rounded before the product. One rounding, at the store;
        two runs are bitwise equal.

    Source:
        N. Shazeer, [GLU Variants Improve Transformer](https://arxiv.org/abs/2002.05202), 2020.

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(3, 16)
        >>> y = tileops.SiluAndMulFwdOp()(x)
        >>> torch.testing.assert_close(y, torch.nn.functional.silu(x[:, :8]) * x[:, 8:])
    """

    def forward(self, x: Tensor) -> Tensor:
        r"""Gate.

        Args:
            x: Rows of the gate, then the value, of $N$ elements each.

        Returns:
            The gated values, in the dtype of `x`.
        """
        return self._call(x)


class GeluAndMulFwdOp(PlainOp):
    r"""GEGLU without its matrix products: exact GELU of the first half of each row, times the second half.

    $$
    y_{mn} = \frac{x_{m,n}}{2} \left(1 + \operatorname{erf} \frac{x_{m,n}}{\sqrt 2}\right) \cdot x_{m,N+n}
    $$

    for rows of $2N$ elements. A model that stores the value before the gate swaps the halves first. A gate of
    $-\infty$ gives NaN, as in PyTorch.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Everything is float32, the activation is not rounded before the product. For 16-bit dtypes the normal
        distribution is its density times a polynomial, as in `GeluFwdOp`. One rounding, at the store; two
        runs are bitwise equal.

    Source:
        N. Shazeer, [GLU Variants Improve Transformer](https://arxiv.org/abs/2002.05202), 2020.

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(3, 16)
        >>> y = tileops.GeluAndMulFwdOp()(x)
        >>> torch.testing.assert_close(y, torch.nn.functional.gelu(x[:, :8]) * x[:, 8:])
    """

    def forward(self, x: Tensor) -> Tensor:
        r"""Gate.

        Args:
            x: Rows of the gate, then the value, of $N$ elements each.

        Returns:
            The gated values, in the dtype of `x`.
        """
        return self._call(x)


class GeluTanhAndMulFwdOp(PlainOp):
    r"""GEGLU with the form of GELU that has a tanh: of the first half of each row, times the second half.

    $$
    y_{mn} = \frac{u}{2} \left(1 + \tanh\left(\sqrt{2 / \pi} \, (u + 0.044715 \, u^3)\right)\right) \cdot
    x_{m,N+n}, \qquad u = x_{m,n}
    $$

    for rows of $2N$ elements. A model that stores the value before the gate swaps the halves first. A gate of
    $-\infty$ gives NaN, as in PyTorch.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Everything is float32, the activation is not rounded before the product. For 16-bit dtypes the factor
        with tanh is computed as a logistic function. One rounding, at the store; two runs are bitwise equal.

    Source:
        N. Shazeer, [GLU Variants Improve Transformer](https://arxiv.org/abs/2002.05202), 2020.

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(3, 16)
        >>> y = tileops.GeluTanhAndMulFwdOp()(x)
        >>> gate = torch.nn.functional.gelu(x[:, :8], approximate="tanh")
        >>> torch.testing.assert_close(y, gate * x[:, 8:])
    """

    def forward(self, x: Tensor) -> Tensor:
        r"""Gate.

        Args:
            x: Rows of the gate, then the value, of $N$ elements each.

        Returns:
            The gated values, in the dtype of `x`.
        """
        return self._call(x)
