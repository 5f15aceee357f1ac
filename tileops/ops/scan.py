"""Running sums and products."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op

__all__ = ["CumprodFwdOp", "CumsumFwdOp"]


class CumsumFwdOp(Op):
    r"""Running sum along one axis.

    $$
    y_j = \sum_{i \le j} x_i
    $$

    along `dim`.

    Args:
        dim: The axis, counted from the end when negative.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Floats are added in float32, and there is one rounding at the store of each element, none on the way;
        integers and bools are int64, as in PyTorch. A thread scans neighbours, and what came before is joined
        to that in a fixed order, so two runs are bitwise equal. PyTorch's `dtype=` is a conversion of `input`
        beforehand.

    Source:
        [`torch.cumsum`](https://docs.pytorch.org/docs/stable/generated/torch.cumsum.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.rand(3, 50) + 0.5
        >>> y = tileops.CumsumFwdOp(dim=-1)(x)
        >>> torch.testing.assert_close(y, x.cumsum(-1))
    """

    def __init__(
        self, *, dim: int = -1, target: str | None = None, implementation: str | None = None
    ) -> None:
        super().__init__(target=target, implementation=implementation, dim=dim)

    def forward(self, input: Tensor) -> Tensor:
        r"""Add along `dim`.

        Args:
            input: The elements, of any shape.

        Returns:
            The results in the shape of `input`: in its dtype, of integers and bools in int64.
        """
        return self._call(input)


class CumprodFwdOp(Op):
    r"""Running product along one axis.

    $$
    y_j = \prod_{i \le j} x_i
    $$

    along `dim`.

    Args:
        dim: The axis, counted from the end when negative.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Floats are multiplied in float32, and there is one rounding at the store of each element, none on the
        way; integers and bools are int64, as in PyTorch. A thread scans neighbours, and what came before is
        joined to that in a fixed order, so two runs are bitwise equal. PyTorch's `dtype=` is a conversion of
        `input` beforehand.

    Source:
        [`torch.cumprod`](https://docs.pytorch.org/docs/stable/generated/torch.cumprod.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.rand(3, 50) + 0.5
        >>> y = tileops.CumprodFwdOp(dim=-1)(x)
        >>> torch.testing.assert_close(y, x.cumprod(-1))
    """

    def __init__(
        self, *, dim: int = -1, target: str | None = None, implementation: str | None = None
    ) -> None:
        super().__init__(target=target, implementation=implementation, dim=dim)

    def forward(self, input: Tensor) -> Tensor:
        r"""Multiply along `dim`.

        Args:
            input: The elements, of any shape.

        Returns:
            The results in the shape of `input`: in its dtype, of integers and bools in int64.
        """
        return self._call(input)
