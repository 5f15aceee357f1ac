"""Quantization to 8 bits."""

from __future__ import annotations

from torch import Tensor

from tileops.op import PlainOp

__all__ = ["FP8QuantFwdOp"]


class FP8QuantFwdOp(PlainOp):
    r"""Quantizes rows to e4m3, each with its own scale.

    For each row $x$ of $D$ elements, over its last dimension,

    $$
    \sigma = \frac{\max(10^{-4}, \max_d |x_d|)}{448}, \qquad
    y_d = \mathrm{e4m3}\left(\frac{x_d}{\sigma}\right)
    $$

    448 is the largest e4m3 value, so the largest element of a row becomes $\pm 448$. What was quantized is
    $\sigma y_d$, and $|x_d - \sigma y_d| \le \max(2^{-4} |x_d|, 2^{-10} \sigma)$.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        The scale and the quotient are float32, by true division; each is rounded once, the quotient to the
        nearest e4m3 value, ties to even. Rows of zeros have the scale $10^{-4} / 448$ and stay 0; rows
        smaller than $10^{-4}$ keep that scale and lose bits. A row with a NaN is NaN, with a NaN scale. A row
        with an infinity has an infinite scale, NaN where the infinities were, and 0 elsewhere. Two runs are
        bitwise equal.

    Source:
        P. Micikevicius et al., [FP8 Formats for Deep Learning](https://arxiv.org/abs/2209.05433), 2022. A
        view of $M \times K$ activations as $M \times K/128 \times 1 \times 128$ gives the scales of 1 × 128
        blocks of [DeepSeek-V3](https://arxiv.org/abs/2412.19437), section 3.3.2.

    Examples:
        >>> import torch, tileops
        >>> quantize = tileops.FP8QuantFwdOp()
        >>> x = torch.randn(1, 16, 1, 128)
        >>> scale, y = quantize(x)
        >>> y.dtype, tuple(scale.shape)
        (torch.float8_e4m3fn, (1, 16, 1))
        >>> torch.testing.assert_close(y.float() * scale[..., None], x, rtol=2**-4, atol=1e-4)
    """

    def forward(self, input_tensor: Tensor) -> tuple[Tensor, Tensor]:
        r"""Quantize every row.

        Args:
            input_tensor: Rows $x$ of $D$ elements, for each of $B$ sequences of $S$ positions and $G$ groups.

        Returns:
            scale_tensor: $\sigma$ of each row.
            output_tensor: $y$, in units of $\sigma$.
        """
        return self._call(input_tensor)
