"""Gradients of attention of sequences with themselves."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op

__all__ = ["GroupedQueryAttentionBwdOp", "MultiHeadAttentionBwdOp"]


class MultiHeadAttentionBwdOp(Op):
    r"""Gradients of multi-head self-attention, from its output and log-sum-exp.

    For each batch and head, with $D$ elements of a head, $s_{ij} = \langle q_i, k_j \rangle / \sqrt{D}$, and
    the gradient $\nabla o$ of the output,

    $$
    P_{ij} = \begin{cases} e^{s_{ij} - \mathrm{lse}_i} & j \text{ visible to } i \\ 0 & \text{else}
    \end{cases}, \qquad
    \Delta_i = \langle \nabla o_i, o_i \rangle, \qquad
    \nabla s_{ij} = P_{ij} \left( \langle \nabla o_i, v_j \rangle - \Delta_i \right),
    $$

    $$
    \nabla q_i = \tfrac{1}{\sqrt{D}} \sum_j \nabla s_{ij}\, k_j, \qquad
    \nabla k_j = \tfrac{1}{\sqrt{D}} \sum_i \nabla s_{ij}\, q_i, \qquad
    \nabla v_j = \sum_i P_{ij}\, \nabla o_i .
    $$

    With `is_causal` key $j$ is visible to query $i$ when $j \le i$, else always. $\mathrm{lse}_i$ is the
    natural logarithm of $\sum_{j \text{ visible}} e^{s_{ij}}$; where it is $-\infty$ the query sees nothing,
    and its weights are 0. This is what
    [`MultiHeadAttentionFwdOp`][tileops.ops.attention.square.MultiHeadAttentionFwdOp] calls when a gradient
    goes back through it.

    Args:
        is_causal: Whether keys after the query are masked.

    Raises:
        CallError: An argument breaks the specification below; the message names it.
        NotImplementedError: The call is specified, and no implementation serves it: $D > 256$.

    Numerics:
        Always deterministic: every sum has one owner and a fixed order, and two runs are bitwise equal. The
        weights are computed again, once for the keys and once for the queries, instead of adding through
        memory. Products, exponentials and sums are float32; $P$ and $\nabla s$ are rounded to the dtype of
        `q` before they enter a matrix product, as tensor cores need, so in float16 $\nabla s$ must stay below
        65504. On the H200 weights below $2^{-126}$ are 0. One rounding at the store.

    Source:
        T. Dao, [FlashAttention-2](https://arxiv.org/abs/2307.08691), 2023, section 3.1, for the formula; the
        gradient of
        [`torch.nn.functional.scaled_dot_product_attention`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html)
        with the axes of heads and sequence exchanged.

    Examples:
        >>> import torch, tileops
        >>> q, k, v, do = torch.randn(4, 1, 40, 2, 64).half()
        >>> leaves = [t.double().requires_grad_() for t in (q, k, v)]
        >>> heads_first = [t.transpose(1, 2) for t in leaves]
        >>> o = torch.nn.functional.scaled_dot_product_attention(*heads_first).transpose(1, 2)
        >>> o.backward(do.double())
        >>> lse = (heads_first[0] @ heads_first[1].mT / 8).logsumexp(-1)
        >>> backward = tileops.MultiHeadAttentionBwdOp(is_causal=False)
        >>> got = backward(q, k, v, o.detach().half(), do, lse.detach().float())
        >>> for grad, leaf in zip(got, leaves):
        ...     torch.testing.assert_close(grad.double(), leaf.grad, rtol=1e-2, atol=5e-3)
    """

    def __init__(
        self, *, is_causal: bool = True, target: str | None = None, implementation: str | None = None
    ) -> None:
        super().__init__(target=target, implementation=implementation, is_causal=is_causal)

    def forward(
        self, q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        r"""Gradients of queries, keys and values.

        Args:
            q: Queries, `(batch, sequence, heads, head_dim)`.
            k: Keys, in the shape of `q`.
            v: Values, in the shape of `q`.
            o: $o$, the output of the forward.
            do: $\nabla o$, the gradient of the output.
            lse: Log-sum-exp of the scaled scores in the natural logarithm, `(batch, heads, sequence)`.

        Returns:
            dq: The gradient of `q`.
            dk: The gradient of `k`.
            dv: The gradient of `v`.
        """
        return self._call(q, k, v, o, do, lse)


class GroupedQueryAttentionBwdOp(Op):
    r"""Gradients of grouped-query self-attention, from its output and log-sum-exp.

    Query head $h$ reads the key and value head $g(h) = \lfloor h\,H_{kv} / H \rfloor$. For each batch, with
    $D$ elements of a head, $s_{ijh} = \langle q_{ih}, k_{j\,g(h)} \rangle / \sqrt{D}$, and the gradient
    $\nabla o$ of the output,

    $$
    P_{ijh} = \begin{cases} e^{s_{ijh} - \mathrm{lse}_{hi}} & j \text{ visible to } i \\ 0 & \text{else}
    \end{cases}, \qquad
    \Delta_{ih} = \langle \nabla o_{ih}, o_{ih} \rangle, \qquad
    \nabla s_{ijh} = P_{ijh} \left( \langle \nabla o_{ih}, v_{j\,g(h)} \rangle - \Delta_{ih} \right),
    $$

    $$
    \nabla q_{ih} = \tfrac{1}{\sqrt{D}} \sum_j \nabla s_{ijh}\, k_{j\,g(h)}, \quad
    \nabla k_{jg} = \tfrac{1}{\sqrt{D}} \sum_{g(h) = g} \sum_i \nabla s_{ijh}\, q_{ih}, \quad
    \nabla v_{jg} = \sum_{g(h) = g} \sum_i P_{ijh}\, \nabla o_{ih} .
    $$

    With `is_causal` key $j$ is visible to query $i$ when $j \le i$, else always. $\mathrm{lse}_{hi}$ is the
    natural logarithm of $\sum_{j \text{ visible}} e^{s_{ijh}}$; where it is $-\infty$ the query sees nothing,
    and its weights are 0. This is what
    [`GroupedQueryAttentionFwdOp`][tileops.ops.attention.square.GroupedQueryAttentionFwdOp] calls when a
    gradient goes back through it.

    Args:
        is_causal: Whether keys after the query are masked.

    Raises:
        CallError: An argument breaks the specification below; the message names it.
        NotImplementedError: The call is specified, and no implementation serves it: $D > 256$.

    Numerics:
        Always deterministic: every sum has one owner and a fixed order, also over the heads of a group, and
        two runs are bitwise equal. The weights are computed again, once for the keys and once for the
        queries, instead of adding through memory. Products, exponentials and sums are float32; $P$ and
        $\nabla s$ are rounded to the dtype of `q` before they enter a matrix product, as tensor cores need,
        so in float16 $\nabla s$ must stay below 65504. On the H200 weights below $2^{-126}$ are 0. One
        rounding at the store.

    Source:
        J. Ainslie et al., [GQA](https://arxiv.org/abs/2305.13245), 2023; T. Dao,
        [FlashAttention-2](https://arxiv.org/abs/2307.08691), 2023, section 3.1, for the formula.

    Examples:
        >>> import torch, tileops
        >>> q, do = torch.randn(2, 1, 40, 4, 64).half()
        >>> k, v = torch.randn(2, 1, 40, 2, 64).half()
        >>> leaves = [t.double().requires_grad_() for t in (q, k, v)]
        >>> heads_first = [t.transpose(1, 2).repeat_interleave(4 // t.shape[2], 1) for t in leaves]
        >>> o = torch.nn.functional.scaled_dot_product_attention(*heads_first).transpose(1, 2)
        >>> o.backward(do.double())
        >>> lse = (heads_first[0] @ heads_first[1].mT / 8).logsumexp(-1)
        >>> backward = tileops.GroupedQueryAttentionBwdOp(is_causal=False)
        >>> got = backward(q, k, v, o.detach().half(), do, lse.detach().float())
        >>> for grad, leaf in zip(got, leaves):
        ...     torch.testing.assert_close(grad.double(), leaf.grad, rtol=1e-2, atol=5e-3)
    """

    def __init__(
        self, *, is_causal: bool = True, target: str | None = None, implementation: str | None = None
    ) -> None:
        super().__init__(target=target, implementation=implementation, is_causal=is_causal)

    def forward(
        self, q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        r"""Gradients of queries, keys and values.

        Args:
            q: Queries, `(batch, sequence, heads, head_dim)`.
            k: Keys, `(batch, sequence, key heads, head_dim)`.
            v: Values, in the shape of `k`.
            o: $o$, the output of the forward.
            do: $\nabla o$, the gradient of the output.
            lse: Log-sum-exp of the scaled scores in the natural logarithm, `(batch, heads, sequence)`.

        Returns:
            dq: The gradient of `q`.
            dk: The gradient of `k`.
            dv: The gradient of `v`.
        """
        return self._call(q, k, v, o, do, lse)
