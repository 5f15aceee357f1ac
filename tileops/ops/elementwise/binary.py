"""Sums, products and powers of two tensors, whose shapes broadcast."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op, PlainOp

__all__ = ["AddFwdOp", "MulFwdOp", "PowFwdOp", "SubFwdOp"]


class AddFwdOp(Op):
    r"""Adds two tensors, the second scaled.

    $$
    y_i = a_i + \alpha \, b_i
    $$

    The shapes broadcast, and both tensors have one dtype. Of booleans it is whether any of the two is true.

    Args:
        alpha: $\alpha$, the factor of `other`. For integers it must be whole.

    Raises:
        CallError: An argument breaks the specification below, or the shapes do not broadcast; the message
            names it.

    Numerics:
        Floats are multiplied and added in float32, with one rounding at the store. Integers wrap around at
        the ends of their range. Two runs are bitwise equal.

    Source:
        [`torch.add`](https://docs.pytorch.org/docs/stable/generated/torch.add.html).

    Examples:
        >>> import torch, tileops
        >>> add = tileops.AddFwdOp(alpha=2)
        >>> a, b = torch.randn(2, 7), torch.randn(7)
        >>> torch.testing.assert_close(add(a, b), torch.add(a, b, alpha=2))
    """

    def __init__(
        self, *, alpha: int | float = 1, target: str | None = None, implementation: str | None = None
    ) -> None:
        super().__init__(target=target, implementation=implementation, alpha=alpha)

    def forward(self, input: Tensor, other: Tensor) -> Tensor:
        r"""Add.

        Args:
            input: $a$, of any shape.
            other: $b$, in the dtype of `input`; the shapes broadcast.

        Returns:
            The results, in the broadcast shape and the dtype of `input`.
        """
        return self._call(input, other)


class SubFwdOp(Op):
    r"""Subtracts a tensor, scaled, from another.

    $$
    y_i = a_i - \alpha \, b_i
    $$

    The shapes broadcast, and both tensors have one dtype, which is not bool.

    Args:
        alpha: $\alpha$, the factor of `other`. For integers it must be whole.

    Raises:
        CallError: An argument breaks the specification below, or the shapes do not broadcast; the message
            names it.

    Numerics:
        Floats are multiplied and subtracted in float32, with one rounding at the store. Integers wrap around
        at the ends of their range. Two runs are bitwise equal.

    Source:
        [`torch.sub`](https://docs.pytorch.org/docs/stable/generated/torch.sub.html).

    Examples:
        >>> import torch, tileops
        >>> sub = tileops.SubFwdOp()
        >>> a, b = torch.arange(6).view(2, 3), torch.tensor(4)
        >>> assert torch.equal(sub(a, b), a - b)
    """

    def __init__(
        self, *, alpha: int | float = 1, target: str | None = None, implementation: str | None = None
    ) -> None:
        super().__init__(target=target, implementation=implementation, alpha=alpha)

    def forward(self, input: Tensor, other: Tensor) -> Tensor:
        r"""Subtract.

        Args:
            input: $a$, of any shape.
            other: $b$, in the dtype of `input`; the shapes broadcast.

        Returns:
            The results, in the broadcast shape and the dtype of `input`.
        """
        return self._call(input, other)


class MulFwdOp(PlainOp):
    r"""Multiplies two tensors.

    $$
    y_i = a_i \, b_i
    $$

    The shapes broadcast, and both tensors have one dtype. Of booleans it is whether both are true.

    Raises:
        CallError: An argument breaks the specification below, or the shapes do not broadcast; the message
            names it.

    Numerics:
        Floats are multiplied in float32, with one rounding at the store. Integers wrap around at the ends of
        their range. Two runs are bitwise equal.

    Source:
        [`torch.mul`](https://docs.pytorch.org/docs/stable/generated/torch.mul.html).

    Examples:
        >>> import torch, tileops
        >>> mul = tileops.MulFwdOp()
        >>> a, b = torch.randn(2, 7), torch.randn(2, 1)
        >>> torch.testing.assert_close(mul(a, b), a * b)
    """

    def forward(self, input: Tensor, other: Tensor) -> Tensor:
        r"""Multiply.

        Args:
            input: $a$, of any shape.
            other: $b$, in the dtype of `input`; the shapes broadcast.

        Returns:
            The results, in the broadcast shape and the dtype of `input`.
        """
        return self._call(input, other)


class PowFwdOp(PlainOp):
    r"""Raises a tensor to the power of another.

    $$
    y_i = a_i^{\,b_i}
    $$

    The shapes broadcast, and both tensors have one dtype. A negative float to a power that is not whole is
    NaN, and $a^0 = 1$ for every $a$. An integer to a negative power is $1$ or $-1$ where $a$ is, and
    otherwise $0$.

    Raises:
        CallError: An argument breaks the specification below, or the shapes do not broadcast; the message
            names it.

    Numerics:
        Floats: `pow` in float32, with one rounding at the store. Integers: exact, by squaring, and they wrap
        around at the ends of their range. Two runs are bitwise equal.

    Source:
        [`torch.pow`](https://docs.pytorch.org/docs/stable/generated/torch.pow.html).

    Examples:
        >>> import torch, tileops
        >>> power = tileops.PowFwdOp()
        >>> a, b = torch.tensor([3, -2, 7]), torch.tensor([40, 3, -1])
        >>> assert torch.equal(power(a, b), torch.pow(a, b))
    """

    def forward(self, input: Tensor, exponent: Tensor) -> Tensor:
        r"""Raise.

        Args:
            input: $a$, of any shape.
            exponent: $b$, in the dtype of `input`; the shapes broadcast.

        Returns:
            The results, in the broadcast shape and the dtype of `input`.
        """
        return self._call(input, exponent)
