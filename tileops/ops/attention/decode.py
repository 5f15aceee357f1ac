"""One step of decoding: a few new queries over all keys so far."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op, PlainOp

__all__ = [
    "GroupedQueryAttentionDecodePagedWithKVCacheFwdOp",
    "GroupedQueryAttentionDecodeWithKVCacheFwdOp",
    "MultiHeadAttentionDecodePagedWithKVCacheFwdOp",
    "MultiHeadAttentionDecodeWithKVCacheFwdOp",
]


class MultiHeadAttentionDecodeWithKVCacheFwdOp(PlainOp):
    r"""Decodes with multi-head attention over a contiguous cache: every query sees every key.

    For each batch and head, with $D$ elements of a head and $N$ keys,

    $$
    s_{it} = \frac{\langle q_i, k_t \rangle}{\sqrt{D}}, \qquad
    o_i = \sum_{t < N} \frac{e^{s_{it} - m_i}}{\sum_{t' < N} e^{s_{it'} - m_i}}\, v_t, \qquad
    m_i = \max_{t < N} s_{it} .
    $$

    There is no mask, also for several queries. $N = 0$ gives zeros.

    Raises:
        CallError: An argument breaks the specification below; the message names it.
        NotImplementedError: The call is specified, and no implementation serves it: $D > 256$.

    Numerics:
        Scores, softmax and accumulation are float32; the weights are rounded to the dtype of `v` before they
        multiply it. Where the keys are split among blocks, the outputs of the parts and their log-sum-exp
        stay float32 until they are weighed. One rounding at the store. Two runs are bitwise equal.

    Source:
        T. Dao et al., [Flash-Decoding](https://pytorch.org/blog/flash-decoding/), 2023.

    Examples:
        >>> import torch, tileops
        >>> decode = tileops.MultiHeadAttentionDecodeWithKVCacheFwdOp()
        >>> q, (k, v) = torch.randn(1, 1, 2, 64).half(), torch.randn(2, 1, 300, 2, 64).half()
        >>> heads_first = [t.transpose(1, 2).float() for t in (q, k, v)]
        >>> want = torch.nn.functional.scaled_dot_product_attention(*heads_first).transpose(1, 2)
        >>> torch.testing.assert_close(decode(q, k, v).float(), want, rtol=5e-3, atol=5e-3)
    """

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        r"""Attend.

        Args:
            q: New queries, `(batch, queries, heads, head_dim)`.
            k: Keys so far, `(batch, keys, heads, head_dim)`.
            v: Values, in the shape of `k`.

        Returns:
            The outputs, in the shape of `q`.
        """
        return self._call(q, k, v)


class GroupedQueryAttentionDecodeWithKVCacheFwdOp(Op):
    r"""Decodes one query a head with grouped-query attention over a contiguous cache.

    Query head $h$ of $H$ reads the key and value head $g(h) = \lfloor h\,H_{kv} / H \rfloor$. With $N$ keys,
    $\alpha$ = `sm_scale` and, where it is positive, $c$ = `softcap`, for each batch

    $$
    s_{ht} = \alpha\,\langle q_h, k_{t,g(h)} \rangle, \qquad
    s_{ht} \leftarrow c \tanh(s_{ht} / c), \qquad
    o_h = \sum_{t < N} \frac{e^{s_{ht} - m_h}}{\sum_{t' < N} e^{s_{ht'} - m_h}}\, v_{t,g(h)}, \qquad
    m_h = \max_{t < N} s_{ht} .
    $$

    The query is the last position, so there is no mask. $N = 0$ gives zeros.

    Args:
        sm_scale: $\alpha$; `None` means $D^{-1/2}$.
        softcap: $c$; `None` and 0 mean none.

    Raises:
        CallError: An argument breaks the specification below; the message names it.
        NotImplementedError: The call is specified, and no implementation serves it: $D > 256$.

    Numerics:
        Scores, softmax and accumulation are float32; the weights are rounded to the dtype of `v` before they
        multiply it. Where the keys are split among blocks, the outputs of the parts and their log-sum-exp
        stay float32 until they are weighed. One rounding at the store. Two runs are bitwise equal.

    Source:
        T. Dao et al., [Flash-Decoding](https://pytorch.org/blog/flash-decoding/), 2023, with the heads of
        J. Ainslie et al., [GQA](https://arxiv.org/abs/2305.13245), 2023.

    Examples:
        >>> import torch, tileops
        >>> decode = tileops.GroupedQueryAttentionDecodeWithKVCacheFwdOp()
        >>> q, (k, v) = torch.randn(2, 4, 64).half(), torch.randn(2, 2, 300, 2, 64).half()
        >>> heads_first = q[:, :, None].float(), k.transpose(1, 2).float(), v.transpose(1, 2).float()
        >>> want = torch.nn.functional.scaled_dot_product_attention(*heads_first, enable_gqa=True)
        >>> torch.testing.assert_close(decode(q, k, v).float(), want[:, :, 0], rtol=5e-3, atol=5e-3)
    """

    def __init__(
        self,
        *,
        sm_scale: float | None = None,
        softcap: float | None = None,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(target=target, implementation=implementation, sm_scale=sm_scale, softcap=softcap)

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        r"""Attend.

        Args:
            q: The new query of each head, `(batch, heads, head_dim)`.
            k: Keys so far, `(batch, keys, key heads, head_dim)`.
            v: Values, in the shape of `k`.

        Returns:
            The outputs, in the shape of `q`.
        """
        return self._call(q, k, v)


class MultiHeadAttentionDecodePagedWithKVCacheFwdOp(Op):
    r"""Decodes with multi-head attention over a paged key-value cache.

    Request $b$ has $\ell_b$ = `real_seqlen_kv[b]` keys. Key $t$ of the request is the row

    $$
    \mathrm{row}(b, t) = \mathrm{block\_table}_{b, \lfloor t / P \rfloor} \cdot P + t \bmod P
    $$

    of the pool, $P$ = `page_size`. For each head, with $S$ queries of $D$ elements,

    $$
    s_{it} = \frac{\langle q_i, k_t \rangle}{\sqrt{D}}, \qquad
    o_i = \sum_{t \text{ visible}} \frac{e^{s_{it} - m_i}}{\sum_{t' \text{ visible}} e^{s_{it'} - m_i}}\, v_t,
    \qquad m_i = \max_{t \text{ visible}} s_{it} .
    $$

    Visible are all $t < \ell_b$, with `is_causal` of them those with $t \le i + \ell_b - S$: the queries are
    the last positions. A query that sees nothing, as with $\ell_b = 0$, gives zeros. Entries of the table
    past the used pages may be anything.

    Args:
        page_size: $P$, the rows of a page: a power of two.
        is_causal: Whether keys after a query are masked.

    Raises:
        CallError: An argument breaks the specification below; the message names it.
        NotImplementedError: The call is specified, and no implementation serves it: $D > 256$.

    Numerics:
        Scores, softmax and accumulation are float32; the weights are rounded to the dtype of `v` before they
        multiply it. Where the keys are split among blocks, the outputs of the parts and their log-sum-exp
        stay float32 until they are weighed. One rounding at the store. Two runs are bitwise equal.

    Source:
        W. Kwon et al., [PagedAttention](https://arxiv.org/abs/2309.06180), 2023.

    Examples:
        >>> import torch, tileops
        >>> decode = tileops.MultiHeadAttentionDecodePagedWithKVCacheFwdOp(page_size=16)
        >>> q, (k, v) = torch.randn(1, 1, 2, 64).half(), torch.randn(2, 64, 2, 64).half()
        >>> length, table = torch.tensor([20]).int(), torch.tensor([[3, 0, -1]]).int()
        >>> keys, values = (torch.cat([x[48:], x[:4]])[None].transpose(1, 2).float() for x in (k, v))
        >>> want = torch.nn.functional.scaled_dot_product_attention(q.transpose(1, 2).float(), keys, values)
        >>> got = decode(q, k, v, length, table).float()
        >>> torch.testing.assert_close(got, want.transpose(1, 2), rtol=5e-3, atol=5e-3)
    """

    def __init__(
        self,
        *,
        page_size: int,
        is_causal: bool = False,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target, implementation=implementation, page_size=page_size, is_causal=is_causal
        )

    def forward(self, q: Tensor, k: Tensor, v: Tensor, real_seqlen_kv: Tensor, block_table: Tensor) -> Tensor:
        r"""Attend.

        Args:
            q: New queries, `(requests, queries, heads, head_dim)`.
            k: Pool of key rows, `(rows, heads, head_dim)`, shared by all requests.
            v: Pool of value rows, in the shape of `k`.
            real_seqlen_kv: Keys of each request.
            block_table: Pages of each request, in order.

        Returns:
            The outputs, in the shape of `q`.
        """
        return self._call(q, k, v, real_seqlen_kv, block_table)


class GroupedQueryAttentionDecodePagedWithKVCacheFwdOp(Op):
    r"""Decodes one query a head with grouped-query attention over a paged key-value cache.

    Request $b$ has $\ell_b$ = `real_seqlen_kv[b]` keys. Key $t$ of the request is the row

    $$
    \mathrm{row}(b, t) = \mathrm{block\_table}_{b, \lfloor t / P \rfloor} \cdot P + t \bmod P
    $$

    of the pool, $P$ = `page_size`. Query head $h$ of $H$ reads the key and value head
    $g(h) = \lfloor h\,H_{kv} / H \rfloor$. With $\alpha$ = `sm_scale` and, where it is positive,
    $c$ = `softcap`,

    $$
    s_{ht} = \alpha\,\langle q_h, k_{t,g(h)} \rangle, \qquad
    s_{ht} \leftarrow c \tanh(s_{ht} / c), \qquad
    o_h = \sum_{t < \ell_b} \frac{e^{s_{ht} - m_h}}{\sum_{t' < \ell_b} e^{s_{ht'} - m_h}}\, v_{t,g(h)}, \qquad
    m_h = \max_{t < \ell_b} s_{ht} .
    $$

    The query is the last position, so there is no mask. $\ell_b = 0$ gives zeros. Entries of the table past
    the used pages may be anything.

    Args:
        page_size: $P$, the rows of a page: a power of two.
        sm_scale: $\alpha$; `None` means $D^{-1/2}$.
        softcap: $c$; `None` and 0 mean none.

    Raises:
        CallError: An argument breaks the specification below; the message names it.
        NotImplementedError: The call is specified, and no implementation serves it: $D > 256$.

    Numerics:
        Scores, softmax and accumulation are float32; the weights are rounded to the dtype of `v` before they
        multiply it. Where the keys are split among blocks, the outputs of the parts and their log-sum-exp
        stay float32 until they are weighed. One rounding at the store. Two runs are bitwise equal.

    Source:
        W. Kwon et al., [PagedAttention](https://arxiv.org/abs/2309.06180), 2023.

    Examples:
        >>> import torch, tileops
        >>> decode = tileops.GroupedQueryAttentionDecodePagedWithKVCacheFwdOp(page_size=16)
        >>> q, (k, v) = torch.randn(1, 4, 64).half(), torch.randn(2, 64, 2, 64).half()
        >>> length, table = torch.tensor([20]).int(), torch.tensor([[3, 0, -1]]).int()
        >>> keys, values = (torch.cat([x[48:], x[:4]])[None] for x in (k, v))
        >>> want = tileops.GroupedQueryAttentionDecodeWithKVCacheFwdOp()(q, keys, values)
        >>> torch.testing.assert_close(decode(q, k, v, length, table), want, rtol=2e-3, atol=2e-3)
    """

    def __init__(
        self,
        *,
        page_size: int,
        sm_scale: float | None = None,
        softcap: float | None = None,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target,
            implementation=implementation,
            page_size=page_size,
            sm_scale=sm_scale,
            softcap=softcap,
        )

    def forward(self, q: Tensor, k: Tensor, v: Tensor, real_seqlen_kv: Tensor, block_table: Tensor) -> Tensor:
        r"""Attend.

        Args:
            q: The new query of each head, `(requests, heads, head_dim)`.
            k: Pool of key rows, `(rows, key heads, head_dim)`, shared by all requests.
            v: Pool of value rows, in the shape of `k`.
            real_seqlen_kv: Keys of each request.
            block_table: Pages of each request, in order.

        Returns:
            The outputs, in the shape of `q`.
        """
        return self._call(q, k, v, real_seqlen_kv, block_table)
