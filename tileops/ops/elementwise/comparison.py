"""Comparisons of two tensors, whose shapes broadcast."""

from __future__ import annotations

from torch import Tensor

from tileops.op import PlainOp

__all__ = ["EqFwdOp", "GeFwdOp", "GtFwdOp", "LeFwdOp", "LtFwdOp", "NeFwdOp"]


class EqFwdOp(PlainOp):
    r"""Whether each element equals another.

    $$
    y_i = [\,a_i = b_i\,]
    $$

    The shapes broadcast, and both tensors have one dtype. False where one is NaN.

    Raises:
        CallError: An argument breaks the specification below, or the shapes do not broadcast; the message
            names it.

    Numerics:
        Exact. Zeros of both signs are equal.

    Source:
        [`torch.eq`](https://docs.pytorch.org/docs/stable/generated/torch.eq.html).

    Examples:
        >>> import torch, tileops
        >>> compare = tileops.EqFwdOp()
        >>> a, b = torch.arange(6).view(2, 3), torch.tensor(2)
        >>> assert torch.equal(compare(a, b), a == b)
    """

    def forward(self, input: Tensor, other: Tensor) -> Tensor:
        r"""Compare.

        Args:
            input: $a$, of any shape.
            other: $b$, in the dtype of `input`; the shapes broadcast.

        Returns:
            A bool for each element of the broadcast shape.
        """
        return self._call(input, other)


class NeFwdOp(PlainOp):
    r"""Whether each element differs from another.

    $$
    y_i = [\,a_i \ne b_i\,]
    $$

    The shapes broadcast, and both tensors have one dtype. True where one is NaN.

    Raises:
        CallError: An argument breaks the specification below, or the shapes do not broadcast; the message
            names it.

    Numerics:
        Exact. Zeros of both signs are equal.

    Source:
        [`torch.ne`](https://docs.pytorch.org/docs/stable/generated/torch.ne.html).

    Examples:
        >>> import torch, tileops
        >>> compare = tileops.NeFwdOp()
        >>> a, b = torch.arange(6).view(2, 3), torch.tensor(2)
        >>> assert torch.equal(compare(a, b), a != b)
    """

    def forward(self, input: Tensor, other: Tensor) -> Tensor:
        r"""Compare.

        Args:
            input: $a$, of any shape.
            other: $b$, in the dtype of `input`; the shapes broadcast.

        Returns:
            A bool for each element of the broadcast shape.
        """
        return self._call(input, other)


class GtFwdOp(PlainOp):
    r"""Whether each element is above another.

    $$
    y_i = [\,a_i > b_i\,]
    $$

    The shapes broadcast, and both tensors have one dtype. False where one is NaN.

    Raises:
        CallError: An argument breaks the specification below, or the shapes do not broadcast; the message
            names it.

    Numerics:
        Exact. Zeros of both signs are equal.

    Source:
        [`torch.gt`](https://docs.pytorch.org/docs/stable/generated/torch.gt.html).

    Examples:
        >>> import torch, tileops
        >>> compare = tileops.GtFwdOp()
        >>> a, b = torch.arange(6).view(2, 3), torch.tensor(2)
        >>> assert torch.equal(compare(a, b), a > b)
    """

    def forward(self, input: Tensor, other: Tensor) -> Tensor:
        r"""Compare.

        Args:
            input: $a$, of any shape.
            other: $b$, in the dtype of `input`; the shapes broadcast.

        Returns:
            A bool for each element of the broadcast shape.
        """
        return self._call(input, other)


class LtFwdOp(PlainOp):
    r"""Whether each element is below another.

    $$
    y_i = [\,a_i < b_i\,]
    $$

    The shapes broadcast, and both tensors have one dtype. False where one is NaN.

    Raises:
        CallError: An argument breaks the specification below, or the shapes do not broadcast; the message
            names it.

    Numerics:
        Exact. Zeros of both signs are equal.

    Source:
        [`torch.lt`](https://docs.pytorch.org/docs/stable/generated/torch.lt.html).

    Examples:
        >>> import torch, tileops
        >>> compare = tileops.LtFwdOp()
        >>> a, b = torch.arange(6).view(2, 3), torch.tensor(2)
        >>> assert torch.equal(compare(a, b), a < b)
    """

    def forward(self, input: Tensor, other: Tensor) -> Tensor:
        r"""Compare.

        Args:
            input: $a$, of any shape.
            other: $b$, in the dtype of `input`; the shapes broadcast.

        Returns:
            A bool for each element of the broadcast shape.
        """
        return self._call(input, other)


class GeFwdOp(PlainOp):
    r"""Whether each element is not below another.

    $$
    y_i = [\,a_i \ge b_i\,]
    $$

    The shapes broadcast, and both tensors have one dtype. False where one is NaN.

    Raises:
        CallError: An argument breaks the specification below, or the shapes do not broadcast; the message
            names it.

    Numerics:
        Exact. Zeros of both signs are equal.

    Source:
        [`torch.ge`](https://docs.pytorch.org/docs/stable/generated/torch.ge.html).

    Examples:
        >>> import torch, tileops
        >>> compare = tileops.GeFwdOp()
        >>> a, b = torch.arange(6).view(2, 3), torch.tensor(2)
        >>> assert torch.equal(compare(a, b), a >= b)
    """

    def forward(self, input: Tensor, other: Tensor) -> Tensor:
        r"""Compare.

        Args:
            input: $a$, of any shape.
            other: $b$, in the dtype of `input`; the shapes broadcast.

        Returns:
            A bool for each element of the broadcast shape.
        """
        return self._call(input, other)


class LeFwdOp(PlainOp):
    r"""Whether each element is not above another.

    $$
    y_i = [\,a_i \le b_i\,]
    $$

    The shapes broadcast, and both tensors have one dtype. False where one is NaN.

    Raises:
        CallError: An argument breaks the specification below, or the shapes do not broadcast; the message
            names it.

    Numerics:
        Exact. Zeros of both signs are equal.

    Source:
        [`torch.le`](https://docs.pytorch.org/docs/stable/generated/torch.le.html).

    Examples:
        >>> import torch, tileops
        >>> compare = tileops.LeFwdOp()
        >>> a, b = torch.arange(6).view(2, 3), torch.tensor(2)
        >>> assert torch.equal(compare(a, b), a <= b)
    """

    def forward(self, input: Tensor, other: Tensor) -> Tensor:
        r"""Compare.

        Args:
            input: $a$, of any shape.
            other: $b$, in the dtype of `input`; the shapes broadcast.

        Returns:
            A bool for each element of the broadcast shape.
        """
        return self._call(input, other)
