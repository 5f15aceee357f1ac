"""Sums, means and products over axes."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from tileops.op import Op

__all__ = ["MeanFwdOp", "ProdFwdOp", "SumFwdOp"]


class SumFwdOp(Op):
    r"""Sum over one axis, several, or all.

    $$
    y = \sum_{i \in \mathrm{dim}} x_i
    $$

    The sum over no elements is 0.

    Args:
        dim: Axis or axes to reduce, counted from the end when negative; `None` and an empty list mean all.
        keepdim: Whether the reduced axes stay, with size 1.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Floats are added in float32, and there is one rounding at the store; integers and bools are added in
        int64, as in PyTorch. Every thread takes what it reads itself; those results are joined in a fixed
        order, so two runs are bitwise equal. PyTorch's `dtype=` is a conversion of `input` beforehand.

    Source:
        [`torch.sum`](https://docs.pytorch.org/docs/stable/generated/torch.sum.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 3, 4)
        >>> y = tileops.SumFwdOp(dim=(0, -1))(x)
        >>> torch.testing.assert_close(y, x.sum((0, -1)))
    """

    def __init__(
        self,
        *,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(target=target, implementation=implementation, dim=dim, keepdim=keepdim)

    def forward(self, input: Tensor) -> Tensor:
        r"""Sum over `dim`.

        Args:
            input: The terms, of any shape.

        Returns:
            The sums: in the dtype of `input`, of integers and bools in int64.
        """
        return self._call(input)


class MeanFwdOp(Op):
    r"""Mean over one axis, several, or all.

    $$
    y = \frac{1}{N} \sum_{i \in \mathrm{dim}} x_i
    $$

    with $N$ the number of terms. The mean of no elements is NaN. Integers are refused, as in PyTorch.

    Args:
        dim: Axis or axes to reduce, counted from the end when negative; `None` and an empty list mean all.
        keepdim: Whether the reduced axes stay, with size 1.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Sum and quotient are float32, and there is one rounding at the store. Every thread takes what it reads
        itself; those results are joined in a fixed order, so two runs are bitwise equal.

    Source:
        [`torch.mean`](https://docs.pytorch.org/docs/stable/generated/torch.mean.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(3, 50)
        >>> y = tileops.MeanFwdOp(dim=-1, keepdim=True)(x)
        >>> torch.testing.assert_close(y, x.mean(-1, keepdim=True))
    """

    def __init__(
        self,
        *,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(target=target, implementation=implementation, dim=dim, keepdim=keepdim)

    def forward(self, input: Tensor) -> Tensor:
        r"""Mean over `dim`.

        Args:
            input: The terms, of any shape.

        Returns:
            The means, in the dtype of `input`.
        """
        return self._call(input)


class ProdFwdOp(Op):
    r"""Product over one axis, or of all elements.

    $$
    y = \prod_{i \in \mathrm{dim}} x_i
    $$

    The product of no elements is 1.

    Args:
        dim: The axis, counted from the end when negative; `None` means all elements, as if in one row.
        keepdim: Whether the reduced axes stay, with size 1.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Floats are multiplied in float32, and there is one rounding at the store; a product beyond the range
        of float32 on the way stays infinite, or 0. Integers and bools are multiplied in int64, as in PyTorch.
        Every thread takes what it reads itself; those results are joined in a fixed order, so two runs are
        bitwise equal.

    Source:
        [`torch.prod`](https://docs.pytorch.org/docs/stable/generated/torch.prod.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.rand(3, 50) + 0.5
        >>> y = tileops.ProdFwdOp(dim=-1)(x)
        >>> torch.testing.assert_close(y, x.prod(-1))
    """

    def __init__(
        self,
        *,
        dim: int | None = None,
        keepdim: bool = False,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(target=target, implementation=implementation, dim=dim, keepdim=keepdim)

    def forward(self, input: Tensor) -> Tensor:
        r"""Multiply over `dim`.

        Args:
            input: The factors, of any shape.

        Returns:
            The products: in the dtype of `input`, of integers and bools in int64.
        """
        return self._call(input)
