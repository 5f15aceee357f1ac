"""Attention of sequences with themselves: as many queries as keys."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op

__all__ = ["GroupedQueryAttentionFwdOp", "MultiHeadAttentionFwdOp"]


class MultiHeadAttentionFwdOp(Op):
    r"""Multi-head self-attention: each query head has a key and value head of its own.

    For each batch and head, with $D$ elements of a head,

    $$
    s_{ij} = \frac{\langle q_i, k_j \rangle}{\sqrt{D}}, \qquad
    o_i = \sum_{j \text{ visible}} \frac{e^{s_{ij} - m_i}}{\sum_{j' \text{ visible}} e^{s_{ij'} - m_i}}\, v_j,
    \qquad m_i = \max_{j \text{ visible}} s_{ij} .
    $$

    With `is_causal` key $j$ is visible to query $i$ when $j \le i$, else always. Gradients are those of
    [`MultiHeadAttentionBwdOp`][tileops.ops.attention.backward.MultiHeadAttentionBwdOp], for which the natural
    logarithm of $\sum_j e^{s_{ij}}$ is kept.

    Args:
        is_causal: Whether keys after the query are masked.

    Raises:
        CallError: An argument breaks the specification below; the message names it.
        NotImplementedError: The call is specified, and no implementation serves it: $D > 256$.

    Numerics:
        Scores, softmax and accumulation are float32; the weights are rounded to the dtype of `v` before they
        multiply it, as tensor cores need, and on the H200 those below $2^{-126}$ are 0. One rounding at the
        store. Two runs are bitwise equal.

    Source:
        A. Vaswani et al., [Attention Is All You Need](https://arxiv.org/abs/1706.03762), 2017. The same as
        [`torch.nn.functional.scaled_dot_product_attention`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html)
        with the axes of heads and sequence exchanged.

    Examples:
        >>> import torch, tileops
        >>> attention = tileops.MultiHeadAttentionFwdOp()
        >>> q, k, v = torch.randn(3, 1, 40, 2, 64).half()
        >>> heads_first = [t.transpose(1, 2).float() for t in (q, k, v)]
        >>> want = torch.nn.functional.scaled_dot_product_attention(*heads_first, is_causal=True)
        >>> got = attention(q, k, v).float()
        >>> torch.testing.assert_close(got, want.transpose(1, 2), rtol=5e-3, atol=5e-3)
    """

    def __init__(
        self, *, is_causal: bool = True, target: str | None = None, implementation: str | None = None
    ) -> None:
        super().__init__(target=target, implementation=implementation, is_causal=is_causal)

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        r"""Attend.

        Args:
            q: Queries, `(batch, sequence, heads, head_dim)`.
            k: Keys, in the shape of `q`.
            v: Values, in the shape of `q`.

        Returns:
            The outputs, in the shape of `q`.
        """
        return self._call(q, k, v)


class GroupedQueryAttentionFwdOp(Op):
    r"""Grouped-query self-attention: blocks of query heads share a key and value head.

    Query head $h$ reads the key and value head $g(h) = \lfloor h\,H_{kv} / H \rfloor$. For each batch and
    head, with $D$ elements of a head,

    $$
    s_{ij} = \frac{\langle q_{i h}, k_{j\,g(h)} \rangle}{\sqrt{D}}, \qquad
    o_{i h} = \sum_{j \text{ visible}} \frac{e^{s_{ij} - m_i}}{\sum_{j' \text{ visible}} e^{s_{ij'} - m_i}}\,
    v_{j\,g(h)}, \qquad m_i = \max_{j \text{ visible}} s_{ij} .
    $$

    With `is_causal` key $j$ is visible to query $i$ when $j \le i$, else always. Gradients are those of
    [`GroupedQueryAttentionBwdOp`][tileops.ops.attention.backward.GroupedQueryAttentionBwdOp], for which the
    natural logarithm of $\sum_j e^{s_{ij}}$ is kept.

    Args:
        is_causal: Whether keys after the query are masked.

    Raises:
        CallError: An argument breaks the specification below; the message names it.
        NotImplementedError: The call is specified, and no implementation serves it: $D > 256$.

    Numerics:
        Scores, softmax and accumulation are float32; the weights are rounded to the dtype of `v` before they
        multiply it, as tensor cores need, and on the H200 those below $2^{-126}$ are 0. One rounding at the
        store. Two runs are bitwise equal.

    Source:
        J. Ainslie et al., [GQA](https://arxiv.org/abs/2305.13245), 2023.

    Examples:
        >>> import torch, tileops
        >>> attention = tileops.GroupedQueryAttentionFwdOp()
        >>> q, (k, v) = torch.randn(1, 40, 4, 64).half(), torch.randn(2, 1, 40, 2, 64).half()
        >>> heads_first = [t.transpose(1, 2).float() for t in (q, k, v)]
        >>> reference = torch.nn.functional.scaled_dot_product_attention
        >>> want = reference(*heads_first, is_causal=True, enable_gqa=True)
        >>> got = attention(q, k, v).float()
        >>> torch.testing.assert_close(got, want.transpose(1, 2), rtol=5e-3, atol=5e-3)
    """

    def __init__(
        self, *, is_causal: bool = True, target: str | None = None, implementation: str | None = None
    ) -> None:
        super().__init__(target=target, implementation=implementation, is_causal=is_causal)

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
