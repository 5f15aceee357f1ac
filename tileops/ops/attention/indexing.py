"""Attention indexing: which keys are worth a look."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op

__all__ = ["FP8LightningIndexerFwdOp"]


class FP8LightningIndexerFwdOp(Op):
    r"""Scores of all keys for each query, from a few cheap heads in float8.

    Heads $h$ of group $g$, $\lfloor h\,G / H \rfloor = g$, vote on each key:

    $$
    \mathrm{logits}_{bijg} =
    \sigma_{bjg} \sum_{h \in g} w_{ih} \max(0, \langle \hat q_{bih}, \hat k_{bjg} \rangle)
    \qquad \text{for } \max(ks_i, 0) \le j < \min(ke_i, S_{kv})
    $$

    and $-\infty$ elsewhere. $\hat q$ is $q$ in e4m3, without a scale. $\hat k$ and $\sigma$ are

    - with `index_k_scale`: $k$, in e4m3, and that scale;
    - for e4m3 $k$ without it: $k$ and 1;
    - for bfloat16 $k$: what [`FP8QuantFwdOp`][tileops.ops.quantization.FP8QuantFwdOp] makes of its rows.

    What [`TopkSelectorFwdOp`][tileops.ops.topk.TopkSelectorFwdOp] selects among them, sparse attention reads.
    DeepSeek-V3.2 folds the scales of its queries, $D^{-1/2}$ and $H^{-1/2}$ into the weights.

    Args:
        clean_logits: Whether logits outside of a query's range are $-\infty$. Otherwise they may be anything,
            also what was in memory, and must not be read; less is written.

    Raises:
        CallError: An argument breaks the specification below; the message names it.
        NotImplementedError: The call is specified, and no implementation serves it: $D > 256$, or more than
            128 heads in a group.

    Numerics:
        Products of e4m3 are exact. On the GPU, tensor cores keep about 14 bits of their sum over $D$; what
        follows is float32. bfloat16 queries beyond 448 saturate. An empty range is a row of $-\infty$. Two
        runs are bitwise equal.

    Source:
        The lightning indexer of [DeepSeek-V3.2](https://arxiv.org/abs/2512.02556), section 2.1.

    Examples:
        >>> import torch, tileops
        >>> index = tileops.FP8LightningIndexerFwdOp()
        >>> q, k = (torch.randn(shape).to(torch.float8_e4m3fn) for shape in ((1, 3, 4, 64), (1, 6, 1, 64)))
        >>> weights, start = torch.rand(3, 4), torch.zeros(3, dtype=torch.int32)
        >>> logits = index(q, k, weights, start, torch.tensor([4, 5, 6], dtype=torch.int32))
        >>> votes = torch.einsum("bshd,btgd->bsth", q.float(), k.float()).relu()
        >>> want = (votes * weights[:, None]).sum(-1, keepdim=True)
        >>> torch.testing.assert_close(logits[0, 2], want[0, 2])
        >>> logits[0, 0, 4:].flatten().tolist()
        [-inf, -inf]
    """

    def __init__(
        self, *, clean_logits: bool = True, target: str | None = None, implementation: str | None = None
    ) -> None:
        super().__init__(target=target, implementation=implementation, clean_logits=clean_logits)

    def forward(
        self,
        index_q: Tensor,
        index_k: Tensor,
        weights: Tensor,
        cu_seqlen_ks: Tensor,
        cu_seqlen_ke: Tensor,
        index_k_scale: Tensor | None = None,
    ) -> Tensor:
        r"""Score.

        Args:
            index_q: $q$, $H$ heads of $S$ queries in each of $B$ sequences.
            index_k: $k$, one head for each of $G$ groups, for $S_{kv}$ keys.
            weights: $w$, how much each head of a query counts; the same for all sequences.
            cu_seqlen_ks: $ks$, the first key of each query.
            cu_seqlen_ke: $ke$, the key behind the last one of each query.
            index_k_scale: $\sigma$, the scale of each row of `index_k`.

        Returns:
            logits: The score of each key for each query and group.
        """
        return self._call(index_q, index_k, weights, cu_seqlen_ks, cu_seqlen_ke, index_k_scale)
