"""Choices between values: masks, conditions and slopes."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op, PlainOp

__all__ = ["MaskedFillFwdOp", "MaskedFillScalarFwdOp", "PreluFwdOp", "WhereFwdOp"]


class WhereFwdOp(PlainOp):
    r"""Chooses between two tensors.

    $$
    y_i = \begin{cases} a_i & c_i \\ b_i & \text{otherwise} \end{cases}
    $$

    The three shapes broadcast; `input` and `other` have one dtype.

    Raises:
        CallError: An argument breaks the specification below, or the shapes do not broadcast; the message
            names it.

    Numerics:
        Exact: every result is one of the two values.

    Source:
        [`torch.where`](https://docs.pytorch.org/docs/stable/generated/torch.where.html).

    Examples:
        >>> import torch, tileops
        >>> where = tileops.WhereFwdOp()
        >>> a, b = torch.randn(2, 7), torch.randn(7)
        >>> assert torch.equal(where(a > 0, a, b), torch.where(a > 0, a, b))
    """

    def forward(self, condition: Tensor, input: Tensor, other: Tensor) -> Tensor:
        r"""Choose.

        Args:
            condition: $c$, of any shape.
            input: $a$, where the condition holds.
            other: $b$, in the dtype of `input`; the shapes broadcast.

        Returns:
            The choices, in the broadcast shape and the dtype of `input`.
        """
        return self._call(condition, input, other)


class MaskedFillFwdOp(PlainOp):
    r"""Replaces masked elements by the value of a tensor.

    $$
    y_i = \begin{cases} v & m_i \\ x_i & \text{otherwise} \end{cases}
    $$

    The shapes of `input` and `mask` broadcast. `input` is not changed.

    Raises:
        CallError: An argument breaks the specification below, or the shapes do not broadcast; the message
            names it.

    Numerics:
        Exact.

    Source:
        [`torch.Tensor.masked_fill`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.masked_fill.html),
        with a tensor as value.

    Examples:
        >>> import torch, tileops
        >>> fill = tileops.MaskedFillFwdOp()
        >>> x, value = torch.randn(2, 7), torch.tensor(-1.0)
        >>> assert torch.equal(fill(x, x > 0, value), x.masked_fill(x > 0, value))
    """

    def forward(self, input: Tensor, mask: Tensor, value: Tensor) -> Tensor:
        r"""Fill.

        Args:
            input: $x$, of any shape.
            mask: $m$: true where the value goes.
            value: $v$, a tensor without dimensions in the dtype of `input`.

        Returns:
            The filled values, in the broadcast shape and the dtype of `input`.
        """
        return self._call(input, mask, value)


class MaskedFillScalarFwdOp(Op):
    r"""Replaces masked elements by a number.

    $$
    y_i = \begin{cases} v & m_i \\ x_i & \text{otherwise} \end{cases}
    $$

    The shapes of `input` and `mask` broadcast. `input` is not changed.

    Args:
        value: $v$. Integers take finite values only.

    Raises:
        CallError: An argument breaks the specification below, or the shapes do not broadcast; the message
            names it.

    Numerics:
        The number is converted to the dtype of `input`: rounded to a float, cut to a whole number, or to
        whether it is not 0. Beyond the range, where PyTorch raises, a float is infinite and an integer wraps
        around.

    Source:
        [`torch.Tensor.masked_fill`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.masked_fill.html).

    Examples:
        >>> import torch, tileops
        >>> fill = tileops.MaskedFillScalarFwdOp(value=float("-inf"))
        >>> x = torch.randn(2, 7)
        >>> assert torch.equal(fill(x, x > 0), x.masked_fill(x > 0, float("-inf")))
    """

    def __init__(
        self, *, value: bool | int | float = 0.0, target: str | None = None, implementation: str | None = None
    ) -> None:
        super().__init__(target=target, implementation=implementation, value=value)

    def forward(self, input: Tensor, mask: Tensor) -> Tensor:
        r"""Fill.

        Args:
            input: $x$, of any shape.
            mask: $m$: true where the value goes; the shapes broadcast.

        Returns:
            The filled values, in the broadcast shape and the dtype of `input`.
        """
        return self._call(input, mask)


class PreluFwdOp(PlainOp):
    r"""Leaky rectifier with learned slopes.

    $$
    y_i = \begin{cases} x_i & x_i > 0 \\ w_{c(i)} \, x_i & \text{otherwise} \end{cases}
    $$

    $c(i)$ is the position of the element along the second axis; a weight of one element is the slope of all.

    Raises:
        CallError: An argument breaks the specification below, or the shapes do not broadcast; the message
            names it.

    Numerics:
        The product is float32, with one rounding at the store. Two runs are bitwise equal.

    Source:
        K. He et al., [Delving Deep into Rectifiers](https://arxiv.org/abs/1502.01852), 2015.

    Examples:
        >>> import torch, tileops
        >>> prelu = tileops.PreluFwdOp()
        >>> x, weight = torch.randn(2, 3, 5), torch.rand(3)
        >>> torch.testing.assert_close(prelu(x, weight), torch.nn.functional.prelu(x, weight))
    """

    def forward(self, input: Tensor, weight: Tensor) -> Tensor:
        r"""Rectify.

        Args:
            input: $x$, of any shape.
            weight: $w$, in the dtype of `input`: one element, or one for each position along the second axis.

        Returns:
            The rectified values, in the shape and dtype of `input`.
        """
        return self._call(input, weight)
