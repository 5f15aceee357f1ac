"""Variance, deviation and mean over axes."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from tileops.op import Op

__all__ = ["StdFwdOp", "VarFwdOp", "VarMeanFwdOp"]


class VarFwdOp(Op):
    r"""Variance over one axis, several, or all.

    $$
    \mu = \frac{1}{N} \sum_{i \in \mathrm{dim}} x_i, \qquad
    \sigma^2 = \frac{1}{\max(0, N - \delta)} \sum_{i \in \mathrm{dim}} (x_i - \mu)^2
    $$

    with $N$ the number of elements.
    The result is $\sigma^2$: NaN without elements and of one with $\delta = 1$.

    Args:
        dim: Axis or axes to reduce, counted from the end when negative; `None` and an empty list mean all.
        correction: $\delta$: 1 for the unbiased variance of a sample, 0 for the variance of the elements.
        keepdim: Whether the reduced axes stay, with size 1.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Every thread keeps count, mean and squared distances from that mean, over a few elements at a time by
        two passes over them; these are joined by the distance of the means, so a large mean does not cancel
        the variance. Means are counted from the middle one of three of the elements. All of it is float32,
        with one rounding at the store. The order is fixed: two runs are bitwise equal.

    Source:
        [`torch.var`](https://docs.pytorch.org/docs/stable/generated/torch.var.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(3, 50)
        >>> y = tileops.VarFwdOp(dim=-1)(x)
        >>> torch.testing.assert_close(y, torch.var(x, -1))
    """

    def __init__(
        self,
        *,
        dim: int | Sequence[int] | None = None,
        correction: int = 1,
        keepdim: bool = False,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target, implementation=implementation, dim=dim, correction=correction, keepdim=keepdim
        )

    def forward(self, input: Tensor) -> Tensor:
        r"""Reduce over `dim`.

        Args:
            input: The elements, of any shape.

        Returns:
            The variances, in the dtype of `input`.
        """
        return self._call(input)


class StdFwdOp(Op):
    r"""Standard deviation over one axis, several, or all.

    $$
    \mu = \frac{1}{N} \sum_{i \in \mathrm{dim}} x_i, \qquad
    \sigma^2 = \frac{1}{\max(0, N - \delta)} \sum_{i \in \mathrm{dim}} (x_i - \mu)^2
    $$

    with $N$ the number of elements.
    The result is $\sigma$: NaN without elements and of one with $\delta = 1$.

    Args:
        dim: Axis or axes to reduce, counted from the end when negative; `None` and an empty list mean all.
        correction: $\delta$: 1 for the unbiased variance of a sample, 0 for the variance of the elements.
        keepdim: Whether the reduced axes stay, with size 1.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Every thread keeps count, mean and squared distances from that mean, over a few elements at a time by
        two passes over them; these are joined by the distance of the means, so a large mean does not cancel
        the variance. Means are counted from the middle one of three of the elements. All of it is float32,
        with one rounding at the store. The order is fixed: two runs are bitwise equal.

    Source:
        [`torch.std`](https://docs.pytorch.org/docs/stable/generated/torch.std.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(3, 50)
        >>> y = tileops.StdFwdOp(dim=-1)(x)
        >>> torch.testing.assert_close(y, torch.std(x, -1))
    """

    def __init__(
        self,
        *,
        dim: int | Sequence[int] | None = None,
        correction: int = 1,
        keepdim: bool = False,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target, implementation=implementation, dim=dim, correction=correction, keepdim=keepdim
        )

    def forward(self, input: Tensor) -> Tensor:
        r"""Reduce over `dim`.

        Args:
            input: The elements, of any shape.

        Returns:
            The deviations, in the dtype of `input`.
        """
        return self._call(input)


class VarMeanFwdOp(Op):
    r"""Variance and mean over one axis, several, or all.

    $$
    \mu = \frac{1}{N} \sum_{i \in \mathrm{dim}} x_i, \qquad
    \sigma^2 = \frac{1}{\max(0, N - \delta)} \sum_{i \in \mathrm{dim}} (x_i - \mu)^2
    $$

    with $N$ the number of elements.
    Both are returned: NaN without elements; the variance of one is NaN with $\delta = 1$.

    Args:
        dim: Axis or axes to reduce, counted from the end when negative; `None` and an empty list mean all.
        correction: $\delta$: 1 for the unbiased variance of a sample, 0 for the variance of the elements.
        keepdim: Whether the reduced axes stay, with size 1.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Every thread keeps count, mean and squared distances from that mean, over a few elements at a time by
        two passes over them; these are joined by the distance of the means, so a large mean does not cancel
        the variance. Means are counted from the middle one of three of the elements. All of it is float32,
        with one rounding at the store. The order is fixed: two runs are bitwise equal.

    Source:
        [`torch.var_mean`](https://docs.pytorch.org/docs/stable/generated/torch.var_mean.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(3, 50)
        >>> y = tileops.VarMeanFwdOp(dim=-1)(x)
        >>> torch.testing.assert_close(y, torch.var_mean(x, -1))
    """

    def __init__(
        self,
        *,
        dim: int | Sequence[int] | None = None,
        correction: int = 1,
        keepdim: bool = False,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target, implementation=implementation, dim=dim, correction=correction, keepdim=keepdim
        )

    def forward(self, input: Tensor) -> tuple[Tensor, Tensor]:
        r"""Reduce over `dim`.

        Args:
            input: The elements, of any shape.

        Returns:
            var: The variances, in the dtype of `input`.
            mean: The means.
        """
        return self._call(input)
