"""Batch normalization and its gradient."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op

__all__ = ["BatchNormFwdOp"]


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
