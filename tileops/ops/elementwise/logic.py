"""Logic on elements and on their bits; the shapes broadcast."""

from __future__ import annotations

from torch import Tensor

from tileops.op import PlainOp

__all__ = ["BitwiseAndFwdOp", "BitwiseOrFwdOp", "BitwiseXorFwdOp", "LogicalAndFwdOp", "LogicalOrFwdOp"]


class LogicalAndFwdOp(PlainOp):
    r"""Whether both elements are not zero.

    $$
    y_i = [\,a_i \ne 0\,] \wedge [\,b_i \ne 0\,]
    $$

    The shapes broadcast, and both tensors have one dtype. NaN is not zero.

    Raises:
        CallError: An argument breaks the specification below, or the shapes do not broadcast; the message
            names it.

    Numerics:
        Exact.

    Source:
        [`torch.logical_and`](https://docs.pytorch.org/docs/stable/generated/torch.logical_and.html).

    Examples:
        >>> import torch, tileops
        >>> logical = tileops.LogicalAndFwdOp()
        >>> a, b = torch.tensor([[0.0], [2.0]]), torch.tensor([0.0, float("nan")])
        >>> assert torch.equal(logical(a, b), torch.logical_and(a, b))
    """

    def forward(self, input: Tensor, other: Tensor) -> Tensor:
        r"""Combine.

        Args:
            input: $a$, of any shape.
            other: $b$, in the dtype of `input`; the shapes broadcast.

        Returns:
            A bool for each element of the broadcast shape.
        """
        return self._call(input, other)


class LogicalOrFwdOp(PlainOp):
    r"""Whether any of two elements is not zero.

    $$
    y_i = [\,a_i \ne 0\,] \vee [\,b_i \ne 0\,]
    $$

    The shapes broadcast, and both tensors have one dtype. NaN is not zero.

    Raises:
        CallError: An argument breaks the specification below, or the shapes do not broadcast; the message
            names it.

    Numerics:
        Exact.

    Source:
        [`torch.logical_or`](https://docs.pytorch.org/docs/stable/generated/torch.logical_or.html).

    Examples:
        >>> import torch, tileops
        >>> logical = tileops.LogicalOrFwdOp()
        >>> a, b = torch.tensor([[0.0], [2.0]]), torch.tensor([0.0, float("nan")])
        >>> assert torch.equal(logical(a, b), torch.logical_or(a, b))
    """

    def forward(self, input: Tensor, other: Tensor) -> Tensor:
        r"""Combine.

        Args:
            input: $a$, of any shape.
            other: $b$, in the dtype of `input`; the shapes broadcast.

        Returns:
            A bool for each element of the broadcast shape.
        """
        return self._call(input, other)


class BitwiseAndFwdOp(PlainOp):
    r"""The bitwise and of two tensors.

    $$
    y_i = a_i \mathbin{\&} b_i
    $$

    The shapes broadcast, and both tensors have one dtype. Of booleans it is the logical and.

    Raises:
        CallError: An argument breaks the specification below, or the shapes do not broadcast; the message
            names it.

    Numerics:
        Exact.

    Source:
        [`torch.bitwise_and`](https://docs.pytorch.org/docs/stable/generated/torch.bitwise_and.html).

    Examples:
        >>> import torch, tileops
        >>> bitwise = tileops.BitwiseAndFwdOp()
        >>> a, b = torch.arange(6).view(2, 3), torch.tensor([1, 2, 4])
        >>> assert torch.equal(bitwise(a, b), a & b)
    """

    def forward(self, input: Tensor, other: Tensor) -> Tensor:
        r"""Combine.

        Args:
            input: $a$, of any shape.
            other: $b$, in the dtype of `input`; the shapes broadcast.

        Returns:
            The results, in the broadcast shape and the dtype of `input`.
        """
        return self._call(input, other)


class BitwiseOrFwdOp(PlainOp):
    r"""The bitwise or of two tensors.

    $$
    y_i = a_i \mathbin{|} b_i
    $$

    The shapes broadcast, and both tensors have one dtype. Of booleans it is the logical or.

    Raises:
        CallError: An argument breaks the specification below, or the shapes do not broadcast; the message
            names it.

    Numerics:
        Exact.

    Source:
        [`torch.bitwise_or`](https://docs.pytorch.org/docs/stable/generated/torch.bitwise_or.html).

    Examples:
        >>> import torch, tileops
        >>> bitwise = tileops.BitwiseOrFwdOp()
        >>> a, b = torch.arange(6).view(2, 3), torch.tensor([1, 2, 4])
        >>> assert torch.equal(bitwise(a, b), a | b)
    """

    def forward(self, input: Tensor, other: Tensor) -> Tensor:
        r"""Combine.

        Args:
            input: $a$, of any shape.
            other: $b$, in the dtype of `input`; the shapes broadcast.

        Returns:
            The results, in the broadcast shape and the dtype of `input`.
        """
        return self._call(input, other)


class BitwiseXorFwdOp(PlainOp):
    r"""The bitwise exclusive or of two tensors.

    $$
    y_i = a_i \oplus b_i
    $$

    The shapes broadcast, and both tensors have one dtype. Of booleans it is the logical exclusive or.

    Raises:
        CallError: An argument breaks the specification below, or the shapes do not broadcast; the message
            names it.

    Numerics:
        Exact.

    Source:
        [`torch.bitwise_xor`](https://docs.pytorch.org/docs/stable/generated/torch.bitwise_xor.html).

    Examples:
        >>> import torch, tileops
        >>> bitwise = tileops.BitwiseXorFwdOp()
        >>> a, b = torch.arange(6).view(2, 3), torch.tensor([1, 2, 4])
        >>> assert torch.equal(bitwise(a, b), a ^ b)
    """

    def forward(self, input: Tensor, other: Tensor) -> Tensor:
        r"""Combine.

        Args:
            input: $a$, of any shape.
            other: $b$, in the dtype of `input`; the shapes broadcast.

        Returns:
            The results, in the broadcast shape and the dtype of `input`.
        """
        return self._call(input, other)
