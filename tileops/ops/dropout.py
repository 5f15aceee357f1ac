"""Dropout with a seed."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op

__all__ = ["DropoutFwdOp"]


class DropoutFwdOp(Op):
    r"""Sets elements to zero at random, and scales up the others.

    $$
    y_i = \begin{cases} x_i / (1 - p) & u_i \ge p \\ 0 & u_i < p \end{cases}
    $$

    where $i$ is the place of an element in the contiguous tensor and $u_i \in [0, 1)$ a random number, the
    upper 24 bits of number $i \bmod 4$ of Philox4x32-10 with the seed as its key and $\lfloor i / 4 \rfloor$
    as its counter. With $p = 0$ or `training=False` the result is a copy, with $p = 1$ it is 0 everywhere.

    !!! warning "The seed is yours to change"
        The mask depends on the seed and on $i$, and on nothing else: not on shape, dtype, device or an
        earlier call. Two calls with one seed drop the same elements, so a training loop must give another
        seed to each layer and step.

    The gradient is the same operator with the same seed, on the gradient of $y$, and autograd knows it.

    Args:
        p: $p$, the probability that an element is dropped.
        training: Whether to drop at all.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Whether an element is kept is decided in integers, and is the same on every device. Quotients are
        float32, with one rounding at the store; for the 16-bit types they are products with $1 / (1 - p)$. A
        dropped element is 0, also where it was NaN or infinite. Two runs are bitwise equal. The mask is not
        that of `torch.nn.functional.dropout`, which draws from a state.

    Source:
        N. Srivastava et al.,
        [Dropout](https://jmlr.org/papers/v15/srivastava14a.html), 2014; J. K. Salmon et al.,
        [Parallel Random Numbers: As Easy as 1, 2, 3](https://doi.org/10.1145/2063384.2063405), 2011.

    Examples:
        >>> import torch, tileops
        >>> dropout = tileops.DropoutFwdOp(p=0.25)
        >>> x = torch.ones(1000)
        >>> y = dropout(x, seed=1)
        >>> sorted(set(y.tolist()))
        [0.0, 1.3333333730697632]
        >>> 0.7 < (y > 0).float().mean() < 0.8
        tensor(True)
        >>> torch.equal(dropout(x, seed=1), y), torch.equal(dropout(x, seed=2), y)
        (True, False)
    """

    def __init__(
        self,
        *,
        p: float = 0.5,
        training: bool = True,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(target=target, implementation=implementation, p=p, training=training)

    def forward(self, input: Tensor, *, seed: int = 0) -> Tensor:
        r"""Drop and scale.

        Args:
            input: $x$, of any shape.
            seed: The key of the random numbers, 64 bits. Change it with each call that shall draw anew.

        Returns:
            $y$, a new tensor.
        """
        return self._call(input, seed)
