"""Pooling to a grid of a given size."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from tileops.op import Op

__all__ = ["AdaptiveAvgPool2dFwdOp", "AdaptiveMaxPool2dFwdOp", "AdaptiveMaxPool2dIndicesFwdOp"]


class AdaptiveAvgPool2dFwdOp(Op):
    r"""Averages of a batch of images over a grid of a given size.

    $$
    y_{nc,ij} = \frac{1}{|R_i| |C_j|} \sum_{a \in R_i} \sum_{b \in C_j} x_{nc,ab}, \qquad
    R_i = \Big[\Big\lfloor \frac{iH}{H'} \Big\rfloor, \Big\lceil \frac{(i+1)H}{H'} \Big\rceil\Big)
    $$

    for a grid of $H' \times W'$; the columns $C_j$ follow in the same way from width $W$. Neighbouring
    windows
    overlap where the sizes do not divide. Contiguous and channels-last inputs are read as they are, and
    outputs have the layout of the input.

    Args:
        output_size: $H'$ and $W'$, one number for both, or `None` for the size of the input.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        The sum is float32, in the order of the positions, and is rounded once, at the store. Two runs are
        bitwise equal.

    Source:
        [`torch.nn.functional.adaptive_avg_pool2d`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.adaptive_avg_pool2d.html).

    Examples:
        >>> import torch, tileops
        >>> pool = tileops.AdaptiveAvgPool2dFwdOp(output_size=(3, None))
        >>> x = torch.randn(2, 3, 8, 9)
        >>> expected = torch.nn.functional.adaptive_avg_pool2d(x, (3, None))
        >>> torch.testing.assert_close(pool(x), expected)
    """

    def __init__(
        self,
        *,
        output_size: int | Sequence[int | None] | None,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target,
            implementation=implementation,
            output_size=output_size,
        )

    def forward(self, input: Tensor) -> Tensor:
        r"""Pool every image.

        Args:
            input: What is pooled, `(batch, channels, height, width)`.

        Returns:
            The averages, in the dtype and layout of `input`.
        """
        return self._call(input)


class AdaptiveMaxPool2dFwdOp(Op):
    r"""Largest values of a batch of images over a grid of a given size.

    $$
    y_{nc,ij} = \max_{a \in R_i,\; b \in C_j} x_{nc,ab}, \qquad
    R_i = \Big[\Big\lfloor \frac{iH}{H'} \Big\rfloor, \Big\lceil \frac{(i+1)H}{H'} \Big\rceil\Big)
    $$

    for a grid of $H' \times W'$; the columns $C_j$ follow in the same way from width $W$. Neighbouring
    windows
    overlap where the sizes do not divide. NaN is larger than everything. Contiguous and channels-last
    inputs are read as they are, and outputs have the layout of the input.

    Args:
        output_size: $H'$ and $W'$, one number for both, or `None` for the size of the input.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Exact: every result is one of the values. Two runs are bitwise equal.

    Source:
        [`torch.nn.functional.adaptive_max_pool2d`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.adaptive_max_pool2d.html).

    Examples:
        >>> import torch, tileops
        >>> pool = tileops.AdaptiveMaxPool2dFwdOp(output_size=(3, None))
        >>> x = torch.randn(2, 3, 8, 9)
        >>> expected = torch.nn.functional.adaptive_max_pool2d(x, (3, None))
        >>> torch.testing.assert_close(pool(x), expected)
    """

    def __init__(
        self,
        *,
        output_size: int | Sequence[int | None] | None,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target,
            implementation=implementation,
            output_size=output_size,
        )

    def forward(self, input: Tensor) -> Tensor:
        r"""Pool every image.

        Args:
            input: What is pooled, `(batch, channels, height, width)`.

        Returns:
            The largest values, in the dtype and layout of `input`.
        """
        return self._call(input)


class AdaptiveMaxPool2dIndicesFwdOp(Op):
    r"""Largest values of a batch of images over a grid of a given size, and where they stand.

    $$
    y_{nc,ij} = \max_{a \in R_i,\; b \in C_j} x_{nc,ab}, \qquad
    R_i = \Big[\Big\lfloor \frac{iH}{H'} \Big\rfloor, \Big\lceil \frac{(i+1)H}{H'} \Big\rceil\Big)
    $$

    for a grid of $H' \times W'$; the columns $C_j$ follow in the same way from width $W$. Neighbouring
    windows
    overlap where the sizes do not divide. NaN is larger than everything. Contiguous and channels-last
    inputs are read as they are, and outputs have the layout of the input.

    `indices` says where in the image, flattened over height and width, the largest value stands: the first of
    equals, and of several NaN the last.

    Args:
        output_size: $H'$ and $W'$, one number for both, or `None` for the size of the input.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Exact: every result is one of the values. Two runs are bitwise equal.

    Source:
        [`torch.nn.functional.adaptive_max_pool2d`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.adaptive_max_pool2d.html),
        with `return_indices`.

    Examples:
        >>> import torch, tileops
        >>> pool = tileops.AdaptiveMaxPool2dIndicesFwdOp(output_size=(3, None))
        >>> x = torch.randn(2, 3, 8, 9)
        >>> expected = torch.nn.functional.adaptive_max_pool2d(x, (3, None), return_indices=True)
        >>> torch.testing.assert_close(pool(x), expected)
    """

    def __init__(
        self,
        *,
        output_size: int | Sequence[int | None] | None,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target,
            implementation=implementation,
            output_size=output_size,
        )

    def forward(self, input: Tensor) -> tuple[Tensor, Tensor]:
        r"""Pool every image.

        Args:
            input: What is pooled, `(batch, channels, height, width)`.

        Returns:
            The largest values, in the dtype and layout of `input`; and where they stand, int64.
        """
        return self._call(input)
