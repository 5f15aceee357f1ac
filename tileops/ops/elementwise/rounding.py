"""Rounding of each element."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op, PlainOp

__all__ = ["CeilFwdOp", "FloorFwdOp", "RoundFwdOp", "TruncFwdOp"]


class FloorFwdOp(PlainOp):
    r"""The largest integer that is not above each element.

    $$
    y_i = \lfloor x_i \rfloor
    $$

    Infinities, NaN and the sign of a zero stay. Integers are returned as they are.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Exact.

    Source:
        [`torch.floor`](https://docs.pytorch.org/docs/stable/generated/torch.floor.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7)
        >>> torch.testing.assert_close(tileops.FloorFwdOp()(x), torch.floor(x))
    """

    def forward(self, input: Tensor) -> Tensor:
        r"""Round down.

        Args:
            input: $x$, of any shape.

        Returns:
            The rounded values, in the shape of `input`.
        """
        return self._call(input)


class CeilFwdOp(PlainOp):
    r"""The smallest integer that is not below each element.

    $$
    y_i = \lceil x_i \rceil
    $$

    Infinities, NaN and the sign of a zero stay. Integers are returned as they are. What is between $-1$
    and $0$ gives $-0$.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Exact.

    Source:
        [`torch.ceil`](https://docs.pytorch.org/docs/stable/generated/torch.ceil.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7)
        >>> torch.testing.assert_close(tileops.CeilFwdOp()(x), torch.ceil(x))
    """

    def forward(self, input: Tensor) -> Tensor:
        r"""Round up.

        Args:
            input: $x$, of any shape.

        Returns:
            The rounded values, in the shape of `input`.
        """
        return self._call(input)


class TruncFwdOp(PlainOp):
    r"""The integer part of each element.

    $$
    y_i = \operatorname{sign}(x_i) \, \lfloor |x_i| \rfloor
    $$

    Infinities, NaN and the sign of a zero stay. Integers are returned as they are.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Exact.

    Source:
        [`torch.trunc`](https://docs.pytorch.org/docs/stable/generated/torch.trunc.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7)
        >>> torch.testing.assert_close(tileops.TruncFwdOp()(x), torch.trunc(x))
    """

    def forward(self, input: Tensor) -> Tensor:
        r"""Round toward zero.

        Args:
            input: $x$, of any shape.

        Returns:
            The rounded values, in the shape of `input`.
        """
        return self._call(input)


class RoundFwdOp(Op):
    r"""Each element rounded to the nearest integer, or to a decimal place.

    $$
    y_i = \frac{\operatorname{round}(10^{d} \, x_i)}{10^{d}}
    $$

    with $d$ = `decimals`. Ties go to the even neighbour: $0.5$ and $-0.5$ give zeros, $1.5$ and $2.5$
    give $2$. A negative $d$ rounds to tens, hundreds and so on. Infinities, NaN and the sign of a zero
    stay. Integers are returned as they are.

    Args:
        decimals: Decimal places $d$ that stay; integers take 0 only.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        With $d = 0$ exact. Otherwise product, rounding and quotient are float32, in this order and with
        $10^{|d|}$ on the other side of the fraction bar for a negative $d$, as in PyTorch for float32;
        16-bit inputs are rounded to their dtype at the end only, while PyTorch rounds after each step.

    Source:
        [`torch.round`](https://docs.pytorch.org/docs/stable/generated/torch.round.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7)
        >>> torch.testing.assert_close(tileops.RoundFwdOp(decimals=1)(x), torch.round(x, decimals=1))
    """

    def __init__(
        self, *, decimals: int = 0, target: str | None = None, implementation: str | None = None
    ) -> None:
        super().__init__(target=target, implementation=implementation, decimals=decimals)

    def forward(self, input: Tensor) -> Tensor:
        r"""Round.

        Args:
            input: $x$, of any shape.

        Returns:
            The rounded values, in the shape of `input`.
        """
        return self._call(input)
