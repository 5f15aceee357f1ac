"""Means of chunks of tokens."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op

__all__ = ["MeanPoolingFwdOp"]


class MeanPoolingFwdOp(Op):
    r"""Mean of each chunk of consecutive tokens, the compression of native sparse attention.

    $$
    y_{b,m,h} = \frac{1}{|K_m|} \sum_{s \in K_m} x_{b,s,h}, \qquad
    K_m = [\,m c,\; \min((m + 1) c,\; S)\,)
    $$

    for chunks of $c$ tokens. Packed sequences have batch 1 and come with `offsets` and `indices`: row $r$ of
    the result, with `indices[r]` $= (n, m)$, is chunk $m$ of sequence $n$, whose tokens are
    `offsets[n]` to `offsets[n + 1]`. The mean is over the tokens that a chunk has; a chunk without any is 0.

    Args:
        chunk_size: $c$.

    Raises:
        CallError: An argument breaks the specification below, or tensors on the CPU hold an offset or index
            out of range; the message names it. On a GPU such a chunk reads within `x` all the same.

    Numerics:
        The sum is float32, in the order of the tokens, and is rounded once, at the store. Two runs are
        bitwise equal.

    Source:
        Yuan et al., *Native Sparse Attention: Hardware-Aligned and Natively Trainable Sparse
        Attention*, 2025.

    Examples:
        >>> import torch, tileops
        >>> x = torch.randn(1, 10, 2, 16)
        >>> y = tileops.MeanPoolingFwdOp(chunk_size=4)(x)
        >>> torch.testing.assert_close(y[:, 2], x[:, 8:].mean(1))
    """

    def __init__(
        self, *, chunk_size: int, target: str | None = None, implementation: str | None = None
    ) -> None:
        super().__init__(target=target, implementation=implementation, chunk_size=chunk_size)

    def forward(self, x: Tensor, offsets: Tensor | None = None, indices: Tensor | None = None) -> Tensor:
        r"""Average every chunk.

        Args:
            x: Tokens, `(batch, length, heads, dim)`.
            offsets: Where packed sequences begin, and the end of the last: prefix sums of lengths.
            indices: Of each row of the result, its sequence and its chunk in that.

        Returns:
            The means, `(batch, chunks, heads, dim)`, in the dtype of `x`.
        """
        return self._call(x, offsets, indices)
