"""Selection of the best keys of each query."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op

__all__ = ["TopkSelectorFwdOp"]


class TopkSelectorFwdOp(Op):
    r"""Indices of the highest scores of each query and group, within a range of keys.

    Among the candidates

    $$
    C = \{\, j : \max(\mathrm{starts}_{bs}, 0) \le j < \min(\mathrm{ends}_{bs}, S_{kv}) \,\}
    $$

    of query $s$ the $k$ with the highest scores are returned, from the highest down; of equal scores, the
    lower index comes first:

    $$
    \mathrm{indexes}_{bsg} = (j_1, \ldots, j_k), \qquad
    (x_{j_1}, -j_1) \ge (x_{j_2}, -j_2) \ge \ldots \quad \text{with } x_j = \mathrm{index\_score}_{bsjg}
    $$

    Where there are fewer candidates than $k$, the rest is $-1$.

    Args:
        topk: $k$, how many indices are returned.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Nothing is rounded. NaN is the highest score, as in `torch.topk`, and $-\infty$ the lowest; $-0$ and 0
        are equal. An empty range gives only $-1$, and a start or end beyond the row is held inside. The order
        is complete, so two runs are equal.

    Source:
        The token selector of DeepSeek Sparse Attention, in
        [DeepSeek-V3.2](https://arxiv.org/abs/2512.02556), section 2.1. Its scores come from
        `FP8LightningIndexerFwdOp`.

    Examples:
        >>> import torch, tileops
        >>> select = tileops.TopkSelectorFwdOp(topk=3)
        >>> score = torch.tensor([0.1, 0.9, 0.4, 0.9, 0.7]).view(1, 1, 5, 1)
        >>> start, end = torch.tensor([[0]], dtype=torch.int32), torch.tensor([[4]], dtype=torch.int32)
        >>> select(score, start, end).flatten().tolist()
        [1, 3, 2]
        >>> select(score, start + 3, end).flatten().tolist()
        [3, -1, -1]
    """

    def __init__(self, *, topk: int, target: str | None = None, implementation: str | None = None) -> None:
        super().__init__(target=target, implementation=implementation, topk=topk)

    def forward(self, index_score: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
        r"""Select.

        Args:
            index_score: Scores of $S$ queries in each of $B$ sequences, for $S_{kv}$ keys and $G$ groups.
            starts: First key that a query may select.
            ends: The key behind the last one that it may select.

        Returns:
            indexes: Indices of keys, or $-1$. A row is also a set: no index occurs twice.
        """
        return self._call(index_score, starts, ends)
