"""Exponentials and logarithms of each element."""

from __future__ import annotations

from torch import Tensor

from tileops.op import PlainOp

__all__ = ["ExpFwdOp", "Expm1FwdOp", "Log1pFwdOp", "LogFwdOp"]


class ExpFwdOp(PlainOp):
    r"""The exponential of each element.

    $$
    y_i = e^{x_i}
    $$

    $e^{-\infty} = 0$ and $e^{\infty} = \infty$; results beyond the range of the dtype are infinite.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        float32 inputs go through the exponential of the CUDA math library, within 2 units in the last
        place. For 16-bit outputs it is $2^{x \log_2 e}$ in float32, whose error is far below their
        rounding.

    Source:
        [`torch.exp`](https://docs.pytorch.org/docs/stable/generated/torch.exp.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7)
        >>> torch.testing.assert_close(tileops.ExpFwdOp()(x), torch.exp(x))
    """

    def forward(self, input: Tensor) -> Tensor:
        r"""Take the exponential.

        Args:
            input: $x$, of any shape. Integers and booleans count as float32.

        Returns:
            The exponentials, in the shape of `input`.
        """
        return self._call(input)


class Expm1FwdOp(PlainOp):
    r"""The exponential of each element, minus one.

    $$
    y_i = e^{x_i} - 1
    $$

    Near zero nothing cancels: $y \approx x$ there, and the sign of a zero stays.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        float32 inputs go through the `expm1` of the CUDA math library, within 1 unit in the last place.
        For 16-bit outputs it is $2^{x \log_2 e} - 1$, and near zero a polynomial, in float32; the errors
        are far below their rounding.

    Source:
        [`torch.expm1`](https://docs.pytorch.org/docs/stable/generated/torch.expm1.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7)
        >>> torch.testing.assert_close(tileops.Expm1FwdOp()(x), torch.expm1(x))
    """

    def forward(self, input: Tensor) -> Tensor:
        r"""Take the exponential minus one.

        Args:
            input: $x$, of any shape. Integers and booleans count as float32.

        Returns:
            The values, in the shape of `input`.
        """
        return self._call(input)


class LogFwdOp(PlainOp):
    r"""The natural logarithm of each element.

    $$
    y_i = \ln x_i
    $$

    $\ln 0 = -\infty$, and NaN below zero.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        float32 inputs go through the logarithm of the CUDA math library, within 1 unit in the last place.
        For 16-bit outputs it is the hardware's logarithm, and near 1 a polynomial; the errors are far
        below their rounding.

    Source:
        [`torch.log`](https://docs.pytorch.org/docs/stable/generated/torch.log.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7).abs()
        >>> torch.testing.assert_close(tileops.LogFwdOp()(x), torch.log(x))
    """

    def forward(self, input: Tensor) -> Tensor:
        r"""Take the logarithm.

        Args:
            input: $x$, of any shape. Integers and booleans count as float32.

        Returns:
            The logarithms, in the shape of `input`.
        """
        return self._call(input)


class Log1pFwdOp(PlainOp):
    r"""The natural logarithm of one plus each element.

    $$
    y_i = \ln(1 + x_i)
    $$

    Near zero nothing cancels: $y \approx x$ there. $-1$ gives $-\infty$, and what is below it NaN.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        float32 inputs go through the `log1p` of the CUDA math library, within 1 unit in the last place.
        For 16-bit outputs it is the hardware's logarithm, and near zero a polynomial; the errors are far
        below their rounding.

    Source:
        [`torch.log1p`](https://docs.pytorch.org/docs/stable/generated/torch.log1p.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7).abs()
        >>> torch.testing.assert_close(tileops.Log1pFwdOp()(x), torch.log1p(x))
    """

    def forward(self, input: Tensor) -> Tensor:
        r"""Take the logarithm of one plus the input.

        Args:
            input: $x$, of any shape. Integers and booleans count as float32.

        Returns:
            The logarithms, in the shape of `input`.
        """
        return self._call(input)
