"""Normalization of groups of channels, and of single channels of single samples."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op

__all__ = ["GroupNormFwdOp", "InstanceNormFwdOp"]


class GroupNormFwdOp(Op):
    r"""Group normalization: every sample's channels, in groups of neighbours.

    The $C$ channels of a sample form $G$ = `num_groups` groups of $C / G$. With the mean $\mu$ and the biased
    variance $\sigma^2$ of all values of a group,

    $$
    y_{ncs} = \frac{x_{ncs} - \mu_{n,g(c)}}{\sqrt{\sigma_{n,g(c)}^2 + \epsilon}} \cdot w_c + b_c,
    \qquad g(c) = \left\lfloor \frac{c}{C / G} \right\rfloor .
    $$

    Without a weight $w_c = 1$, without a bias $b_c = 0$; each may be given alone.

    Args:
        num_groups: $G$, which divides the number of channels.
        eps: $\epsilon$, added to the variance inside the square root.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Statistics are float32, of centered values: a mean that is large beside the spread costs nothing.
        There is one rounding, at the store. Pieces of a group are merged in a fixed order: two runs are
        bitwise equal.

    Source:
        Y. Wu, K. He, [Group Normalization](https://arxiv.org/abs/1803.08494), 2018.

    Examples:
        >>> import torch, tileops
        >>> norm = tileops.GroupNormFwdOp(num_groups=4)
        >>> x, weight, bias = torch.randn(2, 8, 6, 6), torch.rand(8), torch.rand(8)
        >>> want = torch.nn.functional.group_norm(x, 4, weight, bias)
        >>> torch.testing.assert_close(norm(x, weight, bias), want)
    """

    def __init__(
        self,
        *,
        num_groups: int,
        eps: float = 1e-5,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(target=target, implementation=implementation, num_groups=num_groups, eps=eps)

    def forward(self, x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
        r"""Normalize every group of `x`.

        Args:
            x: Batch, channels, then any spatial axes.
            weight: Factor $w$ of each channel.
            bias: Term $b$ of each channel.

        Returns:
            The normalized values, in the shape and dtype of `x`.
        """
        return self._call(x, weight, bias)


class InstanceNormFwdOp(Op):
    r"""Instance normalization: every channel of every sample by itself.

    With `use_input_stats`, $\mu_{nc}$ and $\sigma_{nc}^2$ are the mean and the biased variance over the $M$
    spatial places of a channel in a sample; without, `running_mean` and `running_var`. Then

    $$
    y_{ncs} = \frac{x_{ncs} - \mu_{nc}}{\sqrt{\sigma_{nc}^2 + \epsilon}} \cdot w_c + b_c .
    $$

    With `use_input_stats`, running statistics that are given are updated in place, by means over the samples
    and with the unbiased variance:

    $$
    \hat\mu_c \leftarrow (1 - m)\,\hat\mu_c + \frac{m}{N} \sum_n \mu_{nc}, \qquad
    \hat\sigma_c^2 \leftarrow (1 - m)\,\hat\sigma_c^2 + \frac{m}{N} \sum_n \tfrac{M}{M-1}\,\sigma_{nc}^2 .
    $$

    Args:
        use_input_stats: Whether the statistics are those of the input.
        momentum: $m$, the share of the input in the running statistics.
        eps: $\epsilon$, added to the variance inside the square root.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Statistics are float32, of centered values: a mean that is large beside the spread costs nothing.
        There is one rounding, at the store. Pieces of a channel are merged in a fixed order: two runs are
        bitwise equal.

    Source:
        D. Ulyanov, A. Vedaldi, V. Lempitsky,
        [Instance Normalization](https://arxiv.org/abs/1607.08022), 2016.

    Examples:
        >>> import torch, tileops
        >>> norm = tileops.InstanceNormFwdOp()
        >>> x, mean, var = torch.randn(2, 8, 6, 6), torch.zeros(8), torch.ones(8)
        >>> torch.testing.assert_close(norm(x, mean, var), torch.nn.functional.instance_norm(x))
        >>> torch.testing.assert_close(mean, 0.1 * x.mean((0, 2, 3)))
    """

    def __init__(
        self,
        *,
        use_input_stats: bool = True,
        momentum: float = 0.1,
        eps: float = 1e-5,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target,
            implementation=implementation,
            use_input_stats=use_input_stats,
            momentum=momentum,
            eps=eps,
        )

    def forward(
        self,
        x: Tensor,
        running_mean: Tensor | None = None,
        running_var: Tensor | None = None,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
    ) -> Tensor:
        r"""Normalize every channel of every sample of `x`.

        Args:
            x: Batch, channels, then any spatial axes.
            running_mean: $\hat\mu$; written with `use_input_stats`.
            running_var: $\hat\sigma^2$; written with `use_input_stats`.
            weight: Factor $w$ of each channel.
            bias: Term $b$ of each channel.

        Returns:
            The normalized values, in the shape and dtype of `x`.
        """
        return self._call(x, running_mean, running_var, weight, bias)
