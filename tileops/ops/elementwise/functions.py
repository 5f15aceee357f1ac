"""Sine, cosine and functions of the shape of a step, of each element."""

from __future__ import annotations

from torch import Tensor

from tileops.op import PlainOp

__all__ = ["CosFwdOp", "ErfFwdOp", "SigmoidFwdOp", "SinFwdOp", "TanhFwdOp"]


class SinFwdOp(PlainOp):
    r"""The sine of each element, in radians.

    $$
    y_i = \sin x_i
    $$

    NaN at the infinities.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Arguments of any size are reduced exactly, so that large ones are as accurate as small ones:
        within 2 units in the last place of float32. The fast hardware sine is not used.

    Source:
        [`torch.sin`](https://docs.pytorch.org/docs/stable/generated/torch.sin.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7)
        >>> torch.testing.assert_close(tileops.SinFwdOp()(x), torch.sin(x))
    """

    def forward(self, input: Tensor) -> Tensor:
        r"""Take the sine.

        Args:
            input: $x$, of any shape. Integers and booleans count as float32.

        Returns:
            The sines, in the shape of `input`.
        """
        return self._call(input)


class CosFwdOp(PlainOp):
    r"""The cosine of each element, in radians.

    $$
    y_i = \cos x_i
    $$

    NaN at the infinities.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Arguments of any size are reduced exactly, so that large ones are as accurate as small ones:
        within 2 units in the last place of float32. The fast hardware cosine is not used.

    Source:
        [`torch.cos`](https://docs.pytorch.org/docs/stable/generated/torch.cos.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7)
        >>> torch.testing.assert_close(tileops.CosFwdOp()(x), torch.cos(x))
    """

    def forward(self, input: Tensor) -> Tensor:
        r"""Take the cosine.

        Args:
            input: $x$, of any shape. Integers and booleans count as float32.

        Returns:
            The cosines, in the shape of `input`.
        """
        return self._call(input)


class TanhFwdOp(PlainOp):
    r"""The hyperbolic tangent of each element.

    $$
    y_i = \tanh x_i = \frac{e^{x_i} - e^{-x_i}}{e^{x_i} + e^{-x_i}}
    $$

    $\pm 1$ at the infinities.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        The `tanh` of the CUDA math library in float32, within 2 units in the last place, also near zero.

    Source:
        [`torch.tanh`](https://docs.pytorch.org/docs/stable/generated/torch.tanh.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7)
        >>> torch.testing.assert_close(tileops.TanhFwdOp()(x), torch.tanh(x))
    """

    def forward(self, input: Tensor) -> Tensor:
        r"""Take the hyperbolic tangent.

        Args:
            input: $x$, of any shape. Integers and booleans count as float32.

        Returns:
            The hyperbolic tangents, in the shape of `input`.
        """
        return self._call(input)


class SigmoidFwdOp(PlainOp):
    r"""The logistic function of each element.

    $$
    y_i = \frac{1}{1 + e^{-x_i}}
    $$

    $0$ and $1$ at the infinities.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Everything is float32. For 16-bit outputs exponential and reciprocal are the hardware's, whose
        errors are far below their rounding.

    Source:
        [`torch.sigmoid`](https://docs.pytorch.org/docs/stable/generated/torch.sigmoid.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7)
        >>> torch.testing.assert_close(tileops.SigmoidFwdOp()(x), torch.sigmoid(x))
    """

    def forward(self, input: Tensor) -> Tensor:
        r"""Apply the logistic function.

        Args:
            input: $x$, of any shape. Integers and booleans count as float32.

        Returns:
            The values, between 0 and 1, in the shape of `input`.
        """
        return self._call(input)


class ErfFwdOp(PlainOp):
    r"""The error function of each element.

    $$
    y_i = \operatorname{erf}(x_i) = \frac{2}{\sqrt{\pi}} \int_0^{x_i} e^{-t^2} \, dt
    $$

    $\pm 1$ at the infinities.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        The `erf` of the CUDA math library in float32, within 2 units in the last place.

    Source:
        [`torch.erf`](https://docs.pytorch.org/docs/stable/generated/torch.erf.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7)
        >>> torch.testing.assert_close(tileops.ErfFwdOp()(x), torch.erf(x))
    """

    def forward(self, input: Tensor) -> Tensor:
        r"""Apply the error function.

        Args:
            input: $x$, of any shape. Integers and booleans count as float32.

        Returns:
            The values, between -1 and 1, in the shape of `input`.
        """
        return self._call(input)
