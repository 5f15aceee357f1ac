"""Normalization over the last axes, and over channels."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from tileops.op import Op

__all__ = ["BatchNormFwdOp", "FusedAddRMSNormFwdOp", "LayerNormFwdOp", "RMSNormFwdOp"]


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


class BatchNormFwdOp(Op):
    r"""Batch normalization over all axes but the channels.

    For channel $c$ with $M = N \prod S$ values, in training

    $$
    \mu_c = \frac{1}{M}\sum_{n,s} x_{ncs}, \qquad \sigma_c^2 = \frac{1}{M}\sum_{n,s} (x_{ncs} - \mu_c)^2,
    $$

    and in evaluation $\mu_c$ and $\sigma_c^2$ are `running_mean` and `running_var`. Then

    $$
    y_{ncs} = \frac{x_{ncs} - \mu_c}{\sqrt{\sigma_c^2 + \epsilon}} \cdot w_c + b_c .
    $$

    In training, running statistics that are given are updated in place, with the unbiased variance:

    $$
    \hat\mu_c \leftarrow (1 - m)\,\hat\mu_c + m\,\mu_c, \qquad
    \hat\sigma_c^2 \leftarrow (1 - m)\,\hat\sigma_c^2 + m\,\tfrac{M}{M-1}\,\sigma_c^2 .
    $$

    Args:
        training: Whether the statistics are those of the batch.
        momentum: $m$, the share of the batch in the running statistics.
        eps: $\epsilon$, added to the variance inside the square root.

    Raises:
        CallError: An argument breaks the specification below; the message names it.
        NotImplementedError: The call passed every check; computing it is not implemented.

    Numerics:
        Statistics are specified in float32, with one rounding at the store.

    Source:
        S. Ioffe, C. Szegedy, [Batch Normalization](https://arxiv.org/abs/1502.03167), 2015.

    Examples:
        >>> import torch, tileops
        >>> norm = tileops.BatchNormFwdOp(training=True)
        >>> norm(torch.empty(4, 8, 6, 6, device="meta")).shape
        torch.Size([4, 8, 6, 6])
    """

    def __init__(
        self,
        *,
        training: bool = False,
        momentum: float = 0.1,
        eps: float = 1e-5,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target, implementation=implementation, training=training, momentum=momentum, eps=eps
        )

    def forward(
        self,
        x: Tensor,
        running_mean: Tensor | None = None,
        running_var: Tensor | None = None,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
    ) -> Tensor:
        r"""Normalize every channel of `x`.

        Args:
            x: Batch, channels, then any spatial axes.
            running_mean: $\hat\mu$; written in training.
            running_var: $\hat\sigma^2$; written in training.
            weight: Factor $w$ of each channel.
            bias: Term $b$ of each channel.

        Returns:
            The normalized values, in the shape and dtype of `x`.
        """
        return self._call(x, running_mean, running_var, weight, bias)
