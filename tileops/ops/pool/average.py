"""Averages of windows."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from tileops.op import Op

__all__ = ["AvgPool1dFwdOp", "AvgPool2dFwdOp", "AvgPool3dFwdOp"]


class AvgPool1dFwdOp(Op):
    r"""Average of each window of a batch of series.

    $$
    y_{nc,i} = \frac{1}{d_{i}} \sum_{u=0}^{k - 1}
    x_{nc,\; i s + u - p}
    $$

    with kernel size $k$, stride $s$ and padding $p$; positions outside the input count as zero. The divisor
    $d_{i}$ is the number of positions of the window inside the padded
    input, or inside the input when `count_include_pad` is off. Contiguous and channels-last inputs are
    read as they are, and outputs have the layout of the input.

    Args:
        kernel_size: $k$, one number.
        stride: $s$; `None` means the kernel size.
        padding: $p$ on each side; at most half of the kernel size.
        ceil_mode: Whether a last window that hangs over the edge counts; none starts in the right padding.
        count_include_pad: Whether padding counts in the divisor.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        The sum is float32, in the order of the positions, and is rounded once, at the store. Two runs are
        bitwise equal.

    Source:
        [`torch.nn.functional.avg_pool1d`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.avg_pool1d.html).

    Examples:
        >>> import torch, tileops
        >>> pool = tileops.AvgPool1dFwdOp(kernel_size=3, stride=2, padding=1)
        >>> x = torch.randn(2, 3, 9)
        >>> torch.testing.assert_close(pool(x), torch.nn.functional.avg_pool1d(x, 3, 2, 1))
    """

    def __init__(
        self,
        *,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target,
            implementation=implementation,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            ceil_mode=ceil_mode,
            count_include_pad=count_include_pad,
        )

    def forward(self, input: Tensor) -> Tensor:
        r"""Average every window.

        Args:
            input: What is pooled, `(batch, channels, length)`.

        Returns:
            The averages, in the dtype and layout of `input`.
        """
        return self._call(input)


class AvgPool2dFwdOp(Op):
    r"""Average of each window of a batch of images.

    $$
    y_{nc,ij} = \frac{1}{d_{ij}} \sum_{u=0}^{k_h - 1} \sum_{v=0}^{k_w - 1}
    x_{nc,\; i s_h + u - p_h,\; j s_w + v - p_w}
    $$

    with kernel size $k$, stride $s$ and padding $p$; positions outside the input count as zero. The divisor
    $d_{ij}$ is `divisor_override` if given, else the number of positions of the window inside the padded
    input, or inside the input when `count_include_pad` is off. Contiguous and channels-last inputs are
    read as they are, and outputs have the layout of the input.

    Args:
        kernel_size: $k$, one number or height and width.
        stride: $s$; `None` means the kernel size.
        padding: $p$ on each side; at most half of the kernel size.
        ceil_mode: Whether a last window that hangs over the edge counts; none starts in the right padding.
        count_include_pad: Whether padding counts in the divisor.
        divisor_override: The divisor of every window.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        The sum is float32, in the order of the positions, and is rounded once, at the store. Two runs are
        bitwise equal.

    Source:
        [`torch.nn.functional.avg_pool2d`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.avg_pool2d.html).

    Examples:
        >>> import torch, tileops
        >>> pool = tileops.AvgPool2dFwdOp(kernel_size=3, stride=2, padding=1)
        >>> x = torch.randn(2, 3, 8, 9)
        >>> torch.testing.assert_close(pool(x), torch.nn.functional.avg_pool2d(x, 3, 2, 1))
    """

    def __init__(
        self,
        *,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target,
            implementation=implementation,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            ceil_mode=ceil_mode,
            count_include_pad=count_include_pad,
            divisor_override=divisor_override,
        )

    def forward(self, input: Tensor) -> Tensor:
        r"""Average every window.

        Args:
            input: What is pooled, `(batch, channels, height, width)`.

        Returns:
            The averages, in the dtype and layout of `input`.
        """
        return self._call(input)


class AvgPool3dFwdOp(Op):
    r"""Average of each window of a batch of volumes.

    $$
    y_{nc,lij} = \frac{1}{d_{lij}} \sum_{t=0}^{k_d - 1} \sum_{u=0}^{k_h - 1} \sum_{v=0}^{k_w - 1}
    x_{nc,\; l s_d + t - p_d,\; i s_h + u - p_h,\; j s_w + v - p_w}
    $$

    with kernel size $k$, stride $s$ and padding $p$; positions outside the input count as zero. The divisor
    $d_{lij}$ is `divisor_override` if given, else the number of positions of the window inside the padded
    input, or inside the input when `count_include_pad` is off. Contiguous and channels-last inputs are
    read as they are, and outputs have the layout of the input.

    Args:
        kernel_size: $k$, one number or depth, height and width.
        stride: $s$; `None` means the kernel size.
        padding: $p$ on each side; at most half of the kernel size.
        ceil_mode: Whether a last window that hangs over the edge counts; none starts in the right padding.
        count_include_pad: Whether padding counts in the divisor.
        divisor_override: The divisor of every window.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        The sum is float32, in the order of the positions, and is rounded once, at the store. Two runs are
        bitwise equal.

    Source:
        [`torch.nn.functional.avg_pool3d`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.avg_pool3d.html).

    Examples:
        >>> import torch, tileops
        >>> pool = tileops.AvgPool3dFwdOp(kernel_size=3, stride=2, padding=1)
        >>> x = torch.randn(2, 3, 6, 8, 9)
        >>> torch.testing.assert_close(pool(x), torch.nn.functional.avg_pool3d(x, 3, 2, 1))
    """

    def __init__(
        self,
        *,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target,
            implementation=implementation,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            ceil_mode=ceil_mode,
            count_include_pad=count_include_pad,
            divisor_override=divisor_override,
        )

    def forward(self, input: Tensor) -> Tensor:
        r"""Average every window.

        Args:
            input: What is pooled, `(batch, channels, depth, height, width)`.

        Returns:
            The averages, in the dtype and layout of `input`.
        """
        return self._call(input)
