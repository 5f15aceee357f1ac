"""Normalization of rows: over the last axes."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from tileops.op import Op

__all__ = ["FusedAddLayerNormFwdOp", "FusedAddRMSNormFwdOp", "LayerNormFwdOp", "RMSNormFwdOp"]


class RMSNormFwdOp(Op):
    r"""Root-mean-square normalization over the last axes.

    With $N = \prod_i \mathrm{normalized\_shape}_i$ elements in a row,

    $$
    y_j = \frac{x_j}{\sqrt{\frac{1}{N}\sum_{k=1}^{N} x_k^2 + \epsilon}} \cdot w_j
    $$

    for each row of $x$; without a weight, $w_j = 1$. $\epsilon$ is added inside the square root, to the mean.

    Args:
        normalized_shape: Sizes of the trailing axes that are normalized together; they must be the last
            sizes of `x`.
        eps: $\epsilon$, added to the mean of the squares.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Inputs are converted to float32 exactly. The sum of squares, the reciprocal square root and the
        product with the weight are float32; there is one rounding, to the dtype of `x`, at the store. Two
        runs are bitwise equal. PyTorch's default, `eps=None`, is a machine
        epsilon; here $\epsilon$ is always a number.

    Source:
        B. Zhang, R. Sennrich, [Root Mean Square Layer Normalization](https://arxiv.org/abs/1910.07467), 2019.

    Examples:
        >>> import torch, tileops
        >>> norm = tileops.RMSNormFwdOp(normalized_shape=(64,))
        >>> x, weight = torch.randn(2, 64), torch.rand(64)
        >>> y = norm(x, weight)
        >>> torch.testing.assert_close(y, torch.nn.functional.rms_norm(x, (64,), weight, eps=1e-6))
    """

    def __init__(
        self,
        *,
        normalized_shape: Sequence[int],
        eps: float = 1e-6,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target, implementation=implementation, normalized_shape=normalized_shape, eps=eps
        )

    def forward(self, x: Tensor, weight: Tensor | None = None) -> Tensor:
        r"""Normalize every row of `x`.

        Args:
            x: Rows to normalize: any leading axes, then `normalized_shape`.
            weight: Factor $w$ of each element of a row.

        Returns:
            The normalized rows, in the shape and dtype of `x`.
        """
        return self._call(x, weight)


class LayerNormFwdOp(Op):
    r"""Layer normalization over the last axes.

    With $N = \prod_i \mathrm{normalized\_shape}_i$ elements in a row, mean and biased variance of the row

    $$
    \mu = \frac{1}{N}\sum_{k=1}^{N} x_k, \qquad \sigma^2 = \frac{1}{N}\sum_{k=1}^{N} (x_k - \mu)^2
    $$

    give

    $$
    y_j = \frac{x_j - \mu}{\sqrt{\sigma^2 + \epsilon}} \cdot w_j + b_j .
    $$

    Without a weight $w_j = 1$, without a bias $b_j = 0$; each may be given alone.

    Args:
        normalized_shape: Sizes of the trailing axes that are normalized together; they must be the last
            sizes of `x`.
        eps: $\epsilon$, added to the variance inside the square root.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Everything is float32 until the one rounding at the store. The variance is computed from the
        centered values in a second pass over the row on chip, so a large mean does not cancel it. Two runs
        are bitwise equal.

    Source:
        J. L. Ba, J. R. Kiros, G. E. Hinton, [Layer Normalization](https://arxiv.org/abs/1607.06450), 2016.

    Examples:
        >>> import torch, tileops
        >>> norm = tileops.LayerNormFwdOp(normalized_shape=(64,))
        >>> x, weight, bias = torch.randn(2, 64), torch.rand(64), torch.rand(64)
        >>> y = norm(x, weight, bias)
        >>> torch.testing.assert_close(y, torch.nn.functional.layer_norm(x, (64,), weight, bias))
    """

    def __init__(
        self,
        *,
        normalized_shape: Sequence[int],
        eps: float = 1e-5,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target, implementation=implementation, normalized_shape=normalized_shape, eps=eps
        )

    def forward(self, x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
        r"""Normalize every row of `x`.

        Args:
            x: Rows to normalize: any leading axes, then `normalized_shape`.
            weight: Factor $w$ of each element of a row.
            bias: Term $b$ of each element of a row.

        Returns:
            The normalized rows, in the shape and dtype of `x`.
        """
        return self._call(x, weight, bias)


class FusedAddRMSNormFwdOp(Op):
    r"""Residual addition and root-mean-square normalization in one pass over memory.

    For each row of $N$ elements

    $$
    r = \mathrm{round}(x + \mathrm{residual}), \qquad
    y_j = \frac{r_j}{\sqrt{\frac{1}{N}\sum_{k=1}^{N} r_k^2 + \epsilon}} \cdot w_j .
    $$

    $\mathrm{round}$ is the rounding to the dtype of $x$: the sum is returned as the next residual, and the
    statistics are those of the values that were stored. The inputs are not changed.

    Args:
        eps: $\epsilon$, added to the mean of the squares inside the square root.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        The sum is float32 with one rounding. Statistics and the product with the weight are float32, with
        one more rounding at the store of $y$. Llama's reference rounds the normalized value before it
        multiplies by the weight, and differs by that rounding. Two runs are bitwise equal.

    Source:
        The pre-norm residual block of [LLaMA](https://arxiv.org/abs/2302.13971), section 2.2.

    Examples:
        >>> import torch, tileops
        >>> norm = tileops.FusedAddRMSNormFwdOp()
        >>> x, residual, weight = torch.randn(2, 64), torch.randn(2, 64), torch.rand(64)
        >>> y, residual_out = norm(x, residual, weight)
        >>> torch.testing.assert_close(residual_out, x + residual)
        >>> torch.testing.assert_close(y, torch.nn.functional.rms_norm(x + residual, (64,), weight, eps=1e-6))
    """

    def __init__(
        self, *, eps: float = 1e-6, target: str | None = None, implementation: str | None = None
    ) -> None:
        super().__init__(target=target, implementation=implementation, eps=eps)

    def forward(self, x: Tensor, residual: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        r"""Add, then normalize every row of the sum.

        Args:
            x: Output of the previous layer: any leading axes, then a row.
            residual: The residual stream, in the shape of `x`.
            weight: Factor $w$ of each element of a row.

        Returns:
            y: The normalized rows.
            residual_out: The rounded sum, in the shape and dtype of `x`.
        """
        return self._call(x, residual, weight)


class FusedAddLayerNormFwdOp(Op):
    r"""Residual addition and layer normalization in one pass over memory.

    For each row of $N$ elements, with mean $\mu$ and biased variance $\sigma^2$ of the rounded sum $r$,

    $$
    r = \mathrm{round}(x + \mathrm{residual}), \qquad
    y_j = \frac{r_j - \mu}{\sqrt{\sigma^2 + \epsilon}} \cdot w_j + b_j .
    $$

    $\mathrm{round}$ is the rounding to the dtype of $x$: the sum is returned as the next residual, and the
    statistics are those of the values that were stored. The inputs are not changed.

    Args:
        eps: $\epsilon$, added to the variance inside the square root.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        The sum is float32 with one rounding; everything after it is float32, with one more rounding at the
        store of $y$. The variance is that of centered values, so a large mean does not cancel it. Two runs
        are bitwise equal.

    Source:
        The residual block of [Attention Is All You Need](https://arxiv.org/abs/1706.03762), section 3.1.

    Examples:
        >>> import torch, tileops
        >>> norm = tileops.FusedAddLayerNormFwdOp()
        >>> x, residual, weight, bias = torch.randn(2, 64), torch.randn(2, 64), torch.rand(64), torch.rand(64)
        >>> y, residual_out = norm(x, residual, weight, bias)
        >>> torch.testing.assert_close(residual_out, x + residual)
        >>> torch.testing.assert_close(y, torch.nn.functional.layer_norm(x + residual, (64,), weight, bias))
    """

    def __init__(
        self, *, eps: float = 1e-5, target: str | None = None, implementation: str | None = None
    ) -> None:
        super().__init__(target=target, implementation=implementation, eps=eps)

    def forward(self, x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        r"""Add, then normalize every row of the sum.

        Args:
            x: Output of the previous layer: any leading axes, then a row.
            residual: The residual stream, in the shape of `x`.
            weight: Factor $w$ of each element of a row.
            bias: Term $b$ of each element of a row.

        Returns:
            y: The normalized rows.
            residual_out: The rounded sum, in the shape and dtype of `x`.
        """
        return self._call(x, residual, weight, bias)
