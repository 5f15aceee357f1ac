"""Absolute value, negative and sign of each element."""

from __future__ import annotations

from torch import Tensor

from tileops.op import PlainOp

__all__ = ["AbsFwdOp", "NegFwdOp", "SignFwdOp"]


class AbsFwdOp(PlainOp):
    r"""The absolute value of each element.

    $$
    y_i = |x_i|
    $$

    The smallest integer of a signed dtype is its own absolute value, as it wraps.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Exact.

    Source:
        [`torch.abs`](https://docs.pytorch.org/docs/stable/generated/torch.abs.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7)
        >>> torch.testing.assert_close(tileops.AbsFwdOp()(x), torch.abs(x))
    """

    def forward(self, input: Tensor) -> Tensor:
        r"""Take the absolute value.

        Args:
            input: $x$, of any shape.

        Returns:
            The absolute values, in the shape of `input`.
        """
        return self._call(input)


class NegFwdOp(PlainOp):
    r"""The negative of each element.

    $$
    y_i = -x_i
    $$

    Integers wrap: the smallest of a signed dtype is its own negative, and $-1$ in uint8 is 255.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Exact.

    Source:
        [`torch.neg`](https://docs.pytorch.org/docs/stable/generated/torch.neg.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7)
        >>> torch.testing.assert_close(tileops.NegFwdOp()(x), torch.neg(x))
    """

    def forward(self, input: Tensor) -> Tensor:
        r"""Negate.

        Args:
            input: $x$, of any shape.

        Returns:
            The negatives, in the shape of `input`.
        """
        return self._call(input)


class SignFwdOp(PlainOp):
    r"""The sign of each element.

    $$
    y_i = \begin{cases} 1 & x_i > 0 \\ -1 & x_i < 0 \\ 0 & \text{otherwise} \end{cases}
    $$

    Zeros of both signs and NaN give $0$; booleans stay what they are.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Exact.

    Source:
        [`torch.sign`](https://docs.pytorch.org/docs/stable/generated/torch.sign.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7)
        >>> torch.testing.assert_close(tileops.SignFwdOp()(x), torch.sign(x))
    """

    def forward(self, input: Tensor) -> Tensor:
        r"""Take the sign.

        Args:
            input: $x$, of any shape.

        Returns:
            The signs, in the shape of `input`.
        """
        return self._call(input)
