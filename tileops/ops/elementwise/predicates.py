"""Tests of each element, and negation of truth and bits."""

from __future__ import annotations

from torch import Tensor

from tileops.op import PlainOp

__all__ = ["BitwiseNotFwdOp", "IsfiniteFwdOp", "IsinfFwdOp", "IsnanFwdOp", "LogicalNotFwdOp"]


class IsnanFwdOp(PlainOp):
    r"""Whether each element is NaN.

    $$
    y_i = [x_i \text{ is NaN}]
    $$

    Integers and booleans never are.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Exact.

    Source:
        [`torch.isnan`](https://docs.pytorch.org/docs/stable/generated/torch.isnan.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.tensor([1.0, float("nan"), float("inf")])
        >>> tileops.IsnanFwdOp()(x)
        tensor([False,  True, False])
    """

    def forward(self, input: Tensor) -> Tensor:
        r"""Test.

        Args:
            input: $x$, of any shape.

        Returns:
            Booleans, in the shape of `input`.
        """
        return self._call(input)


class IsinfFwdOp(PlainOp):
    r"""Whether each element is infinite, of either sign.

    $$
    y_i = [|x_i| = \infty]
    $$

    Integers and booleans never are.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Exact.

    Source:
        [`torch.isinf`](https://docs.pytorch.org/docs/stable/generated/torch.isinf.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.tensor([1.0, float("nan"), float("-inf")])
        >>> tileops.IsinfFwdOp()(x)
        tensor([False, False,  True])
    """

    def forward(self, input: Tensor) -> Tensor:
        r"""Test.

        Args:
            input: $x$, of any shape.

        Returns:
            Booleans, in the shape of `input`.
        """
        return self._call(input)


class IsfiniteFwdOp(PlainOp):
    r"""Whether each element is neither infinite nor NaN.

    $$
    y_i = [|x_i| < \infty]
    $$

    Integers and booleans always are.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Exact.

    Source:
        [`torch.isfinite`](https://docs.pytorch.org/docs/stable/generated/torch.isfinite.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.tensor([1.0, float("nan"), float("-inf")])
        >>> tileops.IsfiniteFwdOp()(x)
        tensor([ True, False, False])
    """

    def forward(self, input: Tensor) -> Tensor:
        r"""Test.

        Args:
            input: $x$, of any shape.

        Returns:
            Booleans, in the shape of `input`.
        """
        return self._call(input)


class LogicalNotFwdOp(PlainOp):
    r"""Whether each element is zero.

    $$
    y_i = [x_i = 0]
    $$

    Zeros of both signs give true, NaN gives false.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Exact.

    Source:
        [`torch.logical_not`](https://docs.pytorch.org/docs/stable/generated/torch.logical_not.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.tensor([0, 3, -1])
        >>> tileops.LogicalNotFwdOp()(x)
        tensor([ True, False, False])
    """

    def forward(self, input: Tensor) -> Tensor:
        r"""Negate the truth of each element.

        Args:
            input: $x$, of any shape.

        Returns:
            Booleans, in the shape of `input`.
        """
        return self._call(input)


class BitwiseNotFwdOp(PlainOp):
    r"""Each element with all its bits changed.

    $$
    y_i = -x_i - 1
    $$

    This is the formula for signed integers; in uint8 it is $255 - x_i$, and of booleans the other one.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Exact.

    Source:
        [`torch.bitwise_not`](https://docs.pytorch.org/docs/stable/generated/torch.bitwise_not.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.tensor([0, 3, -1])
        >>> tileops.BitwiseNotFwdOp()(x)
        tensor([-1, -4,  0])
    """

    def forward(self, input: Tensor) -> Tensor:
        r"""Change every bit.

        Args:
            input: $x$, of any shape.

        Returns:
            The integers, in the shape of `input`.
        """
        return self._call(input)
