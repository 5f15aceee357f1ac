"""Prefill over a paged key-value cache."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op

__all__ = ["GroupedQueryAttentionPrefillPagedWithKVCacheFwdOp"]


class GroupedQueryAttentionPrefillPagedWithKVCacheFwdOp(Op):
    r"""Appends a chunk of keys and values of each request to a paged cache, and attends to all of it.

    Request $r$ has $L_r$ = `cache_seqlens[r]` tokens in the cache before the call, and owns the new rows from
    $\mathrm{cu}_r$ up to $\mathrm{cu}_{r+1}$, $n_r$ of them. Token $t$ of the request is the row

    $$
    \mathrm{row}(r, t) = \mathrm{block\_table}_{r, \lfloor t / P \rfloor} \cdot P + t \bmod P
    $$

    of the pool, $P$ = `page_size`. Query head $h$ reads the key and value head
    $\lfloor h\,H_{kv} / H \rfloor$. For each request, in this order:

    1. With `fuse_rope` new queries and keys are rotated: row $i$ stands at position $t = L_r + i$, and of the
       first $R$ = `rotary_dim` elements the pairs $(x_m, x_{m + R/2})$ are turned by the angle
       $t \cdot b^{-2m/R}$, $b$ = `rope_base`. Keys in the cache have been rotated already.
    2. New keys and values are written: row $\mathrm{row}(r, L_r + i)$ of `k_pages` becomes the key, rounded
       to the dtype of `q`, that of `v_pages` the value. A float8 cache gets
       $\mathrm{e4m3}(\mathrm{clamp}(x / s, \pm 448))$, with $s$ = `k_scale` or `v_scale`.
    3. The keys and values of the request are the old ones, $t < L_r$, from the cache (of float8 times its
       scale, rounded to the dtype of `q`), and behind them the new ones as they were given, not as float8.
       With $\alpha$ = `sm_scale` and, where it is positive, $c$ = `softcap`,

    $$
    s_{it} = \alpha\,\langle q_i, k_t \rangle, \qquad
    s_{it} \leftarrow c \tanh(s_{it} / c), \qquad
    o_i = \sum_t \frac{e^{s_{it} - m_i}}{\sum_{t'} e^{s_{it'} - m_i}}\, v_t, \qquad m_i = \max_t s_{it}
    $$

    over $t \le L_r + i$ if `is_causal`, else over all $t < L_r + n_r$.

    `cache_seqlens` is not changed. $L_r = 0$ and $n_r = 0$ are fine. $L_r + n_r$ is at most what the table
    holds and, with `fuse_rope`, at most `max_position`; on a GPU, where a call does not look, tokens beyond
    the table are not written. Entries of the table that no token needs
    may be anything. Requests may share pages that are only read; pages that are written must be their own.

    Args:
        page_size: $P$, the rows of a page: a power of two.
        is_causal: Whether later tokens are masked.
        sm_scale: $\alpha$; `None` means $D^{-1/2}$.
        softcap: $c$; `None` and 0 mean none.
        fuse_rope: Whether new queries and keys are rotated.
        rope_base: $b$.
        max_position: Positions that the model knows; needed with `fuse_rope`.
        rotary_dim: $R$, even; `None` means $D$.

    Raises:
        CallError: An argument breaks the specification below; the message names it.
        NotImplementedError: The call is specified, and no implementation serves it: $D > 256$.

    Numerics:
        Scores, softmax and accumulation are float32; the weights, rotated queries and rotated keys are
        rounded to the dtype of `q`. Angles are exact for every position. The output is rounded once, at the
        store. Two runs are bitwise equal. A token whose page does not exist is not written, and read as
        zeros.

    Source:
        W. Kwon et al., [PagedAttention](https://arxiv.org/abs/2309.06180), 2023.

    Examples:
        >>> import torch, tileops
        >>> prefill = tileops.GroupedQueryAttentionPrefillPagedWithKVCacheFwdOp(page_size=16)
        >>> q, (k, v) = torch.randn(5, 4, 64).half(), torch.randn(2, 5, 2, 64).half()
        >>> k_pages, v_pages = torch.zeros(2, 64, 2, 64).half()
        >>> table = torch.tensor([[3, -1]], dtype=torch.int32)
        >>> cu, cached = torch.tensor([0, 5], dtype=torch.int32), torch.tensor([0], dtype=torch.int32)
        >>> o = prefill(q, k, v, k_pages, v_pages, cu, cached, table, max_seqlen_q=5)
        >>> torch.equal(k_pages[48:53], k)
        True
    """

    def __init__(
        self,
        *,
        page_size: int,
        is_causal: bool = True,
        sm_scale: float | None = None,
        softcap: float | None = None,
        fuse_rope: bool = False,
        rope_base: float = 10000.0,
        max_position: int | None = None,
        rotary_dim: int | None = None,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target,
            implementation=implementation,
            page_size=page_size,
            is_causal=is_causal,
            sm_scale=sm_scale,
            softcap=softcap,
            fuse_rope=fuse_rope,
            rope_base=rope_base,
            max_position=max_position,
            rotary_dim=rotary_dim,
        )

    def forward(
        self,
        q: Tensor,
        k_new: Tensor,
        v_new: Tensor,
        k_pages: Tensor,
        v_pages: Tensor,
        cu_seqlens_q: Tensor,
        cache_seqlens: Tensor,
        block_table: Tensor,
        k_scale: Tensor | None = None,
        v_scale: Tensor | None = None,
        *,
        max_seqlen_q: int | None = None,
    ) -> Tensor:
        r"""Append and attend.

        Args:
            q: New queries of all requests, `(rows, heads, head_dim)`.
            k_new: New keys, `(rows, key heads, head_dim)`.
            v_new: New values, in the shape of `k_new`.
            k_pages: Pool of key rows, `(pool rows, key heads, head_dim)`; written.
            v_pages: Pool of value rows, in the shape of `k_pages`; written.
            cu_seqlens_q: $\mathrm{cu}$, prefix sums of the numbers of new rows: 0 first, all rows last.
            cache_seqlens: $L$, tokens of each request in the cache before the call.
            block_table: Pages of each request, in order.
            k_scale: The scale of a float8 cache's keys, one number above 0; other caches have none.
            v_scale: The scale of its values.
            max_seqlen_q: The largest number of new rows of a request. It need not be given: the launch and
                the result do not depend on it.

        Returns:
            The outputs, in the shape of `q`.
        """
        return self._call(
            q, k_new, v_new, k_pages, v_pages, cu_seqlens_q, cache_seqlens, block_table, k_scale, v_scale,
            max_seqlen_q,
        )  # fmt: skip
