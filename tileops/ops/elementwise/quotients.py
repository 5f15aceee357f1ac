"""Quotients and remainders of two tensors, whose shapes broadcast."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op, PlainOp

__all__ = ["DivFwdOp", "FloorDivideFwdOp", "RemainderFwdOp"]


class DivFwdOp(Op):
    r"""Divides one tensor by another, with a choice of rounding.

    $$
    y_i = \operatorname{round}\!\left(\frac{a_i}{b_i}\right)
    $$

    The shapes broadcast, and both tensors have one dtype. Without a rounding mode integers and booleans give
    float32: the true quotient. A float divided by zero is $\pm\infty$, or NaN for $0/0$.

    Args:
        rounding_mode: `None` keeps the true quotient, `"floor"` rounds it down, `"trunc"` towards zero. With
            one of the two the tensors are floats: integers have `FloorDivideFwdOp`.

    Raises:
        CallError: An argument breaks the specification below, or the shapes do not broadcast; the message
            names it.

    Numerics:
        The quotient is the correctly rounded float32, with one more rounding at the store. Integers are
        converted to float32 first, as PyTorch does. With `rounding_mode="floor"` it comes from the exact
        remainder, so that it is consistent with `RemainderFwdOp`. Two runs are bitwise equal.

    Source:
        [`torch.div`](https://docs.pytorch.org/docs/stable/generated/torch.div.html).

    Examples:
        >>> import torch, tileops
        >>> div = tileops.DivFwdOp(rounding_mode="floor")
        >>> a, b = torch.randn(2, 7), torch.randn(7)
        >>> torch.testing.assert_close(div(a, b), torch.div(a, b, rounding_mode="floor"))
    """

    def __init__(
        self,
        *,
        rounding_mode: str | None = None,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(target=target, implementation=implementation, rounding_mode=rounding_mode)

    def forward(self, input: Tensor, other: Tensor) -> Tensor:
        r"""Divide.

        Args:
            input: $a$, of any shape.
            other: $b$, in the dtype of `input`; the shapes broadcast.

        Returns:
            The quotients, in the broadcast shape; in the dtype of `input`, or float32 for integers.
        """
        return self._call(input, other)


class FloorDivideFwdOp(PlainOp):
    r"""Divides one tensor by another and rounds down.

    $$
    y_i = \left\lfloor \frac{a_i}{b_i} \right\rfloor
    $$

    The shapes broadcast, and both tensors have one dtype. Python's `//`. PyTorch raises for an integer $b_i
    = 0$ on a CPU and leaves the value open on a GPU. Here the quotient is $-1$, all bits set, on both, so
    that it and the remainder $a_i$ still give $a_i$.

    Raises:
        CallError: An argument breaks the specification below, or the shapes do not broadcast; the message
            names it.

    Numerics:
        Floats: from the exact float32 remainder, with one rounding at the store. Integers: exact; the
        smallest integer divided by -1 wraps around to itself. Two runs are bitwise equal.

    Source:
        [`torch.floor_divide`](https://docs.pytorch.org/docs/stable/generated/torch.floor_divide.html).

    Examples:
        >>> import torch, tileops
        >>> divide = tileops.FloorDivideFwdOp()
        >>> a, b = torch.tensor([7, -7, 7, -7]), torch.tensor([2, 2, -2, -2])
        >>> assert divide(a, b).tolist() == [3, -4, -4, 3]
    """

    def forward(self, input: Tensor, other: Tensor) -> Tensor:
        r"""Divide.

        Args:
            input: $a$, of any shape.
            other: $b$, in the dtype of `input`; the shapes broadcast.

        Returns:
            The results, in the broadcast shape and the dtype of `input`.
        """
        return self._call(input, other)


class RemainderFwdOp(PlainOp):
    r"""What division with rounding down leaves.

    $$
    y_i = a_i - b_i \left\lfloor \frac{a_i}{b_i} \right\rfloor
    $$

    The shapes broadcast, and both tensors have one dtype. The result has the sign of $b_i$: Python's `%`. A
    float modulo zero is NaN. PyTorch raises for an integer $b_i = 0$ on a CPU and leaves the value open on a
    GPU. Here the remainder is $a_i$ on both.

    Raises:
        CallError: An argument breaks the specification below, or the shapes do not broadcast; the message
            names it.

    Numerics:
        Floats: the exact remainder of the float32 values, plus $b_i$ where the sign demands it; one rounding
        at the store. Integers: exact. Two runs are bitwise equal.

    Source:
        [`torch.remainder`](https://docs.pytorch.org/docs/stable/generated/torch.remainder.html).

    Examples:
        >>> import torch, tileops
        >>> remainder = tileops.RemainderFwdOp()
        >>> a, b = torch.tensor([7, -7, 7, -7]), torch.tensor([2, 2, -2, -2])
        >>> assert remainder(a, b).tolist() == [1, 1, -1, -1]
    """

    def forward(self, input: Tensor, other: Tensor) -> Tensor:
        r"""Take the remainder.

        Args:
            input: $a$, of any shape.
            other: $b$, in the dtype of `input`; the shapes broadcast.

        Returns:
            The results, in the broadcast shape and the dtype of `input`.
        """
        return self._call(input, other)
