"""Batch normalization and its gradient."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op

__all__ = ["BatchNormBwdOp", "BatchNormFwdOp"]


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

    Numerics:
        Statistics are float32, of centered values: a mean that is large beside the spread costs nothing.
        There is one rounding, at the store. Pieces of a channel are merged in a fixed order: two runs are
        bitwise equal. Gradients are those of
        [`BatchNormBwdOp`][tileops.ops.normalization.batch.BatchNormBwdOp]. PyTorch's module with
        `momentum=None` averages over all calls: pass one over the number of calls as $m$.

    Source:
        S. Ioffe, C. Szegedy, [Batch Normalization](https://arxiv.org/abs/1502.03167), 2015.

    Examples:
        >>> import torch, tileops
        >>> norm = tileops.BatchNormFwdOp(training=True)
        >>> x, mean, var = torch.randn(4, 8, 6, 6), torch.zeros(8), torch.ones(8)
        >>> want = torch.nn.functional.batch_norm(x, mean.clone(), var.clone(), training=True)
        >>> torch.testing.assert_close(norm(x, mean, var), want)
        >>> torch.testing.assert_close(mean, 0.1 * x.mean((0, 2, 3)))
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


class BatchNormBwdOp(Op):
    r"""Gradients of batch normalization.

    For channel $c$ with $M = N \prod S$ values, with $\hat x = (x - \mu_c)\,\mathrm{rstd}_c$ and the gradient
    $g$ of the output,

    $$
    \nabla b_c = \sum_{n,s} g_{ncs}, \qquad \nabla w_c = \sum_{n,s} g_{ncs}\,\hat x_{ncs},
    $$

    $$
    \nabla x_{ncs} = w_c\,\mathrm{rstd}_c
    \left( g_{ncs} - \tfrac{1}{M} \nabla b_c - \tfrac{1}{M} \hat x_{ncs} \nabla w_c \right).
    $$

    In evaluation the statistics do not depend on $x$, and
    $\nabla x_{ncs} = w_c\,\mathrm{rstd}_c\,g_{ncs}$.

    Args:
        training: Whether `mean` and `rstd` are the statistics of `x`.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Everything is float32; there is one rounding, at the store of the gradient of $x$. Pieces of a channel
        are added in a fixed order: two runs are bitwise equal.

    Source:
        S. Ioffe, C. Szegedy, [Batch Normalization](https://arxiv.org/abs/1502.03167), 2015, section 3.

    Examples:
        >>> import torch, tileops
        >>> x, grad = torch.randn(2, 4, 8, 6, 6)
        >>> mean, rstd = x.mean((0, 2, 3)), (x.var((0, 2, 3), correction=0) + 1e-5).rsqrt()
        >>> grad_x, grad_weight, grad_bias = tileops.BatchNormBwdOp()(grad, x, torch.ones(8), mean, rstd)
        >>> x = x.clone().requires_grad_()
        >>> torch.nn.functional.batch_norm(x, None, None, training=True).backward(grad)
        >>> torch.testing.assert_close(grad_x, x.grad, rtol=1e-4, atol=1e-5)
    """

    def __init__(
        self, *, training: bool = True, target: str | None = None, implementation: str | None = None
    ) -> None:
        super().__init__(target=target, implementation=implementation, training=training)

    def forward(
        self,
        grad_out: Tensor,
        x: Tensor,
        weight: Tensor | None = None,
        mean: Tensor | None = None,
        rstd: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        r"""Gradients of input, weight and bias.

        Args:
            grad_out: $g$, the gradient of the output.
            x: What was normalized: batch, channels, then any spatial axes.
            weight: Factor $w$ of each channel; `None` for 1.
            mean: $\mu$ of each channel; it must be given.
            rstd: $1 / \sqrt{\sigma^2 + \epsilon}$ of each channel; it must be given.

        Returns:
            grad_x: The gradient of `x`, in its shape and dtype.
            grad_weight: The gradient of the weight, also where it is `None`.
            grad_bias: The gradient of the bias.
        """
        return self._call(grad_out, x, weight, mean, rstd)
