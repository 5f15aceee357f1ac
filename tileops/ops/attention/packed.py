"""Attention over packed sequences of different lengths."""

from __future__ import annotations

import torch
from torch import Tensor

from tileops.op import Op

__all__ = [
    "GroupedQueryAttentionPrefillFwdOp",
    "GroupedQueryAttentionPrefillVarlenFwdOp",
]


class GroupedQueryAttentionPrefillFwdOp(Op):
    r"""Grouped-query attention of packed requests: any lengths, windows, softcap, and float8.

    Request $r$ owns the query rows from $\mathrm{cu}^q_r$ up to $\mathrm{cu}^q_{r+1}$, $n_r$ of them, and the
    key rows from $\mathrm{cu}^k_r$ up to $\mathrm{cu}^k_{r+1}$, $\ell_r$ of them. Its query $i < n_r$ stands
    at its key $p_i = i + \ell_r - n_r$: the last query at the last key. Query head $h$ reads the key and
    value head $g = \lfloor h\,H_{kv} / H \rfloor$. Inside each request, in this order: float8 inputs are
    dequantized,

    $$
    \tilde q = s^q_{r g}\, q, \qquad \tilde k = s^k_{r g}\, k, \qquad \tilde v = s^v_{r g}\, v,
    $$

    scores are scaled by $\alpha$ = `sm_scale` and capped by $c$ = `softcap`, if $c > 0$,

    $$
    s_{ij} = \alpha\,\langle \tilde q_i, \tilde k_j \rangle, \qquad
    s_{ij} \leftarrow c \tanh(s_{ij} / c),
    $$

    and over the keys $0 \le j < \ell_r$ that are visible, which are those with $j \le p_i$ if `is_causal`,
    with $j \ge p_i - w_l$ if `window_size_left` $= w_l \ge 0$ and with $j \le p_i + w_r$ if
    `window_size_right` $= w_r \ge 0$,

    $$
    o_i = \sum_j \frac{e^{s_{ij} - m_i}}{\sum_{j'} e^{s_{ij'} - m_i}}\, \tilde v_j, \qquad
    m_i = \max_j s_{ij} .
    $$

    Requests may be empty. A query that sees no key gives zeros: all of a request without keys, and with
    `is_causal` the first $n_r - \ell_r$ where a request has more queries than keys.

    Args:
        is_causal: Whether keys after $p_i$ are masked.
        sm_scale: $\alpha$; `None` means $D^{-1/2}$.
        softcap: $c$; `None` and 0 mean none.
        window_size_left: $w_l$, keys that are visible before $p_i$; -1 means all.
        window_size_right: $w_r$, keys that are visible after $p_i$; -1 means all.
        out_dtype: dtype of the output for float8 inputs, where it must be given; else that of `q`.

    Raises:
        CallError: An argument breaks the specification below; the message names it.
        NotImplementedError: The call is specified, and no implementation serves it: $D > 256$.

    Numerics:
        As [`GroupedQueryAttentionDenseFwdOp`][tileops.ops.attention.dense.GroupedQueryAttentionDenseFwdOp].
        What one request holds, also NaN, does not reach another.

    Source:
        J. Ainslie et al., [GQA](https://arxiv.org/abs/2305.13245), 2023; T. Dao,
        [FlashAttention-2](https://arxiv.org/abs/2307.08691), 2023, for packed sequences.

    Examples:
        >>> import torch, tileops
        >>> attention = tileops.GroupedQueryAttentionPrefillFwdOp()
        >>> q, (k, v) = torch.randn(9, 4, 64).half(), torch.randn(2, 12, 2, 64).half()
        >>> cu_q, cu_kv = torch.tensor([[0, 4, 9], [0, 7, 12]], dtype=torch.int32)
        >>> o = attention(q, k, v, cu_q, cu_kv, max_seqlen_q=5, max_seqlen_kv=7)
        >>> dense = tileops.GroupedQueryAttentionDenseFwdOp(is_causal=True)
        >>> first = dense(q[None, :4], k[None, :7], v[None, :7])[0]
        >>> torch.testing.assert_close(o[:4], first, rtol=5e-3, atol=5e-3)
    """

    def __init__(
        self,
        *,
        is_causal: bool = True,
        sm_scale: float | None = None,
        softcap: float | None = None,
        window_size_left: int = -1,
        window_size_right: int = -1,
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
            out_dtype=out_dtype,
        )

    def forward(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        cu_seqlens_q: Tensor,
        cu_seqlens_kv: Tensor,
        q_scale: Tensor | None = None,
        k_scale: Tensor | None = None,
        v_scale: Tensor | None = None,
        *,
        max_seqlen_q: int | None = None,
        max_seqlen_kv: int | None = None,
    ) -> Tensor:
        r"""Attend.

        Args:
            q: Queries of all requests, `(query rows, heads, head_dim)`.
            k: Keys, `(key rows, key heads, head_dim)`.
            v: Values, in the shape of `k`.
            cu_seqlens_q: $\mathrm{cu}^q$, prefix sums of the numbers of queries: 0 first, all rows last.
            cu_seqlens_kv: $\mathrm{cu}^k$, prefix sums of the numbers of keys.
            q_scale: $s^q$, the factor of float8 queries by request and key head.
            k_scale: $s^k$, the factor of float8 keys.
            v_scale: $s^v$, the factor of float8 values.
            max_seqlen_q: The largest number of queries of a request. It need not be given: the launch and
                the result do not depend on it.
            max_seqlen_kv: The largest number of keys of a request; likewise.

        Returns:
            The outputs, in the shape of `q`.
        """
        return self._call(
            q, k, v, cu_seqlens_q, cu_seqlens_kv, q_scale, k_scale, v_scale, max_seqlen_q, max_seqlen_kv
        )


