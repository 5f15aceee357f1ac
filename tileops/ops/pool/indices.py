"""Largest values of windows, and where they stand."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from tileops.op import Op

__all__ = ["MaxPool1dIndicesFwdOp", "MaxPool2dIndicesFwdOp", "MaxPool3dIndicesFwdOp"]


class MaxPool1dIndicesFwdOp(Op):
    r"""Largest value of each window of a batch of series and where it stands.

    $$
    y_{nc,i} = \max_{0 \le u < k}
    x_{nc,\; i s + u d - p}
    $$

    with kernel size $k$, stride $s$, padding $p$ and dilation $d$; positions outside the input do not count.
    NaN is larger than everything. Contiguous and channels-last inputs are read as they are, and outputs
    have the layout of the input.

    `indices` says where in the input, flattened over length, the largest value stands: the first of
    equals, and
    of several NaN the last.

    Args:
        kernel_size: $k$, one number.
        stride: $s$; `None` means the kernel size.
        padding: $p$ on each side; at most half of the kernel size.
        dilation: $d$, the distance of neighbours in a window.
        ceil_mode: Whether a last window that hangs over the edge counts; none starts in the right padding.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Exact: every result is one of the values. Two runs are bitwise equal.

    Source:
        [`torch.nn.functional.max_pool1d`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.max_pool1d.html),
        with `return_indices`.

    Examples:
        >>> import torch, tileops
        >>> pool = tileops.MaxPool1dIndicesFwdOp(kernel_size=3, stride=2, padding=1)
        >>> x = torch.randn(2, 3, 9)
        >>> expected = torch.nn.functional.max_pool1d(x, 3, 2, 1, return_indices=True)
        >>> torch.testing.assert_close(pool(x), expected)
    """

    def __init__(
        self,
        *,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        ceil_mode: bool = False,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target,
            implementation=implementation,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            ceil_mode=ceil_mode,
        )

    def forward(self, input: Tensor) -> tuple[Tensor, Tensor]:
        r"""Take the largest value of every window.

        Args:
            input: What is pooled, `(batch, channels, length)`.

        Returns:
            The largest values, in the dtype and layout of `input`; and where they stand, int64.
        """
        return self._call(input)


class MaxPool2dIndicesFwdOp(Op):
    r"""Largest value of each window of a batch of images and where it stands.

    $$
    y_{nc,ij} = \max_{0 \le u < k_h,\; 0 \le v < k_w}
    x_{nc,\; i s_h + u d_h - p_h,\; j s_w + v d_w - p_w}
    $$

    with kernel size $k$, stride $s$, padding $p$ and dilation $d$; positions outside the input do not count.
    NaN is larger than everything. Contiguous and channels-last inputs are read as they are, and outputs
    have the layout of the input.

    `indices` says where in the input, flattened over height and width, the largest value stands: the
    first of equals, and
    of several NaN the last.

    Args:
        kernel_size: $k$, one number or height and width.
        stride: $s$; `None` means the kernel size.
        padding: $p$ on each side; at most half of the kernel size.
        dilation: $d$, the distance of neighbours in a window.
        ceil_mode: Whether a last window that hangs over the edge counts; none starts in the right padding.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Exact: every result is one of the values. Two runs are bitwise equal.

    Source:
        [`torch.nn.functional.max_pool2d`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.max_pool2d.html),
        with `return_indices`.

    Examples:
        >>> import torch, tileops
        >>> pool = tileops.MaxPool2dIndicesFwdOp(kernel_size=3, stride=2, padding=1)
        >>> x = torch.randn(2, 3, 8, 9)
        >>> expected = torch.nn.functional.max_pool2d(x, 3, 2, 1, return_indices=True)
        >>> torch.testing.assert_close(pool(x), expected)
    """

    def __init__(
        self,
        *,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        ceil_mode: bool = False,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target,
            implementation=implementation,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            ceil_mode=ceil_mode,
        )

    def forward(self, input: Tensor) -> tuple[Tensor, Tensor]:
        r"""Take the largest value of every window.

        Args:
            input: What is pooled, `(batch, channels, height, width)`.

        Returns:
            The largest values, in the dtype and layout of `input`; and where they stand, int64.
        """
        return self._call(input)


class MaxPool3dIndicesFwdOp(Op):
    r"""Largest value of each window of a batch of volumes and where it stands.

    $$
    y_{nc,lij} = \max_{0 \le t < k_d,\; 0 \le u < k_h,\; 0 \le v < k_w}
    x_{nc,\; l s_d + t d_d - p_d,\; i s_h + u d_h - p_h,\; j s_w + v d_w - p_w}
    $$

    with kernel size $k$, stride $s$, padding $p$ and dilation $d$; positions outside the input do not count.
    NaN is larger than everything. Contiguous and channels-last inputs are read as they are, and outputs
    have the layout of the input.

    `indices` says where in the input, flattened over depth, height and width, the largest value stands:
    the first of equals, and
    of several NaN the last.

    Args:
        kernel_size: $k$, one number or depth, height and width.
        stride: $s$; `None` means the kernel size.
        padding: $p$ on each side; at most half of the kernel size.
        dilation: $d$, the distance of neighbours in a window.
        ceil_mode: Whether a last window that hangs over the edge counts; none starts in the right padding.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Exact: every result is one of the values. Two runs are bitwise equal.

    Source:
        [`torch.nn.functional.max_pool3d`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.max_pool3d.html),
        with `return_indices`.

    Examples:
        >>> import torch, tileops
        >>> pool = tileops.MaxPool3dIndicesFwdOp(kernel_size=3, stride=2, padding=1)
        >>> x = torch.randn(2, 3, 6, 8, 9)
        >>> expected = torch.nn.functional.max_pool3d(x, 3, 2, 1, return_indices=True)
        >>> torch.testing.assert_close(pool(x), expected)
    """

    def __init__(
        self,
        *,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        ceil_mode: bool = False,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target,
            implementation=implementation,
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            ceil_mode=ceil_mode,
        )

    def forward(self, input: Tensor) -> tuple[Tensor, Tensor]:
        r"""Take the largest value of every window.

        Args:
            input: What is pooled, `(batch, channels, depth, height, width)`.

        Returns:
            The largest values, in the dtype and layout of `input`; and where they stand, int64.
        """
        return self._call(input)
