"""Sums, products and means over axes."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from tileops.op import Op

__all__ = ["SumFwdOp"]


class SumFwdOp(Op):
    r"""Sum over one axis, several, or all.

    $$
    y = \sum_{i \in \mathrm{dim}} x_i
    $$

    The sum over no elements is 0.

    Args:
        dim: Axis or axes to sum over, counted from the end when negative; `None` and an empty list mean all.
        keepdim: Whether the summed axes stay, with size 1.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Floats are added in float32, and there is one rounding at the store. Every thread adds what it reads
        itself; those sums are added in a fixed order, so two runs are bitwise equal. Integers and bools are
        added in int64, as in PyTorch. PyTorch's `dtype=` is a conversion of `input` beforehand.

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
