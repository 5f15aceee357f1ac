"""Attention within a sliding window."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op

__all__ = ["GroupedQueryAttentionSlidingWindowFwdOp", "GroupedQueryAttentionSlidingWindowVarlenFwdOp"]


class GroupedQueryAttentionSlidingWindowFwdOp(Op):
    r"""Grouped-query self-attention within a window around each query.

    Query head $h$ reads the key and value head $g(h) = \lfloor h\,H_{kv} / H \rfloor$. With
    $w_l$ = `window_size_left` and $w_r$ = `window_size_right`, key $j$ is visible to query $i$ when

    $$
    i - w_l \le j \le i + w_r
    $$

    where -1 drops a bound, both ends are visible, and `is_causal` also asks for $j \le i$. Then

    $$
    s_{ij} = \frac{\langle q_{i h}, k_{j\,g(h)} \rangle}{\sqrt{D}}, \qquad
    o_{i h} = \sum_{j \text{ visible}} \frac{e^{s_{ij} - m_i}}{\sum_{j' \text{ visible}} e^{s_{ij'} - m_i}}\,
    v_{j\,g(h)}, \qquad m_i = \max_{j \text{ visible}} s_{ij} .
    $$

    Some models' configurations count the query in the window: a "window of 4096" there is
    `window_size_left=4095` here. Keys that no query of a tile sees are not read.

    Args:
        is_causal: Whether keys after the query are masked.
        window_size_left: $w_l$, keys that are visible before the query; -1 means all.
        window_size_right: $w_r$, keys that are visible after the query; -1 means all.

    Raises:
        CallError: An argument breaks the specification below; the message names it.
        NotImplementedError: The call is specified, and no implementation serves it: $D > 256$.

    Numerics:
        Scores, softmax and accumulation are float32; the weights are rounded to the dtype of `v` before they
        multiply it. One rounding at the store. Two runs are bitwise equal.

    Source:
        A. Q. Jiang et al., [Mistral 7B](https://arxiv.org/abs/2310.06825), 2023, for the sliding window.

    Examples:
        >>> import torch, tileops
        >>> q, (k, v) = torch.randn(1, 40, 4, 64).half(), torch.randn(2, 1, 40, 2, 64).half()
        >>> itself = tileops.GroupedQueryAttentionSlidingWindowFwdOp(window_size_left=0)
        >>> torch.equal(itself(q, k, v), v.repeat_interleave(2, dim=2))
        True
    """

    def __init__(
        self,
        *,
        is_causal: bool = True,
        window_size_left: int = -1,
        window_size_right: int = -1,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target,
            implementation=implementation,
            is_causal=is_causal,
            window_size_left=window_size_left,
            window_size_right=window_size_right,
        )

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        r"""Attend.

        Args:
            q: Queries, `(batch, sequence, heads, head_dim)`.
            k: Keys, `(batch, sequence, key heads, head_dim)`.
            v: Values, in the shape of `k`.

        Returns:
            The outputs, in the shape of `q`.
        """
        return self._call(q, k, v)


class GroupedQueryAttentionSlidingWindowVarlenFwdOp(Op):
    r"""Grouped-query attention of packed requests within a window around each query.

    Request $r$ owns the query rows from $\mathrm{cu}^q_r$ up to $\mathrm{cu}^q_{r+1}$, $n_r$ of them, and the
    key rows from $\mathrm{cu}^k_r$ up to $\mathrm{cu}^k_{r+1}$, $\ell_r$ of them. Its query $i < n_r$ stands
    at its key $p_i = i + \ell_r - n_r$ and sees the keys $j < \ell_r$ with

    $$
    p_i - w_l \le j \le p_i + w_r ,
    $$

    $w_l$ = `window_size_left` and $w_r$ = `window_size_right`, where -1 drops a bound; `is_causal` also asks
    for $j \le p_i$. Query head $h$ reads the key and value head $\lfloor h\,H_{kv} / H \rfloor$, and

    $$
    s_{ij} = \frac{\langle q_i, k_j \rangle}{\sqrt{D}}, \qquad
    o_i = \sum_{j \text{ visible}} \frac{e^{s_{ij} - m_i}}{\sum_{j' \text{ visible}} e^{s_{ij'} - m_i}}\, v_j,
    \qquad m_i = \max_{j \text{ visible}} s_{ij} .
    $$

    Requests may be empty. Zeros are the output of a query that sees no key, and of rows that no request owns.

    Args:
        is_causal: Whether keys after $p_i$ are masked.
        window_size_left: $w_l$, keys that are visible before $p_i$; -1 means all.
        window_size_right: $w_r$, keys that are visible after $p_i$; -1 means all.

    Raises:
        CallError: An argument breaks the specification below; the message names it.
        NotImplementedError: The call is specified, and no implementation serves it: $D > 256$.

    Numerics:
        Scores, softmax and accumulation are float32; the weights are rounded to the dtype of `v` before they
        multiply it. One rounding at the store. Two runs are bitwise equal.

    Source:
        A. Q. Jiang et al., [Mistral 7B](https://arxiv.org/abs/2310.06825), 2023, for the sliding window.

    Examples:
        >>> import torch, tileops
        >>> itself = tileops.GroupedQueryAttentionSlidingWindowVarlenFwdOp(window_size_left=0)
        >>> q, (k, v) = torch.randn(9, 4, 64).half(), torch.randn(2, 9, 2, 64).half()
        >>> cu = torch.tensor([0, 4, 9], dtype=torch.int32)
        >>> torch.equal(itself(q, k, v, cu, cu, max_seqlen_q=5), v.repeat_interleave(2, dim=1))
        True
    """

    def __init__(
        self,
        *,
        is_causal: bool = True,
        window_size_left: int = -1,
        window_size_right: int = -1,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target,
            implementation=implementation,
            is_causal=is_causal,
            window_size_left=window_size_left,
            window_size_right=window_size_right,
        )

    def forward(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        cu_seqlens_q: Tensor,
        cu_seqlens_k: Tensor,
        *,
        max_seqlen_q: int | None = None,
    ) -> Tensor:
        r"""Attend.

        Args:
            q: Queries of all requests, `(query rows, heads, head_dim)`.
            k: Keys, `(key rows, key heads, head_dim)`.
            v: Values, in the shape of `k`.
            cu_seqlens_q: $\mathrm{cu}^q$, prefix sums of the numbers of queries.
            cu_seqlens_k: $\mathrm{cu}^k$, prefix sums of the numbers of keys.
            max_seqlen_q: The largest number of queries of a request. It need not be given: the launch and
                the result do not depend on it.

        Returns:
            The outputs, in the shape of `q`.
        """
        return self._call(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q)
