"""Truth over axes."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from tileops.op import Op

__all__ = ["AllFwdOp", "AnyFwdOp", "CountNonzeroFwdOp"]


class AllFwdOp(Op):
    r"""Whether every element over one axis, several, or all is not 0.

    $$
    y = \bigwedge_{i \in \mathrm{dim}} (x_i \neq 0)
    $$

    NaN is not 0. Of no elements the result is true.

    Args:
        dim: Axis or axes to reduce, counted from the end when negative; `None` means
            all, and with an empty list every element is for itself.
        keepdim: Whether the reduced axes stay, with size 1.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Rows of elements of up to 32 bits are read and tested by the word. Two runs are bitwise equal.

    Source:
        [`torch.all`](https://docs.pytorch.org/docs/stable/generated/torch.all.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.tensor([[0, 1], [2, 3]])
        >>> tileops.AllFwdOp(dim=-1)(x)
        tensor([False,  True])
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
        r"""Test over `dim`.

        Args:
            input: The elements, of any shape and dtype.

        Returns:
            Bools; of uint8 they are uint8, as in PyTorch.
        """
        return self._call(input)


class AnyFwdOp(Op):
    r"""Whether some element over one axis, several, or all is not 0.

    $$
    y = \bigvee_{i \in \mathrm{dim}} (x_i \neq 0)
    $$

    NaN is not 0. Of no elements the result is false.

    Args:
        dim: Axis or axes to reduce, counted from the end when negative; `None` means
            all, and with an empty list every element is for itself.
        keepdim: Whether the reduced axes stay, with size 1.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Rows of elements of up to 32 bits are read and tested by the word. Two runs are bitwise equal.

    Source:
        [`torch.any`](https://docs.pytorch.org/docs/stable/generated/torch.any.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.tensor([[0, 1], [2, 3]])
        >>> tileops.AnyFwdOp(dim=-1)(x)
        tensor([True, True])
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
        r"""Test over `dim`.

        Args:
            input: The elements, of any shape and dtype.

        Returns:
            Bools; of uint8 they are uint8, as in PyTorch.
        """
        return self._call(input)


class CountNonzeroFwdOp(Op):
    r"""Number of elements that are not 0 over one axis, several, or all.

    $$
    y = \left|\{ i \in \mathrm{dim} : x_i \neq 0 \}\right|
    $$

    NaN is not 0.

    Args:
        dim: Axis or axes to reduce, counted from the end when negative; `None` and an empty list mean all.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Counts are int64. Rows of elements of up to 32 bits are read and counted by the word. Two runs are
        bitwise equal.

    Source:
        [`torch.count_nonzero`](https://docs.pytorch.org/docs/stable/generated/torch.count_nonzero.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.tensor([[0, 1], [2, 3]])
        >>> tileops.CountNonzeroFwdOp(dim=-1)(x)
        tensor([1, 2])
    """

    def __init__(
        self,
        *,
        dim: int | Sequence[int] | None = None,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(target=target, implementation=implementation, dim=dim)

    def forward(self, input: Tensor) -> Tensor:
        r"""Count over `dim`.

        Args:
            input: The elements, of any shape and dtype.

        Returns:
            The counts, in int64.
        """
        return self._call(input)
