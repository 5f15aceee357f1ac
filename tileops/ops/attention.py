"""Softmax attention."""

from __future__ import annotations

import torch
from torch import Tensor

from tileops.op import Op

__all__ = ["GroupedQueryAttentionDecodePagedWithKVCacheFwdOp", "GroupedQueryAttentionDenseFwdOp"]


class GroupedQueryAttentionDenseFwdOp(Op):
    r"""Grouped-query attention over dense keys and values: rectangular prefill and contiguous decode.

    Query head $h$ reads the key and value head $g(h) = \lfloor h\,H_{kv} / H \rfloor$. Query row $i$ stands
    at key coordinate $p_i = i + S_{kv} - S_q$: the last query sees the last key (bottom-right alignment).
    In this order:

    1. float8 inputs are dequantized: $\tilde q = q \cdot s^q_{b,g(h)}$, $\tilde k = k \cdot s^k_{b,g}$,
       $\tilde v = v \cdot s^v_{b,g}$.
    2. With `pos_encoding_mode="rope"` the first `rotary_dim` elements of each head are rotated by the
       caller's tables: query row $i$ uses table row $p_i$, key row $j$ uses row $j$.
    3. Logits, with $c$ the softcap:

    $$
    s_{ij} = \mathrm{scale} \cdot \langle q_i, k_j \rangle, \qquad
    s_{ij} \leftarrow c \tanh(s_{ij} / c) \ \text{ if } c > 0
    $$

    4. The mask: key $j$ is visible when $j \le p_i$ (causal), $j \ge p_i - w_l$ (left window) and
       $j \le p_i + w_r$ (right window), all that apply; other logits are $-\infty$.
    5. Softmax and the weighted sum:

    $$
    o_i = \sum_j \frac{e^{s_{ij} - m_i}}{\sum_{j'} e^{s_{ij'} - m_i}}\, v_j, \qquad m_i = \max_j s_{ij}
    $$

    A row that sees no key gives zeros. $S_{kv} = 0$ gives zeros.

    Porting from `torch.nn.functional.scaled_dot_product_attention`: there tensors are (batch, heads,
    sequence, head_dim), and `is_causal` aligns the first query with the first key, which differs when
    $S_q \ne S_{kv}$.

    Args:
        is_causal: Whether keys after $p_i$ are masked.
        sm_scale: The scale of the logits; `None` means $D^{-1/2}$.
        softcap: $c$; `None` and 0 mean none.
        window_size_left: $w_l$, keys that are visible before $p_i$; -1 means all.
        window_size_right: $w_r$, keys that are visible after $p_i$; -1 means all. Causal attention sees none.
        pos_encoding_mode: `"none"`, or `"rope"` to rotate queries and keys.
        rotary_dim: Elements of a head that are rotated; `None` means all.
        rope_layout: `"neox"` pairs element $i$ with $i + R/2$, `"interleaved"` pairs $2i$ with $2i + 1$.
        out_dtype: dtype of the output for float8 inputs, where it must be given; else that of `q`.

    Raises:
        CallError: An argument breaks the specification below; the message names it.
        NotImplementedError: The call is specified, and no implementation serves it.

    Numerics:
        Logits, softmax and accumulation are float32. The probabilities are rounded to the dtype of `v`
        before they multiply it, as tensor cores need; on the H200 those below $2^{-126}$ are 0. The output
        is rounded once, at the store. Two runs are bitwise equal.

    Source:
        J. Ainslie et al., [GQA](https://arxiv.org/abs/2305.13245), 2023; T. Dao,
        [FlashAttention-2](https://arxiv.org/abs/2307.08691), 2023, for the order of the computation.

    Examples:
        >>> import torch, tileops
        >>> attention = tileops.GroupedQueryAttentionDenseFwdOp(is_causal=True)
        >>> q = torch.randn(1, 40, 4, 64).half()
        >>> k, v = torch.randn(2, 1, 40, 2, 64).half()
        >>> o = attention(q, k, v)
        >>> heads_first = [t.transpose(1, 2).float() for t in (q, k, v)]
        >>> reference = torch.nn.functional.scaled_dot_product_attention
        >>> want = reference(*heads_first, is_causal=True, enable_gqa=True)
        >>> torch.testing.assert_close(o.float(), want.transpose(1, 2), rtol=5e-3, atol=5e-3)
    """

    def __init__(
        self,
        *,
        is_causal: bool = False,
        sm_scale: float | None = None,
        softcap: float | None = None,
        window_size_left: int = -1,
        window_size_right: int = -1,
        pos_encoding_mode: str = "none",
        rotary_dim: int | None = None,
        rope_layout: str = "neox",
        out_dtype: torch.dtype | None = None,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target,
            implementation=implementation,
            is_causal=is_causal,
            sm_scale=sm_scale,
            softcap=softcap,
            window_size_left=window_size_left,
            window_size_right=window_size_right,
            pos_encoding_mode=pos_encoding_mode,
            rotary_dim=rotary_dim,
            rope_layout=rope_layout,
            out_dtype=out_dtype,
        )

    def forward(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        q_scale: Tensor | None = None,
        k_scale: Tensor | None = None,
        v_scale: Tensor | None = None,
        rope_cos: Tensor | None = None,
        rope_sin: Tensor | None = None,
    ) -> Tensor:
        r"""Attend.

        Args:
            q: Queries, `(batch, queries, heads, head_dim)`.
            k: Keys, `(batch, keys, kv heads, head_dim)`.
            v: Values, in the shape of `k`.
            q_scale: $s^q$, the factor of float8 queries by batch and kv head.
            k_scale: $s^k$, the factor of float8 keys.
            v_scale: $s^v$, the factor of float8 values.
            rope_cos: Cosines by position and pair.
            rope_sin: Sines by position and pair.

        Returns:
            The outputs, in the shape of `q`.
        """
        return self._call(q, k, v, q_scale, k_scale, v_scale, rope_cos, rope_sin)


