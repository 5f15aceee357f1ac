"""Activations of straight pieces between two limits."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op

__all__ = ["HardsigmoidFwdOp", "HardswishFwdOp", "HardtanhFwdOp"]


class HardtanhFwdOp(Op):
    r"""Each element held between two numbers, by default -1 and 1.

    $$
    y_i = \min(\max(x_i, \mathrm{min\_val}), \mathrm{max\_val})
    $$

    NaN stays NaN, and a bound that is NaN makes every element NaN. Bounds for integers are finite, and only
    their whole part counts; uint8 takes none below zero.

    Args:
        min_val: Lower bound.
        max_val: Upper bound, not below the lower one.
        inplace: Write the result into `input` and return that tensor.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Exact, but for bounds that the dtype cannot hold: they are rounded at the store.

    Source:
        [`torch.nn.functional.hardtanh`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.hardtanh.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7)
        >>> torch.testing.assert_close(tileops.HardtanhFwdOp()(x), torch.nn.functional.hardtanh(x))
    """

    def __init__(
        self,
        *,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target, implementation=implementation, min_val=min_val, max_val=max_val, inplace=inplace
        )

    def forward(self, input: Tensor) -> Tensor:
        r"""Clamp.

        Args:
            input: $x$, of any shape.

        Returns:
            The clamped values, in the shape of `input`; `input` itself with `inplace`.
        """
        return self._call(input)


class HardsigmoidFwdOp(Op):
    r"""A logistic function of three straight pieces.

    $$
    y_i = \frac{\min(\max(x_i + 3, 0), 6)}{6}
    $$

    NaN stays NaN.

    Args:
        inplace: Write the result into `input` and return that tensor.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        float32 inside. One rounding, at the store; two runs are bitwise equal.

    Source:
        A. Howard and others, [Searching for MobileNetV3](https://arxiv.org/abs/1905.02244), 2019, section
        5.2;
        [`torch.nn.functional.hardsigmoid`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.hardsigmoid.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7)
        >>> torch.testing.assert_close(tileops.HardsigmoidFwdOp()(x), torch.nn.functional.hardsigmoid(x))
    """

    def __init__(
        self, *, inplace: bool = False, target: str | None = None, implementation: str | None = None
    ) -> None:
        super().__init__(target=target, implementation=implementation, inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        r"""Apply the function.

        Args:
            input: $x$, of any shape.

        Returns:
            The values, between 0 and 1, in the shape of `input`; `input` itself with `inplace`.
        """
        return self._call(input)


class HardswishFwdOp(Op):
    r"""The activation of MobileNetV3: SiLU with a logistic function of three straight pieces.

    $$
    y_i = x_i \, \frac{\min(\max(x_i + 3, 0), 6)}{6}
    $$

    NaN stays NaN, and $-\infty$ gives NaN, as the product of an infinity and zero.

    Args:
        inplace: Write the result into `input` and return that tensor.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        float32 inside. One rounding, at the store; two runs are bitwise equal.

    Source:
        A. Howard and others, [Searching for MobileNetV3](https://arxiv.org/abs/1905.02244), 2019, section
        5.2;
        [`torch.nn.functional.hardswish`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.hardswish.html).

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(2, 7)
        >>> torch.testing.assert_close(tileops.HardswishFwdOp()(x), torch.nn.functional.hardswish(x))
    """

    def __init__(
        self, *, inplace: bool = False, target: str | None = None, implementation: str | None = None
    ) -> None:
        super().__init__(target=target, implementation=implementation, inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        r"""Apply the activation.

        Args:
            input: $x$, of any shape.

        Returns:
            The values, in the shape of `input`; `input` itself with `inplace`.
        """
        return self._call(input)
