"""Elements held within limits."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op

__all__ = ["ClampScalarFwdOp", "NanToNumFwdOp"]


class ClampScalarFwdOp(Op):
    r"""Each element held between two numbers.

    $$
    y_i = \min(\max(x_i, \mathrm{min}), \mathrm{max})
    $$

    NaN stays NaN, and a bound that is NaN makes every element NaN. Where `min` is above `max`, every
    element is `max`. Bounds of integers are whole numbers and the result has their dtype, also for a bound
    such as `2.0`, for which PyTorch would promote to float32. uint8 takes no bound below zero.

    Args:
        min: Lower bound; `None` for none.
        max: Upper bound; `None` for none.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Exact, but for bounds that the dtype of `input` cannot hold: they are compared in float32, and
        rounded at the store. Integers are compared as integers of 64 bits, with whole bounds; where
        PyTorch refuses a bound that their dtype cannot hold, the end of its range stands for it.

    Source:
        [`torch.clamp`](https://docs.pytorch.org/docs/stable/generated/torch.clamp.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7)
        >>> y = tileops.ClampScalarFwdOp(min=-0.5, max=0.5)(x)
        >>> torch.testing.assert_close(y, torch.clamp(x, -0.5, 0.5))
    """

    def __init__(
        self,
        *,
        min: int | float | None = None,
        max: int | float | None = None,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(target=target, implementation=implementation, min=min, max=max)

    def forward(self, input: Tensor) -> Tensor:
        r"""Clamp.

        Args:
            input: $x$, of any shape.

        Returns:
            The clamped values, in the shape of `input`.
        """
        return self._call(input)


class NanToNumFwdOp(Op):
    r"""Replaces NaN and the infinities by numbers.

    $$
    y_i = \begin{cases} \mathrm{nan} & x_i \text{ is NaN} \\ \mathrm{posinf} & x_i = \infty \\
    \mathrm{neginf} & x_i = -\infty \\ x_i & \text{otherwise} \end{cases}
    $$

    Integers and booleans are returned as they are.

    Args:
        nan: What stands for NaN.
        posinf: What stands for $\infty$; by default the largest value of the dtype of `input`.
        neginf: What stands for $-\infty$; by default the smallest value of that dtype.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Exact; replacements are rounded to the dtype.

    Source:
        [`torch.nan_to_num`](https://docs.pytorch.org/docs/stable/generated/torch.nan_to_num.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.tensor([1.0, float("nan"), float("-inf")])
        >>> tileops.NanToNumFwdOp(nan=7.0, neginf=-1.0)(x)
        tensor([ 1.,  7., -1.])
    """

    def __init__(
        self,
        *,
        nan: float = 0.0,
        posinf: float | None = None,
        neginf: float | None = None,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(target=target, implementation=implementation, nan=nan, posinf=posinf, neginf=neginf)

    def forward(self, input: Tensor) -> Tensor:
        r"""Replace what is not finite.

        Args:
            input: $x$, of any shape.

        Returns:
            Finite values, unless a replacement is not, in the shape of `input`.
        """
        return self._call(input)
