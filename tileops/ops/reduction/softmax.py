"""Softmax."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op

__all__ = ["SoftmaxFwdOp"]


class SoftmaxFwdOp(Op):
    r"""Softmax along one axis.

    $$
    y_j = \frac{e^{x_j - m}}{\sum_k e^{x_k - m}}, \qquad m = \max_k x_k
    $$

    for each row $x$ along `dim`. A row that is $-\infty$ throughout gives NaN, and so does a row that holds
    NaN or $+\infty$, as in PyTorch.

    Args:
        dim: The axis, counted from the end when negative. `None` chooses as PyTorch's implicit rule does:
            axis 0 for tensors of 0, 1 and 3 dimensions, else axis 1.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Exponentials are taken in base 2 of float32 values scaled by $\log_2 e$; the sum is float32, and
        there is one rounding at the store. On the H200 results below $2^{-126}$ are 0. Two runs are bitwise
        equal.

    Source:
        [`torch.nn.functional.softmax`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.softmax.html).

    Examples:
        >>> import torch, tileops
        >>> softmax = tileops.SoftmaxFwdOp(dim=-1)
        >>> x = torch.randn(3, 50)
        >>> y = softmax(x)
        >>> torch.testing.assert_close(y, torch.nn.functional.softmax(x, dim=-1))
    """

    def __init__(
        self, *, dim: int | None = None, target: str | None = None, implementation: str | None = None
    ) -> None:
        super().__init__(target=target, implementation=implementation, dim=dim)

    def forward(self, input: Tensor) -> Tensor:
        r"""Softmax of every row along `dim`.

        Args:
            input: The logits, of any shape.

        Returns:
            The probabilities, in the shape and dtype of `input`.
        """
        return self._call(input)
