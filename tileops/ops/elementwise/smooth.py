"""Smooth activations."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op

__all__ = ["GeluFwdOp", "MishFwdOp", "SiluFwdOp", "SoftplusFwdOp"]


class GeluFwdOp(Op):
    r"""The Gaussian error linear unit.

    $$
    y_i = \frac{x_i}{2} \left(1 + \operatorname{erf} \frac{x_i}{\sqrt 2}\right)
    \qquad \text{or} \qquad
    y_i = \frac{x_i}{2} \left(1 + \tanh\left(\sqrt{2 / \pi} \, (x_i + 0.044715 \, x_i^3)\right)\right)
    $$

    The second form is `approximate="tanh"`. NaN stays NaN, and $-\infty$ gives NaN, as the product of an
    infinity and zero.

    Args:
        approximate: `"none"` for the first form, `"tanh"` for the second.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        float32 inside. For 16-bit dtypes the normal distribution is its density times a polynomial, to
        within a factor of $1 \pm 4 \cdot 10^{-5}$ also far below zero, where $1 + \operatorname{erf}$
        would keep nothing, and the factor with tanh is $1 / (1 + e^{-2u})$. One rounding, at the store;
        two runs are bitwise equal.

    Source:
        D. Hendrycks, K. Gimpel, [Gaussian Error Linear Units](https://arxiv.org/abs/1606.08415), 2016;
        [`torch.nn.functional.gelu`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.gelu.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7)
        >>> y = tileops.GeluFwdOp(approximate="tanh")(x)
        >>> torch.testing.assert_close(y, torch.nn.functional.gelu(x, approximate="tanh"))
    """

    def __init__(
        self, *, approximate: str = "none", target: str | None = None, implementation: str | None = None
    ) -> None:
        super().__init__(target=target, implementation=implementation, approximate=approximate)

    def forward(self, input: Tensor) -> Tensor:
        r"""Apply the unit.

        Args:
            input: $x$, of any shape.

        Returns:
            The values, in the shape of `input`.
        """
        return self._call(input)


class SiluFwdOp(Op):
    r"""The sigmoid linear unit, also called swish.

    $$
    y_i = \frac{x_i}{1 + e^{-x_i}}
    $$

    NaN stays NaN, and $-\infty$ gives NaN, as the quotient of two infinities.

    Args:
        inplace: Write the result into `input` and return that tensor.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        float32 inside. For 16-bit dtypes exponential and reciprocal are the hardware's, whose errors are
        far below the rounding. One rounding, at the store; two runs are bitwise equal.

    Source:
        S. Elfwing, E. Uchibe, K. Doya, [Sigmoid-Weighted Linear Units](https://arxiv.org/abs/1702.03118),
        2017;
        [`torch.nn.functional.silu`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.silu.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7)
        >>> torch.testing.assert_close(tileops.SiluFwdOp()(x), torch.nn.functional.silu(x))
    """

    def __init__(
        self, *, inplace: bool = False, target: str | None = None, implementation: str | None = None
    ) -> None:
        super().__init__(target=target, implementation=implementation, inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        r"""Apply the unit.

        Args:
            input: $x$, of any shape.

        Returns:
            The values, in the shape of `input`; `input` itself with `inplace`.
        """
        return self._call(input)


class MishFwdOp(Op):
    r"""The activation mish.

    $$
    y_i = x_i \tanh(\ln(1 + e^{x_i}))
    $$

    NaN stays NaN, and $-\infty$ gives NaN, as the product of an infinity and zero.

    Args:
        inplace: Write the result into `input` and return that tensor.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        float32 inside: with $w = e^x$ the factor is $w (w + 2) / (w (w + 2) + 2)$, in which nothing
        cancels, and 1 above $x = 20$. One rounding, at the store; two runs are bitwise equal.

    Source:
        D. Misra, [Mish: A Self Regularized Non-Monotonic Activation
        Function](https://arxiv.org/abs/1908.08681), 2019;
        [`torch.nn.functional.mish`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.mish.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7)
        >>> torch.testing.assert_close(tileops.MishFwdOp()(x), torch.nn.functional.mish(x))
    """

    def __init__(
        self, *, inplace: bool = False, target: str | None = None, implementation: str | None = None
    ) -> None:
        super().__init__(target=target, implementation=implementation, inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        r"""Apply the activation.

        Args:
            input: $x$, of any shape.

        Returns:
            The values, in the shape of `input`; `input` itself with `inplace`.
        """
        return self._call(input)


class SoftplusFwdOp(Op):
    r"""A smooth approximation of the rectified linear unit.

    $$
    y_i = \begin{cases} x_i & \beta x_i > t \\
    \frac{1}{\beta} \ln(1 + e^{\beta x_i}) & \text{otherwise} \end{cases}
    $$

    NaN stays NaN.

    Args:
        beta: $\beta$: the larger, the sharper the bend at zero.
        threshold: $t$, above which the function is the identity.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        float32, with `log1p` or for 16-bit dtypes a polynomial below zero, so that small values do not
        vanish. One rounding, at the store; two runs are bitwise equal.

    Source:
        [`torch.nn.functional.softplus`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.softplus.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7)
        >>> torch.testing.assert_close(tileops.SoftplusFwdOp()(x), torch.nn.functional.softplus(x))
    """

    def __init__(
        self,
        *,
        beta: float = 1.0,
        threshold: float = 20.0,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(target=target, implementation=implementation, beta=beta, threshold=threshold)

    def forward(self, input: Tensor) -> Tensor:
        r"""Apply the function.

        Args:
            input: $x$, of any shape.

        Returns:
            The values, in the shape of `input`.
        """
        return self._call(input)