class GroupedQueryAttentionDecodePagedWithKVCacheFwdOp(Op):
    r"""One decode step of grouped-query attention over a paged key-value cache.

    Request $b$ has $\ell_b$ = `real_seqlen_kv[b]` keys. Key $t$ of request $b$ is row
    $\mathrm{block\_table}_{b,\lfloor t / P \rfloor} \cdot P + t \bmod P$ of the pool, with $P$ the page
    size. Query head $h$ reads the key and value head $g(h) = \lfloor h\,H_{kv} / H \rfloor$, and with $c$
    the softcap

    $$
    s_t = \mathrm{scale} \cdot \langle q_{bh}, k_{t,g(h)} \rangle, \qquad
    s_t \leftarrow c \tanh(s_t / c) \ \text{ if } c > 0, \qquad
    o_{bh} = \sum_{t < \ell_b} \frac{e^{s_t - m}}{\sum_{t' < \ell_b} e^{s_{t'} - m}}\, v_{t,g(h)} .
    $$

    The query is the last position, so there is no causal switch. $\ell_b = 0$ gives zeros; entries of the
    table past the used pages are never read.

    Args:
        page_size: $P$, the rows of a page.
        sm_scale: The scale of the logits; `None` means $D^{-1/2}$.
        softcap: $c$; `None` and 0 mean none.

    Raises:
        CallError: An argument breaks the specification below; the message names it.
        NotImplementedError: The call passed every check; computing it is not implemented.

    Numerics:
        Logits, softmax and accumulation are specified in float32, with one rounding at the store.

    Source:
        W. Kwon et al., [PagedAttention](https://arxiv.org/abs/2309.06180), 2023.

    Examples:
        >>> import torch, tileops
        >>> decode = tileops.GroupedQueryAttentionDecodePagedWithKVCacheFwdOp(page_size=16)
        >>> q = torch.empty(3, 4, 64, dtype=torch.float16, device="meta")
        >>> pool = torch.empty(128, 2, 64, dtype=torch.float16, device="meta")
        >>> lengths = torch.empty(3, dtype=torch.int32, device="meta")
        >>> table = torch.empty(3, 2, dtype=torch.int32, device="meta")
        >>> decode(q, pool, pool, lengths, table).shape
        torch.Size([3, 4, 64])
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
        r"""Attend with one query a request.

        Args:
            q: Queries, `(requests, heads, head_dim)`.
            k: Pool of key rows, `(rows, kv heads, head_dim)`, shared by all requests.
            v: Pool of value rows, in the shape of `k`.
            real_seqlen_kv: Keys of each request.
            block_table: Pages of each request, in order.

        Returns:
            The outputs, in the shape of `q`.
        """
        return self._call(q, k, v, real_seqlen_kv, block_table)
