"""Convolution of series, images and volumes."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from tileops.op import Op

__all__ = ["Conv1dFwdOp", "Conv2dFwdOp", "Conv3dFwdOp"]


class Conv1dFwdOp(Op):
    r"""Convolution of a batch of series with a bank of kernels, in groups of channels.

    $$
    y_{n,o,i} = b_o + \sum_{c=0}^{C/G - 1} \sum_{u=0}^{k - 1}
    w_{o,c,u} \; x_{n,\; g C/G + c,\; i s + u d - p}, \qquad g = \Big\lfloor \frac{o}{O/G} \Big\rfloor
    $$

    with kernel size $k$, stride $s$, dilation $d$, padding $p$ and $G$ groups;
    positions outside the input count as zero. As in PyTorch the kernel is not flipped. Contiguous and
    channels-last inputs and weights are read as they are, in any combination, and the output has the layout
    of the input.

    Args:
        stride: $s$, one number.
        padding: $p$ on each side, one number; `"valid"` is 0. `"same"` keeps the size of the input,
            with the odd position of an even kernel behind it, and needs stride 1.
        dilation: $d$, one number.
        groups: $G$. Output channels of a group see its $C/G$ input channels only.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Products and sums are float32, the bias is added in float32, and there is one rounding, at the store.
        Float16 and bfloat16 run on tensor cores, which take each product exactly; groups of fewer than 16
        output channels, or outputs of fewer than 16 weights, run on CUDA cores. Float32 is IEEE float32 on
        CUDA cores, never TF32, whatever PyTorch's switches say. Two runs are bitwise equal.

    Source:
        [`torch.nn.functional.conv1d`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.conv1d.html).

    Examples:
        >>> import torch, tileops
        >>> conv = tileops.Conv1dFwdOp(padding="same", groups=2)
        >>> x, weight, bias = torch.randn(2, 6, 9), torch.randn(8, 3, 2), torch.randn(8)
        >>> expected = torch.nn.functional.conv1d(x, weight, bias, padding="same", groups=2)
        >>> torch.testing.assert_close(conv(x, weight, bias), expected, rtol=1e-4, atol=1e-4)
    """

    def __init__(
        self,
        *,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] | str = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target,
            implementation=implementation,
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
        )

    def forward(self, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        r"""Convolve.

        Args:
            input: $x$, `(batch, channels, length)`.
            weight: $w$, `(output channels, channels / groups, kernel length)`.
            bias: $b$, one number an output channel.

        Returns:
            $y$, in the dtype and layout of `input`.
        """
        return self._call(input, weight, bias)


class Conv2dFwdOp(Op):
    r"""Convolution of a batch of images with a bank of kernels, in groups of channels.

    $$
    y_{n,o,ij} = b_o + \sum_{c=0}^{C/G - 1} \sum_{u=0}^{k_h - 1} \sum_{v=0}^{k_w - 1}
    w_{o,c,uv} \; x_{n,\; g C/G + c,\; (i s_h + u d_h - p_h)(j s_w + v d_w - p_w)}, \qquad
    g = \Big\lfloor \frac{o}{O/G} \Big\rfloor
    $$

    with the kernel size $k$, stride $s$, dilation $d$ and padding $p$ of each axis, and $G$ groups;
    positions outside the input count as zero. As in PyTorch the kernel is not flipped. Contiguous and
    channels-last inputs and weights are read as they are, in any combination, and the output has the layout
    of the input.

    Args:
        stride: $s$, one number, or two.
        padding: $p$ on each side, one number, or two; `"valid"` is 0. `"same"` keeps the size of the input,
            with the odd position of an even kernel behind it, and needs stride 1.
        dilation: $d$, one number, or two.
        groups: $G$. Output channels of a group see its $C/G$ input channels only.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Products and sums are float32, the bias is added in float32, and there is one rounding, at the store.
        Float16 and bfloat16 run on tensor cores, which take each product exactly; groups of fewer than 16
        output channels, or outputs of fewer than 16 weights, run on CUDA cores. Float32 is IEEE float32 on
        CUDA cores, never TF32, whatever PyTorch's switches say. Two runs are bitwise equal.

    Source:
        [`torch.nn.functional.conv2d`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.conv2d.html).

    Examples:
        >>> import torch, tileops
        >>> conv = tileops.Conv2dFwdOp(stride=2, padding=(1, 0))
        >>> x, weight, bias = torch.randn(2, 4, 7, 9), torch.randn(6, 4, 3, 3), torch.randn(6)
        >>> expected = torch.nn.functional.conv2d(x, weight, bias, stride=2, padding=(1, 0))
        >>> torch.testing.assert_close(conv(x, weight, bias), expected, rtol=1e-4, atol=1e-4)
    """

    def __init__(
        self,
        *,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] | str = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target,
            implementation=implementation,
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
        )

    def forward(self, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        r"""Convolve.

        Args:
            input: $x$, `(batch, channels, height, width)`.
            weight: $w$, `(output channels, channels / groups, kernel height, kernel width)`.
            bias: $b$, one number an output channel.

        Returns:
            $y$, in the dtype and layout of `input`.
        """
        return self._call(input, weight, bias)


class Conv3dFwdOp(Op):
    r"""Convolution of a batch of volumes with a bank of kernels, in groups of channels.

    $$
    y_{n,o,a} = b_o + \sum_{c=0}^{C/G - 1} \sum_{u \in [0, k)}
    w_{o,c,u} \; x_{n,\; g C/G + c,\; a s + u d - p}, \qquad g = \Big\lfloor \frac{o}{O/G} \Big\rfloor
    $$

    with triples for position $a$, kernel size $k$, stride $s$, dilation $d$ and padding $p$, one number an
    axis, multiplied element by element, and $G$ groups;
    positions outside the input count as zero. As in PyTorch the kernel is not flipped. Contiguous and
    channels-last inputs and weights are read as they are, in any combination, and the output has the layout
    of the input.

    Args:
        stride: $s$, one number, or three.
        padding: $p$ on each side, one number, or three; `"valid"` is 0. `"same"` keeps the size of the input,
            with the odd position of an even kernel behind it, and needs stride 1.
        dilation: $d$, one number, or three.
        groups: $G$. Output channels of a group see its $C/G$ input channels only.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Products and sums are float32, the bias is added in float32, and there is one rounding, at the store.
        Float16 and bfloat16 run on tensor cores, which take each product exactly; groups of fewer than 16
        output channels, or outputs of fewer than 16 weights, run on CUDA cores. Float32 is IEEE float32 on
        CUDA cores, never TF32, whatever PyTorch's switches say. Two runs are bitwise equal.

    Source:
        [`torch.nn.functional.conv3d`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.conv3d.html).

    Examples:
        >>> import torch, tileops
        >>> conv = tileops.Conv3dFwdOp(padding=1, dilation=(1, 2, 1))
        >>> x, weight, bias = torch.randn(1, 3, 4, 5, 6), torch.randn(4, 3, 3, 3, 3), torch.randn(4)
        >>> expected = torch.nn.functional.conv3d(x, weight, bias, padding=1, dilation=(1, 2, 1))
        >>> torch.testing.assert_close(conv(x, weight, bias), expected, rtol=1e-4, atol=1e-4)
    """

    def __init__(
        self,
        *,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] | str = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target,
            implementation=implementation,
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
        )

    def forward(self, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        r"""Convolve.

        Args:
            input: $x$, `(batch, channels, depth, height, width)`.
            weight: $w$, `(output channels, channels / groups, kernel depth, kernel height, kernel width)`.
            bias: $b$, one number an output channel.

        Returns:
            $y$, in the dtype and layout of `input`.
        """
        return self._call(input, weight, bias)
