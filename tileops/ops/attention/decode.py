"""One step of decoding."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op

__all__ = ["GroupedQueryAttentionDecodePagedWithKVCacheFwdOp"]


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
