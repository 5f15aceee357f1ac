"""Extremes over axes, and where they are."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from tileops.op import Op

__all__ = ["AmaxFwdOp", "AminFwdOp", "ArgmaxFwdOp", "ArgminFwdOp"]


class AmaxFwdOp(Op):
    r"""The largest element over one axis, several, or all.

    $$
    y = \max_{i \in \mathrm{dim}} x_i
    $$

    It is NaN where an element is. The reduced axes must not be empty.

    Args:
        dim: Axis or axes to reduce, counted from the end when negative; `None` and an empty list mean all.
        keepdim: Whether the reduced axes stay, with size 1.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Nothing is rounded. Two runs are bitwise equal.

    Source:
        [`torch.amax`](https://docs.pytorch.org/docs/stable/generated/torch.amax.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 3, 4)
        >>> y = tileops.AmaxFwdOp(dim=(0, -1))(x)
        >>> assert torch.equal(y, x.amax((0, -1)))
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
        r"""Find the extremes over `dim`.

        Args:
            input: The elements, of any shape.

        Returns:
            The extremes, in the dtype of `input`.
        """
        return self._call(input)


class AminFwdOp(Op):
    r"""The smallest element over one axis, several, or all.

    $$
    y = \min_{i \in \mathrm{dim}} x_i
    $$

    It is NaN where an element is. The reduced axes must not be empty.

    Args:
        dim: Axis or axes to reduce, counted from the end when negative; `None` and an empty list mean all.
        keepdim: Whether the reduced axes stay, with size 1.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Nothing is rounded. Two runs are bitwise equal.

    Source:
        [`torch.amin`](https://docs.pytorch.org/docs/stable/generated/torch.amin.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 3, 4)
        >>> y = tileops.AminFwdOp(dim=(0, -1))(x)
        >>> assert torch.equal(y, x.amin((0, -1)))
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
        r"""Find the extremes over `dim`.

        Args:
            input: The elements, of any shape.

        Returns:
            The extremes, in the dtype of `input`.
        """
        return self._call(input)


class ArgmaxFwdOp(Op):
    r"""Position of the largest element along one axis, or of all.

    $$
    y = \operatorname{arg\,max}_{i \in \mathrm{dim}} x_i
    $$

    Of equal elements it is the first, and a NaN wins over every number. The axis must not be empty.

    Args:
        dim: The axis, counted from the end when negative; `None` means all elements, as if in one row.
        keepdim: Whether the reduced axes stay, with size 1.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Elements are compared as they are. The result does not depend on how the axis is split among threads.
        Two runs are bitwise equal.

    Source:
        [`torch.argmax`](https://docs.pytorch.org/docs/stable/generated/torch.argmax.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(3, 50)
        >>> y = tileops.ArgmaxFwdOp(dim=-1)(x)
        >>> assert torch.equal(y, x.argmax(-1))
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
        r"""Find the positions along `dim`.

        Args:
            input: The elements, of any shape. Bools are refused, as in PyTorch.

        Returns:
            The positions in int64; without `dim`, those in the flattened tensor.
        """
        return self._call(input)


class ArgminFwdOp(Op):
    r"""Position of the smallest element along one axis, or of all.

    $$
    y = \operatorname{arg\,min}_{i \in \mathrm{dim}} x_i
    $$

    Of equal elements it is the first, and a NaN wins over every number. The axis must not be empty.

    Args:
        dim: The axis, counted from the end when negative; `None` means all elements, as if in one row.
        keepdim: Whether the reduced axes stay, with size 1.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Elements are compared as they are. The result does not depend on how the axis is split among threads.
        Two runs are bitwise equal.

    Source:
        [`torch.argmin`](https://docs.pytorch.org/docs/stable/generated/torch.argmin.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(3, 50)
        >>> y = tileops.ArgminFwdOp(dim=-1)(x)
        >>> assert torch.equal(y, x.argmin(-1))
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
        r"""Find the positions along `dim`.

        Args:
            input: The elements, of any shape. Bools are refused, as in PyTorch.

        Returns:
            The positions in int64; without `dim`, those in the flattened tensor.
        """
        return self._call(input)
