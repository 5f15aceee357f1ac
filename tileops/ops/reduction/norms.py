"""Norms over axes."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from tileops.op import Op

__all__ = ["InfNormFwdOp", "L1NormFwdOp", "L2NormFwdOp"]


class L1NormFwdOp(Op):
    r"""1-norm, the sum of absolute values, over one axis, several, or all.

    $$
    \|x\|_1 = \sum_{i \in \mathrm{dim}} |x_i|
    $$

    The norm of no elements is 0.

    Args:
        ord: The order, which is 1; it is there for callers of `torch.linalg.vector_norm`.
        dim: Axis or axes to reduce, counted from the end when negative; `None` and an empty list mean all.
        keepdim: Whether the reduced axes stay, with size 1.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Absolute values are added in float32, and there is one rounding at the store. Every thread takes what
        it reads itself; those results are joined in a fixed order, so two runs are bitwise equal.

    Source:
        [`torch.linalg.vector_norm`](https://docs.pytorch.org/docs/stable/generated/torch.linalg.vector_norm.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(3, 50)
        >>> y = tileops.L1NormFwdOp(dim=-1)(x)
        >>> torch.testing.assert_close(y, torch.linalg.vector_norm(x, 1, -1))
    """

    def __init__(
        self,
        *,
        ord: int | float = 1,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(target=target, implementation=implementation, ord=ord, dim=dim, keepdim=keepdim)

    def forward(self, x: Tensor) -> Tensor:
        r"""Norm over `dim`.

        Args:
            x: The vectors, of any shape.

        Returns:
            The norms, in the dtype of `x`.
        """
        return self._call(x)


class L2NormFwdOp(Op):
    r"""2-norm, the Euclidean length, over one axis, several, or all.

    $$
    \|x\|_2 = \sqrt{\sum_{i \in \mathrm{dim}} x_i^2}
    $$

    The norm of no elements is 0.

    Args:
        ord: The order, which is 2; it is there for callers of `torch.linalg.vector_norm`.
        dim: Axis or axes to reduce, counted from the end when negative; `None` and an empty list mean all.
        keepdim: Whether the reduced axes stay, with size 1.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Squares are added in float32 without scaling, so values beyond $10^{19}$ overflow as they do in
        PyTorch; the norm of one element is its absolute value, exactly. Of more there is one rounding, after
        the root. Every thread takes what it reads itself; those results are joined in a fixed order, so two
        runs are bitwise equal.

    Source:
        [`torch.linalg.vector_norm`](https://docs.pytorch.org/docs/stable/generated/torch.linalg.vector_norm.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(3, 50)
        >>> y = tileops.L2NormFwdOp(dim=-1)(x)
        >>> torch.testing.assert_close(y, torch.linalg.vector_norm(x, 2, -1))
    """

    def __init__(
        self,
        *,
        ord: int | float = 2,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(target=target, implementation=implementation, ord=ord, dim=dim, keepdim=keepdim)

    def forward(self, x: Tensor) -> Tensor:
        r"""Norm over `dim`.

        Args:
            x: The vectors, of any shape.

        Returns:
            The norms, in the dtype of `x`.
        """
        return self._call(x)


class InfNormFwdOp(Op):
    r"""Infinity norm, the largest absolute value, over one axis, several, or all.

    $$
    \|x\|_\infty = \max_{i \in \mathrm{dim}} |x_i|
    $$

    The axes must not be empty.

    Args:
        ord: The order, which is infinity; it is there for callers of `torch.linalg.vector_norm`.
        dim: Axis or axes to reduce, counted from the end when negative; `None` and an empty list mean all.
        keepdim: Whether the reduced axes stay, with size 1.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Nothing is rounded. NaN spreads. Two runs are bitwise equal.

    Source:
        [`torch.linalg.vector_norm`](https://docs.pytorch.org/docs/stable/generated/torch.linalg.vector_norm.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(3, 50)
        >>> y = tileops.InfNormFwdOp(dim=-1)(x)
        >>> torch.testing.assert_close(y, torch.linalg.vector_norm(x, float("inf"), -1))
    """

    def __init__(
        self,
        *,
        ord: int | float = float("inf"),
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(target=target, implementation=implementation, ord=ord, dim=dim, keepdim=keepdim)

    def forward(self, x: Tensor) -> Tensor:
        r"""Norm over `dim`.

        Args:
            x: The vectors, of any shape.

        Returns:
            The norms, in the dtype of `x`.
        """
        return self._call(x)
