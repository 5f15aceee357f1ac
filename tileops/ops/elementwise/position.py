"""Tables of positions, made from nothing but their sizes."""

from __future__ import annotations

import torch
from torch import Tensor

from tileops.op import Op

__all__ = ["AlibiFwdOp", "SinusoidalFwdOp"]


class AlibiFwdOp(Op):
    r"""The bias of ALiBi: attention scores fall with the distance, for each head with its own slope.

    $$
    y_{hij} = -m_h \, |i - j|, \qquad m_h = 2^{-8 (h + 1) / H}
    $$

    for $H$ heads, $h = 0, \dots, H - 1$. The bias is symmetric; a causal mask is applied by the attention
    itself. The formula holds for every $H$; the code published with the paper takes other slopes where $H$ is
    no power of two.

    Args:
        seq_len: Number of positions.
        num_heads: $H$.
        dtype: Dtype of the bias: float16, bfloat16 or float32.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Slope and product are float32, with one rounding at the store. In float16 distances of more than 65504
        overflow for the steepest heads. Two runs are bitwise equal.

    Source:
        O. Press, N. A. Smith, M. Lewis, [Train Short, Test Long](https://arxiv.org/abs/2108.12409), 2022.

    Examples:
        >>> import torch, tileops
        >>> bias = tileops.AlibiFwdOp(seq_len=4, num_heads=8, dtype=torch.float32)(device="cpu")
        >>> bias.shape
        torch.Size([8, 4, 4])
        >>> bias[0, 3]
        tensor([-1.5000, -1.0000, -0.5000, -0.0000])
    """

    def __init__(
        self,
        *,
        seq_len: int,
        num_heads: int,
        dtype: torch.dtype,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target, implementation=implementation, seq_len=seq_len, num_heads=num_heads, dtype=dtype
        )

    def forward(self, *, device: torch.device | str | None = None) -> Tensor:
        r"""Make the bias.

        Args:
            device: Where to; by default PyTorch's default device.

        Returns:
            The bias, of one matrix of positions a head.
        """
        return self._call(device=device)


class SinusoidalFwdOp(Op):
    r"""The position encoding of the first transformer: sines and cosines of falling frequencies, in turn.

    $$
    y_{t,2m} = \sin(t \, \omega_m), \qquad y_{t,2m+1} = \cos(t \, \omega_m), \qquad \omega_m = 10000^{-2m/d}
    $$

    for $d$ = `d_model`. Other libraries put all sines before all cosines; here they alternate.

    Args:
        seq_len: Number of positions, from 0 on.
        d_model: $d$, even.
        dtype: Dtype of the encoding: float16, bfloat16 or float32.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Frequencies are made in float64 and kept to 48 bits, and whole turns are dropped from the angle before
        it is rounded, so that far positions are as accurate as near ones (up to position $2^{24}$). Sine and
        cosine are float32, for 16-bit dtypes the hardware's. Two runs are bitwise equal.

    Source:
        A. Vaswani and others, [Attention Is All You Need](https://arxiv.org/abs/1706.03762), 2017, 3.5.

    Examples:
        >>> import torch, tileops
        >>> encode = tileops.SinusoidalFwdOp(seq_len=3, d_model=4, dtype=torch.float32)
        >>> encode(device="cpu")
        tensor([[ 0.0000,  1.0000,  0.0000,  1.0000],
                [ 0.8415,  0.5403,  0.0100,  0.9999],
                [ 0.9093, -0.4161,  0.0200,  0.9998]])
    """

    def __init__(
        self,
        *,
        seq_len: int,
        d_model: int,
        dtype: torch.dtype,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target, implementation=implementation, seq_len=seq_len, d_model=d_model, dtype=dtype
        )

    def forward(self, *, device: torch.device | str | None = None) -> Tensor:
        r"""Make the encoding.

        Args:
            device: Where to; by default PyTorch's default device.

        Returns:
            The encoding, of one row a position.
        """
        return self._call(device=device)
