"""Layer normalization whose factor and term are computed for every element."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op

__all__ = ["AdaLayerNormFwdOp", "AdaLayerNormZeroFwdOp"]


class AdaLayerNormFwdOp(Op):
    r"""Adaptive layer normalization: factor and term differ for every element.

    For each row of $N$ elements, with its mean $\mu$ and biased variance $\sigma^2$,

    $$
    y_j = \mathrm{scale}_j \cdot \frac{x_j - \mu}{\sqrt{\sigma^2 + \epsilon}} + \mathrm{shift}_j .
    $$

    All tensors have the shape of $x$; nothing broadcasts. Diffusion transformers multiply by
    $1 + \mathrm{scale}$: there, pass `1 + scale`.

    Args:
        eps: $\epsilon$, added to the variance inside the square root.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Everything is float32 until the one rounding at the store. The variance is that of centered values,
        so a large mean does not cancel it. Two runs are bitwise equal.

    Source:
        W. Peebles, S. Xie, [Scalable Diffusion Models with
        Transformers](https://arxiv.org/abs/2212.09748), 2022.

    Examples:
        >>> import torch, tileops
        >>> norm = tileops.AdaLayerNormFwdOp()
        >>> x, scale, shift = torch.randn(2, 64), torch.randn(2, 64), torch.randn(2, 64)
        >>> want = scale * torch.nn.functional.layer_norm(x, (64,)) + shift
        >>> torch.testing.assert_close(norm(x, scale, shift), want)
    """

    def __init__(
        self, *, eps: float = 1e-5, target: str | None = None, implementation: str | None = None
    ) -> None:
        super().__init__(target=target, implementation=implementation, eps=eps)

    def forward(self, x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
        r"""Normalize every row of `x`, then scale and shift every element.

        Args:
            x: Rows to normalize: any leading axes, then a row.
            scale: Factor of each element, in the shape of `x`.
            shift: Term of each element, in the shape of `x`.

        Returns:
            The modulated rows, in the shape and dtype of `x`.
        """
        return self._call(x, scale, shift)


class AdaLayerNormZeroFwdOp(Op):
    r"""Adaptive layer normalization times a gate.

    For each row of $N$ elements, with its mean $\mu$ and biased variance $\sigma^2$,

    $$
    y_j = \mathrm{gate}_j \cdot
    \left( \mathrm{scale}_j \cdot \frac{x_j - \mu}{\sqrt{\sigma^2 + \epsilon}} + \mathrm{shift}_j \right) .
    $$

    All tensors have the shape of $x$; nothing broadcasts. In a diffusion transformer's block the gate of
    adaLN-Zero multiplies what the branch, attention or MLP, returns, and not its input: for that block, use
    [`AdaLayerNormFwdOp`][tileops.ops.normalization.adaptive.AdaLayerNormFwdOp] and multiply after the branch.

    Args:
        eps: $\epsilon$, added to the variance inside the square root.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Everything is float32 until the one rounding at the store. The variance is that of centered values,
        so a large mean does not cancel it. Two runs are bitwise equal.

    Source:
        W. Peebles, S. Xie, [Scalable Diffusion Models with
        Transformers](https://arxiv.org/abs/2212.09748), 2022.

    Examples:
        >>> import torch, tileops
        >>> norm = tileops.AdaLayerNormZeroFwdOp()
        >>> x, scale, shift, gate = torch.randn(4, 2, 64)
        >>> want = gate * (scale * torch.nn.functional.layer_norm(x, (64,)) + shift)
        >>> torch.testing.assert_close(norm(x, scale, shift, gate), want)
    """

    def __init__(
        self, *, eps: float = 1e-5, target: str | None = None, implementation: str | None = None
    ) -> None:
        super().__init__(target=target, implementation=implementation, eps=eps)

    def forward(self, x: Tensor, scale: Tensor, shift: Tensor, gate: Tensor) -> Tensor:
        r"""Normalize every row of `x`, then scale, shift and gate every element.

        Args:
            x: Rows to normalize: any leading axes, then a row.
            scale: Factor of each element, in the shape of `x`.
            shift: Term of each element, in the shape of `x`.
            gate: Factor of each result, in the shape of `x`.

        Returns:
            The modulated and gated rows, in the shape and dtype of `x`.
        """
        return self._call(x, scale, shift, gate)
