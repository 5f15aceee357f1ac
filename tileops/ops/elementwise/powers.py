"""Roots and reciprocals of each element."""

from __future__ import annotations

from torch import Tensor

from tileops.op import PlainOp

__all__ = ["ReciprocalFwdOp", "RsqrtFwdOp", "SqrtFwdOp"]


class SqrtFwdOp(PlainOp):
    r"""The square root of each element.

    $$
    y_i = \sqrt{x_i}
    $$

    NaN below zero; $\sqrt{-0} = -0$.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Correctly rounded in float32, then rounded to the dtype of the output.

    Source:
        [`torch.sqrt`](https://docs.pytorch.org/docs/stable/generated/torch.sqrt.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7).abs()
        >>> torch.testing.assert_close(tileops.SqrtFwdOp()(x), torch.sqrt(x))
    """

    def forward(self, input: Tensor) -> Tensor:
        r"""Take the square root.

        Args:
            input: $x$, of any shape. Integers and booleans count as float32.

        Returns:
            The square roots, in the shape of `input`.
        """
        return self._call(input)


class RsqrtFwdOp(PlainOp):
    r"""The reciprocal square root of each element.

    $$
    y_i = \frac{1}{\sqrt{x_i}}
    $$

    $\infty$ at $0$, $-\infty$ at $-0$, NaN below.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        The hardware's reciprocal square root, within 2 units in the last place of float32.

    Source:
        [`torch.rsqrt`](https://docs.pytorch.org/docs/stable/generated/torch.rsqrt.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7).abs()
        >>> torch.testing.assert_close(tileops.RsqrtFwdOp()(x), torch.rsqrt(x))
    """

    def forward(self, input: Tensor) -> Tensor:
        r"""Take the reciprocal square root.

        Args:
            input: $x$, of any shape. Integers and booleans count as float32.

        Returns:
            The reciprocal square roots, in the shape of `input`.
        """
        return self._call(input)


class ReciprocalFwdOp(PlainOp):
    r"""The reciprocal of each element.

    $$
    y_i = \frac{1}{x_i}
    $$

    A zero gives the infinity of its sign, and an infinity the zero of its sign.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        A correctly rounded division in float32.

    Source:
        [`torch.reciprocal`](https://docs.pytorch.org/docs/stable/generated/torch.reciprocal.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7)
        >>> torch.testing.assert_close(tileops.ReciprocalFwdOp()(x), torch.reciprocal(x))
    """

    def forward(self, input: Tensor) -> Tensor:
        r"""Take the reciprocal.

        Args:
            input: $x$, of any shape. Integers and booleans count as float32.

        Returns:
            The reciprocals, in the shape of `input`.
        """
        return self._call(input)
