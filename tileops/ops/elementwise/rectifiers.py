"""Activations that bend at zero."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op

__all__ = ["EluFwdOp", "LeakyReluFwdOp", "ReluFwdOp", "SeluFwdOp"]


class ReluFwdOp(Op):
    r"""The rectified linear unit.

    $$
    y_i = \max(x_i, 0)
    $$

    NaN stays NaN, and $-0$ stays $-0$.

    Args:
        inplace: Write the result into `input` and return that tensor.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Exact.

    Source:
        [`torch.nn.functional.relu`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.relu.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7)
        >>> torch.testing.assert_close(tileops.ReluFwdOp()(x), torch.nn.functional.relu(x))
    """

    def __init__(
        self, *, inplace: bool = False, target: str | None = None, implementation: str | None = None
    ) -> None:
        super().__init__(target=target, implementation=implementation, inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        r"""Rectify.

        Args:
            input: $x$, of any shape.

        Returns:
            The rectified values, in the shape of `input`; `input` itself with `inplace`.
        """
        return self._call(input)


class LeakyReluFwdOp(Op):
    r"""The rectified linear unit with a slope below zero.

    $$
    y_i = \begin{cases} x_i & x_i > 0 \\ a \, x_i & \text{otherwise} \end{cases}
    $$

    NaN stays NaN.

    Args:
        negative_slope: $a$, the slope below zero.
        inplace: Write the result into `input` and return that tensor.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        The product is float32. One rounding, at the store; two runs are bitwise equal.

    Source:
        [`torch.nn.functional.leaky_relu`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.leaky_relu.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7)
        >>> torch.testing.assert_close(tileops.LeakyReluFwdOp()(x), torch.nn.functional.leaky_relu(x))
    """

    def __init__(
        self,
        *,
        negative_slope: float = 0.01,
        inplace: bool = False,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target, implementation=implementation, negative_slope=negative_slope, inplace=inplace
        )

    def forward(self, input: Tensor) -> Tensor:
        r"""Rectify.

        Args:
            input: $x$, of any shape.

        Returns:
            The rectified values, in the shape of `input`; `input` itself with `inplace`.
        """
        return self._call(input)


class EluFwdOp(Op):
    r"""The exponential linear unit.

    $$
    y_i = \begin{cases} \alpha \, (e^{x_i} - 1) & x_i < 0 \\ x_i & \text{otherwise} \end{cases}
    $$

    NaN stays NaN, and $-\infty$ gives $-\alpha$.

    Args:
        alpha: $\alpha$, minus the limit at $-\infty$.
        inplace: Write the result into `input` and return that tensor.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        float32, with `expm1` or for 16-bit dtypes a polynomial near zero, so that nothing cancels. One
        rounding, at the store; two runs are bitwise equal.

    Source:
        [`torch.nn.functional.elu`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.elu.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7)
        >>> torch.testing.assert_close(tileops.EluFwdOp()(x), torch.nn.functional.elu(x))
    """

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        inplace: bool = False,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(target=target, implementation=implementation, alpha=alpha, inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        r"""Apply the unit.

        Args:
            input: $x$, of any shape.

        Returns:
            The values, in the shape of `input`; `input` itself with `inplace`.
        """
        return self._call(input)


class SeluFwdOp(Op):
    r"""The scaled exponential linear unit.

    $$
    y_i = \lambda \begin{cases} x_i & x_i > 0 \\ \alpha \, (e^{x_i} - 1) & \text{otherwise} \end{cases}
    $$

    with $\alpha = 1.6732632423543772$ and $\lambda = 1.0507009873554805$, which keep mean 0 and variance
    1. NaN stays NaN.

    Args:
        inplace: Write the result into `input` and return that tensor.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        float32, with `expm1` or for 16-bit dtypes a polynomial near zero, so that nothing cancels. One
        rounding, at the store; two runs are bitwise equal.

    Source:
        G. Klambauer, T. Unterthiner, A. Mayr, S. Hochreiter, [Self-Normalizing Neural
        Networks](https://arxiv.org/abs/1706.02515), 2017;
        [`torch.nn.functional.selu`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.selu.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7)
        >>> torch.testing.assert_close(tileops.SeluFwdOp()(x), torch.nn.functional.selu(x))
    """

    def __init__(
        self, *, inplace: bool = False, target: str | None = None, implementation: str | None = None
    ) -> None:
        super().__init__(target=target, implementation=implementation, inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        r"""Apply the unit.

        Args:
            input: $x$, of any shape.

        Returns:
            The values, in the shape of `input`; `input` itself with `inplace`.
        """
        return self._call(input)
