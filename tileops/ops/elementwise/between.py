"""Values between and at the ends: interpolation, extremes and bounds."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op, PlainOp

__all__ = ["ClampFwdOp", "LerpFwdOp", "LerpTensorFwdOp", "MaximumFwdOp", "MinimumFwdOp"]


class LerpFwdOp(Op):
    r"""Interpolates between two tensors.

    $$
    y_i = \begin{cases} a_i + w\,(b_i - a_i) & |w| < \tfrac12 \\
    b_i - (b_i - a_i)(1 - w) & \text{otherwise} \end{cases}
    $$

    The shapes broadcast, and both tensors have one dtype.

    Args:
        weight: $w$: 0 gives `input`, 1 gives `end`, and values outside extrapolate.

    Raises:
        CallError: An argument breaks the specification below, or the shapes do not broadcast; the message
            names it.

    Numerics:
        Computed in float32 from the nearer end, as PyTorch does, so that weights 0 and 1 give the ends; one
        rounding at the store. Two runs are bitwise equal.

    Source:
        [`torch.lerp`](https://docs.pytorch.org/docs/stable/generated/torch.lerp.html).

    Examples:
        >>> import torch, tileops
        >>> lerp = tileops.LerpFwdOp(weight=0.25)
        >>> a, b = torch.randn(2, 7), torch.randn(7)
        >>> torch.testing.assert_close(lerp(a, b), torch.lerp(a, b, 0.25))
    """

    def __init__(
        self, *, weight: float = 0.5, target: str | None = None, implementation: str | None = None
    ) -> None:
        super().__init__(target=target, implementation=implementation, weight=weight)

    def forward(self, input: Tensor, end: Tensor) -> Tensor:
        r"""Interpolate.

        Args:
            input: $a$, of any shape.
            end: $b$, in the dtype of `input`; the shapes broadcast.

        Returns:
            The results, in the broadcast shape and the dtype of `input`.
        """
        return self._call(input, end)


class LerpTensorFwdOp(PlainOp):
    r"""Interpolates between two tensors by a weight for each element.

    $$
    y_i = \begin{cases} a_i + w_i\,(b_i - a_i) & |w_i| < \tfrac12 \\
    b_i - (b_i - a_i)(1 - w_i) & \text{otherwise} \end{cases}
    $$

    The three shapes broadcast, and the tensors have one dtype.

    Raises:
        CallError: An argument breaks the specification below, or the shapes do not broadcast; the message
            names it.

    Numerics:
        Computed in float32 from the nearer end, as PyTorch does, so that weights 0 and 1 give the ends; one
        rounding at the store. Two runs are bitwise equal.

    Source:
        [`torch.lerp`](https://docs.pytorch.org/docs/stable/generated/torch.lerp.html), with a tensor of
        weights.

    Examples:
        >>> import torch, tileops
        >>> lerp = tileops.LerpTensorFwdOp()
        >>> a, b, w = torch.randn(2, 7), torch.randn(7), torch.rand(2, 1)
        >>> torch.testing.assert_close(lerp(a, b, w), torch.lerp(a, b, w))
    """

    def forward(self, input: Tensor, end: Tensor, weight: Tensor) -> Tensor:
        r"""Interpolate.

        Args:
            input: $a$, of any shape.
            end: $b$, in the dtype of `input`.
            weight: $w$, in the dtype of `input`; the shapes broadcast.

        Returns:
            The results, in the broadcast shape and the dtype of `input`.
        """
        return self._call(input, end, weight)


class MaximumFwdOp(PlainOp):
    r"""The larger element of two tensors.

    $$
    y_i = \max(a_i, b_i)
    $$

    The shapes broadcast, and both tensors have one dtype. NaN if one of the two is NaN. Of booleans it is `a
    or b`.

    Raises:
        CallError: An argument breaks the specification below, or the shapes do not broadcast; the message
            names it.

    Numerics:
        Exact: every result is one of the two values. Two runs are bitwise equal.

    Source:
        [`torch.maximum`](https://docs.pytorch.org/docs/stable/generated/torch.maximum.html).

    Examples:
        >>> import torch, tileops
        >>> maximum = tileops.MaximumFwdOp()
        >>> a, b = torch.tensor([1.0, float("nan"), -2.0]), torch.tensor([0.0])
        >>> torch.testing.assert_close(maximum(a, b), torch.maximum(a, b), equal_nan=True)
    """

    def forward(self, input: Tensor, other: Tensor) -> Tensor:
        r"""Take the larger.

        Args:
            input: $a$, of any shape.
            other: $b$, in the dtype of `input`; the shapes broadcast.

        Returns:
            The results, in the broadcast shape and the dtype of `input`.
        """
        return self._call(input, other)


class MinimumFwdOp(PlainOp):
    r"""The smaller element of two tensors.

    $$
    y_i = \min(a_i, b_i)
    $$

    The shapes broadcast, and both tensors have one dtype. NaN if one of the two is NaN. Of booleans it is `a
    and b`.

    Raises:
        CallError: An argument breaks the specification below, or the shapes do not broadcast; the message
            names it.

    Numerics:
        Exact: every result is one of the two values. Two runs are bitwise equal.

    Source:
        [`torch.minimum`](https://docs.pytorch.org/docs/stable/generated/torch.minimum.html).

    Examples:
        >>> import torch, tileops
        >>> minimum = tileops.MinimumFwdOp()
        >>> a, b = torch.tensor([1.0, float("nan"), -2.0]), torch.tensor([0.0])
        >>> torch.testing.assert_close(minimum(a, b), torch.minimum(a, b), equal_nan=True)
    """

    def forward(self, input: Tensor, other: Tensor) -> Tensor:
        r"""Take the smaller.

        Args:
            input: $a$, of any shape.
            other: $b$, in the dtype of `input`; the shapes broadcast.

        Returns:
            The results, in the broadcast shape and the dtype of `input`.
        """
        return self._call(input, other)


class ClampFwdOp(PlainOp):
    r"""Bounds a tensor by tensors.

    $$
    y_i = \min(\max(x_i, l_i), h_i)
    $$

    The shapes broadcast, and the tensors have one dtype. One of the bounds may be absent. Where $l_i > h_i$
    the result is $h_i$; a NaN among the three stays. Bounds that are numbers have `ClampScalarFwdOp`.

    Raises:
        CallError: An argument breaks the specification below, or the shapes do not broadcast; the message
            names it.

    Numerics:
        Exact: every result is one of the values. Two runs are bitwise equal.

    Source:
        [`torch.clamp`](https://docs.pytorch.org/docs/stable/generated/torch.clamp.html), with tensors as
        bounds.

    Examples:
        >>> import torch, tileops
        >>> clamp = tileops.ClampFwdOp()
        >>> x, low = torch.randn(2, 7), torch.zeros(7)
        >>> torch.testing.assert_close(clamp(x, low), x.clamp(min=low))
    """

    def forward(self, input: Tensor, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
        r"""Bound.

        Args:
            input: $x$, of any shape.
            min: $l$, in the dtype of `input`.
            max: $h$, in the dtype of `input`; the shapes broadcast.

        Returns:
            The bounded values, in the broadcast shape and the dtype of `input`.
        """
        return self._call(input, min, max)
