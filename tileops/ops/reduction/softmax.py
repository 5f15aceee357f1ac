"""Softmax, its logarithm, and the logarithm of its denominator."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from tileops.op import Op

__all__ = ["LogSoftmaxFwdOp", "LogSumExpFwdOp", "SoftmaxFwdOp"]


class SoftmaxFwdOp(Op):
    r"""Softmax along one axis.

    $$
    y_j = \frac{e^{x_j - m}}{\sum_k e^{x_k - m}}, \qquad m = \max_k x_k
    $$

    for each row $x$ along `dim`. A row that is $-\infty$ throughout gives NaN, and so does a row that holds
    NaN or $+\infty$, as in PyTorch.

    Args:
        dim: The axis, counted from the end when negative. `None` chooses as PyTorch's implicit rule does:
            axis 0 for tensors of 0, 1 and 3 dimensions, else axis 1.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Exponentials are taken in base 2 of float32 values scaled by $\log_2 e$; the sum is float32, and
        there is one rounding at the store. On the H200 results below $2^{-126}$ are 0. Two runs are bitwise
        equal.

    Source:
        [`torch.nn.functional.softmax`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.softmax.html).

    Examples:
        >>> import torch, tileops
        >>> softmax = tileops.SoftmaxFwdOp(dim=-1)
        >>> x = torch.randn(3, 50)
        >>> y = softmax(x)
        >>> torch.testing.assert_close(y, torch.nn.functional.softmax(x, dim=-1))
    """

    def __init__(
        self, *, dim: int | None = None, target: str | None = None, implementation: str | None = None
    ) -> None:
        super().__init__(target=target, implementation=implementation, dim=dim)

    def forward(self, input: Tensor) -> Tensor:
        r"""Softmax of every row along `dim`.

        Args:
            input: The logits, of any shape.

        Returns:
            The probabilities, in the shape and dtype of `input`.
        """
        return self._call(input)


class LogSoftmaxFwdOp(Op):
    r"""The logarithm of softmax along one axis.

    $$
    y_j = x_j - m - \ln \sum_k e^{x_k - m}, \qquad m = \max_k x_k
    $$

    for each row $x$ along `dim`. A row that is $-\infty$ throughout gives NaN, and so does a row that holds
    NaN or $+\infty$, as in PyTorch.

    Args:
        dim: The axis, counted from the end when negative. `None` chooses as PyTorch's implicit rule does:
            axis 0 for tensors of 0, 1 and 3 dimensions, else axis 1.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Exponentials are taken in base 2 of float32 values scaled by $\log_2 e$; sum, logarithm and
        differences are float32, and there is one rounding at the store. Two runs are bitwise equal.

    Source:
        [`torch.nn.functional.log_softmax`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.log_softmax.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(3, 50)
        >>> y = tileops.LogSoftmaxFwdOp(dim=-1)(x)
        >>> torch.testing.assert_close(y, torch.nn.functional.log_softmax(x, dim=-1))
    """

    def __init__(
        self, *, dim: int | None = None, target: str | None = None, implementation: str | None = None
    ) -> None:
        super().__init__(target=target, implementation=implementation, dim=dim)

    def forward(self, input: Tensor) -> Tensor:
        r"""Log-softmax of every row along `dim`.

        Args:
            input: The logits, of any shape.

        Returns:
            The log-probabilities, in the shape and dtype of `input`.
        """
        return self._call(input)


class LogSumExpFwdOp(Op):
    r"""The logarithm of the sum of exponentials over one axis, or several.

    $$
    y = m + \ln \sum_{i \in \mathrm{dim}} e^{x_i - m}, \qquad m = \max_{i \in \mathrm{dim}} x_i
    $$

    It is $-\infty$ where every element is, and over no elements; $+\infty$ where an element is, and none is
    NaN. Integers and booleans give float32.

    Args:
        dim: Axis or axes to reduce, counted from the end when negative. An empty list means all; it is taken
            with `keepdim`, or where there are no axes.
        keepdim: Whether the reduced axes stay, with size 1.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Every thread keeps the maximum of what it reads and the sum of exponentials relative to it, in base 2
        of float32 values; those are joined in a fixed order, so two runs are bitwise equal. There is one
        rounding at the store.

    Source:
        [`torch.logsumexp`](https://docs.pytorch.org/docs/stable/generated/torch.logsumexp.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(3, 50)
        >>> y = tileops.LogSumExpFwdOp(dim=-1)(x)
        >>> torch.testing.assert_close(y, torch.logsumexp(x, -1))
    """

    def __init__(
        self,
        *,
        dim: int | Sequence[int] = -1,
        keepdim: bool = False,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(target=target, implementation=implementation, dim=dim, keepdim=keepdim)

    def forward(self, input: Tensor) -> Tensor:
        r"""Reduce over `dim`.

        Args:
            input: The exponents, of any shape.

        Returns:
            The logarithms, in the dtype of `input`, or float32 for integers.
        """
        return self._call(input)
