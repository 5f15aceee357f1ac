"""Pooling over spatial windows."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from tileops.op import Op

__all__ = ["AvgPool2dFwdOp"]


class AvgPool2dFwdOp(Op):
    r"""Average of each window of a batch of images.

    $$
    y_{nc,ij} = \frac{1}{d_{ij}} \sum_{u=0}^{k_h - 1} \sum_{v=0}^{k_w - 1}
    x_{nc,\; i s_h + u - p_h,\; j s_w + v - p_w}
    $$

    with kernel size $k$, stride $s$ and padding $p$; positions outside the image count as zero. The divisor
    $d_{ij}$ is `divisor_override` if given, else the number of positions of the window inside the padded
    image, or inside the image when `count_include_pad` is off.

    Args:
        kernel_size: $k$, one number or height and width.
        stride: $s$; `None` means the kernel size.
        padding: $p$ on each side; at most half of the kernel size.
        ceil_mode: Whether a last window that hangs over the edge counts; none starts in the right padding.
        count_include_pad: Whether padding counts in the divisor.
        divisor_override: The divisor of every window.

    Raises:
        CallError: An argument breaks the specification below; the message names it.
        NotImplementedError: The call passed every check; computing it is not implemented.

    Numerics:
        The sum is specified in float32, with one rounding at the store.

    Source:
        [`torch.nn.functional.avg_pool2d`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.avg_pool2d.html).

    Examples:
        >>> import torch, tileops
        >>> pool = tileops.AvgPool2dFwdOp(kernel_size=3, stride=2, padding=1)
        >>> pool(torch.empty(2, 3, 8, 9, device="meta")).shape
        torch.Size([2, 3, 4, 5])
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
            input: Images, `(batch, channels, height, width)`.

        Returns:
            The averages, `(batch, channels, rows, columns)`, in the dtype of `input`.
        """
        return self._call(input)
