"""Attention over dense keys and values of one length."""

from __future__ import annotations

import torch
from torch import Tensor

from tileops.op import Op

__all__ = ["GroupedQueryAttentionDenseFwdOp"]


class GroupedQueryAttentionDenseFwdOp(Op):
    r"""Grouped-query attention over dense keys and values: rectangular prefill and contiguous decode.

    Sizes come from the tensors: $B$ sequences, $S_q$ queries and $S_{kv}$ keys of each, $H$ query heads,
    $H_{kv}$ key heads, $D$ elements of a head. Query head $h$ reads the key and value head
    $g(h) = \lfloor h\,H_{kv} / H \rfloor$: blocks of $H / H_{kv}$ query heads share one. Query $i$ stands at
    the key coordinate $p_i = i + S_{kv} - S_q$, so the last query stands at the last key: a chunk of a prompt
    behind its cache, and a decode step with $S_q = 1$, need no other argument. For each batch $b$ and head
    $h$, with $g = g(h)$, in this order:

    **1. Dequantize.** float8 inputs have a factor for each batch and *key* head, also the queries; without
    factors this step is absent.

    $$
    \tilde q_i = s^q_{b g}\, q_{b i h}, \qquad \tilde k_j = s^k_{b g}\, k_{b j g}, \qquad
    \tilde v_j = s^v_{b g}\, v_{b j g}
    $$

    **2. Rotate**, with `pos_encoding_mode="rope"`. The first $R$ = `rotary_dim` elements are pairs
    $(x_m, x_{m + R/2})$ with `rope_layout="neox"` and $(x_{2m}, x_{2m+1})$ with `"interleaved"`,
    $m < R / 2$; the rest passes through. Key $j$ uses row $t = j$ of the tables, query $i$ row $t = p_i$:

    $$
    \begin{pmatrix} x_a \\ x_b \end{pmatrix} \leftarrow
    \begin{pmatrix} \cos_{t m} & -\sin_{t m} \\ \sin_{t m} & \cos_{t m} \end{pmatrix}
    \begin{pmatrix} x_a \\ x_b \end{pmatrix}
    $$

    **3. Scores**, with $\alpha$ = `sm_scale`, by default $D^{-1/2}$:

    $$
    s_{ij} = \alpha \, \langle \tilde q_i, \tilde k_j \rangle
    $$

    **4. Softcap**, with $c$ = `softcap`, if $c > 0$:

    $$
    s_{ij} \leftarrow c \, \tanh(s_{ij} / c)
    $$

    **5. Mask.** $s_{ij} \leftarrow -\infty$ unless key $j$ is visible: all of these that apply hold.

    $$
    \underbrace{j \le p_i}_{\texttt{is\_causal}}, \qquad
    \underbrace{j \ge p_i - w_l}_{w_l \,=\, \texttt{window\_size\_left} \,\ge\, 0}, \qquad
    \underbrace{j \le p_i + w_r}_{w_r \,=\, \texttt{window\_size\_right} \,\ge\, 0}
    $$

    **6. Softmax** over the keys, in float32:

    $$
    m_i = \max_j s_{ij}, \qquad P_{ij} = \frac{e^{s_{ij} - m_i}}{\sum_{j'} e^{s_{ij'} - m_i}}
    $$

    **7. Values, and one rounding** to the dtype of the output:

    $$
    o_{b i h} = \mathrm{round}\Big( \sum_j P_{ij}\, \tilde v_j \Big)
    $$

    A query that sees no key gives zeros, and so does $S_{kv} = 0$.

    Porting from `torch.nn.functional.scaled_dot_product_attention`: there tensors are (batch, heads,
    sequence, head_dim), and `is_causal` aligns the first query with the first key, which differs when
    $S_q \ne S_{kv}$. A window counts the keys beside the query: `window_size_left=W` shows $W + 1$ keys.

    Args:
        is_causal: Whether keys after $p_i$ are masked.
        sm_scale: $\alpha$; `None` means $D^{-1/2}$.
        softcap: $c$; `None` and 0 mean none.
        window_size_left: $w_l$, keys that are visible before $p_i$; -1 means all.
        window_size_right: $w_r$, keys that are visible after $p_i$; -1 means all. Causal attention sees none.
        pos_encoding_mode: `"none"`, or `"rope"` to rotate queries and keys.
        rotary_dim: $R$, even; `None` means $D$.
        rope_layout: Which elements are a pair: `"neox"` or `"interleaved"`.
        out_dtype: dtype of the output for float8 inputs, where it must be given; else that of `q`.

    Raises:
        CallError: An argument breaks the specification below, in this order: a tensor's type, its device, its
            number of dimensions, its dtype, its sizes, then the rules. `H must be a multiple of H_kv`.
            `sm_scale must be finite`. `softcap must be finite and not negative`. `window sizes must be at
            least -1 (unlimited)`. `give all of q_scale, k_scale and v_scale, or none`; they go with float8
            and only with it. `rope_cos and rope_sin go with pos_encoding_mode='rope', and only with it`;
            `rotary_dim must be even and at most D`; `rope tables must have at least S_kv rows`. `causal
            attention and rope need S_q <= S_kv`: else a query would stand before the first key.
        NotImplementedError: The call is specified, and no implementation serves it: $D > 256$.

    Numerics:
        Scores, softmax and accumulation are float32. What enters a matrix product is rounded to 16 bits:
        the weights $e^{s_{ij} - m_i}$, and rotated queries and keys, to the dtype of the output. float8
        queries and keys that are not rotated are multiplied as they are, float8 values are exact in 16 bits,
        and factors are applied in float32. On the H200 weights below $2^{-126}$ are 0. The output is rounded
        once, at the store. Two runs are bitwise equal.

    Source:
        J. Ainslie et al., [GQA](https://arxiv.org/abs/2305.13245), 2023; J. Su et al.,
        [RoFormer](https://arxiv.org/abs/2104.09864), 2021; T. Dao,
        [FlashAttention-2](https://arxiv.org/abs/2307.08691), 2023, and J. Shah et al.,
        [FlashAttention-3](https://arxiv.org/abs/2407.08608), 2024, for the order of the computation.

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

        A decode step is the last row of the same call:

        >>> torch.testing.assert_close(attention(q[:, -1:], k, v), o[:, -1:], rtol=5e-3, atol=5e-3)
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
            k: Keys, `(batch, keys, key heads, head_dim)`.
            v: Values, in the shape of `k`.
            q_scale: $s^q$, the factor of float8 queries by batch and key head.
            k_scale: $s^k$, the factor of float8 keys.
            v_scale: $s^v$, the factor of float8 values.
            rope_cos: Cosines by position and pair, of at least $S_{kv}$ positions, in the output's dtype.
            rope_sin: Sines by position and pair.

        Returns:
            The outputs, in the shape of `q`.
        """
        return self._call(q, k, v, q_scale, k_scale, v_scale, rope_cos, rope_sin)