class GroupedQueryAttentionPrefillVarlenFwdOp(Op):
    r"""Grouped-query attention of packed requests of any lengths.

    Request $r$ owns the query rows from $\mathrm{cu}^q_r$ up to $\mathrm{cu}^q_{r+1}$, $n_r$ of them, and the
    key rows from $\mathrm{cu}^k_r$ up to $\mathrm{cu}^k_{r+1}$, $\ell_r$ of them. Its query $i < n_r$ stands
    at its key $p_i = i + \ell_r - n_r$. Query head $h$ reads the key and value head
    $g = \lfloor h\,H_{kv} / H \rfloor$. Inside each request, with $\alpha$ = `sm_scale` and, where it is
    positive, $c$ = `softcap`,

    $$
    s_{ij} = \alpha\,\langle q_i, k_j \rangle, \qquad
    s_{ij} \leftarrow c \tanh(s_{ij} / c), \qquad
    o_i = \sum_j \frac{e^{s_{ij} - m_i}}{\sum_{j'} e^{s_{ij'} - m_i}}\, v_j, \qquad
    m_i = \max_j s_{ij}
    $$

    over its keys $j < \ell_r$, with `is_causal` those with $j \le p_i$. Requests may be empty, and a query
    that sees no key gives zeros.

    Args:
        is_causal: Whether keys after $p_i$ are masked.
        sm_scale: $\alpha$; `None` means $D^{-1/2}$.
        softcap: $c$; `None` and 0 mean none.

    Raises:
        CallError: An argument breaks the specification below; the message names it.
        NotImplementedError: The call is specified, and no implementation serves it: $D > 256$.

    Numerics:
        Scores, softmax and accumulation are float32; the weights are rounded to the dtype of `v` before they
        multiply it. One rounding at the store. What one request holds, also NaN, does not reach another. Two
        runs are bitwise equal.

    Source:
        T. Dao, [FlashAttention-2](https://arxiv.org/abs/2307.08691), 2023, for packed sequences.

    Examples:
        >>> import torch, tileops
        >>> attention = tileops.GroupedQueryAttentionPrefillVarlenFwdOp(is_causal=False)
        >>> q, (k, v) = torch.randn(9, 4, 64).half(), torch.randn(2, 12, 2, 64).half()
        >>> cu_q, cu_kv = torch.tensor([[0, 4, 9], [0, 11, 12]], dtype=torch.int32)
        >>> o = attention(q, k, v, cu_q, cu_kv, max_seqlen_q=5, max_seqlen_kv=11)
        >>> torch.equal(o[8], v[11].repeat_interleave(2, dim=0))  # the second request has one key
        True
    """

    def __init__(
        self,
        *,
        is_causal: bool = True,
        sm_scale: float | None = None,
        softcap: float | None = None,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target,
            implementation=implementation,
            is_causal=is_causal,
            sm_scale=sm_scale,
            softcap=softcap,
        )

    def forward(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        cu_seqlens_q: Tensor,
        cu_seqlens_kv: Tensor,
        *,
        max_seqlen_q: int | None = None,
        max_seqlen_kv: int | None = None,
    ) -> Tensor:
        r"""Attend.

        Args:
            q: Queries of all requests, `(query rows, heads, head_dim)`.
            k: Keys, `(key rows, key heads, head_dim)`.
            v: Values, in the shape of `k`.
            cu_seqlens_q: $\mathrm{cu}^q$, prefix sums of the numbers of queries: 0 first, all rows last.
            cu_seqlens_kv: $\mathrm{cu}^k$, prefix sums of the numbers of keys.
            max_seqlen_q: The largest number of queries of a request. It need not be given: the launch and
                the result do not depend on it.
            max_seqlen_kv: The largest number of keys of a request; likewise.

        Returns:
            The outputs, in the shape of `q`.
        """
        return self._call(q, k, v, cu_seqlens_q, cu_seqlens_kv, max_seqlen_q, max_seqlen_kv)
