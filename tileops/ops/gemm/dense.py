"""Matrix multiplication of 16-bit operands."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op, PlainOp

__all__ = ["BmmFwdOp", "GemmFwdOp"]


class BmmFwdOp(PlainOp):
    r"""Batched matrix multiplication.

    $$
    D_i = A_i B_i, \qquad d_{imn} = \sum_{k=1}^{K} a_{imk}\, b_{ikn}
    $$

    The matrices of a batch are multiplied pair by pair; nothing broadcasts. $K = 0$ gives zeros.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Products and sums are float32 on tensor cores, with one rounding at the store. The order of the sum
        over $K$ is fixed by the implementation: two runs are bitwise equal.

    Source:
        [`torch.bmm`](https://docs.pytorch.org/docs/stable/generated/torch.bmm.html).

    Examples:
        >>> import torch, tileops
        >>> bmm = tileops.BmmFwdOp()
        >>> a, b = torch.randn(2, 3, 64).half(), torch.randn(2, 64, 40).half()
        >>> torch.testing.assert_close(bmm(a, b), torch.bmm(a, b), rtol=1e-2, atol=1e-2)
    """

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        r"""Multiply.

        Args:
            a: Left matrices, `(B, M, K)`.
            b: Right matrices, `(B, K, N)`.

        Returns:
            The products, `(B, M, N)`, in the dtype of `a`.
        """
        return self._call(a, b)


class GemmFwdOp(Op):
    r"""General matrix multiplication.

    $$
    D = \mathrm{op}_A(A)\,\mathrm{op}_B(B), \qquad d_{mn} = \sum_{k=1}^{K}
    \mathrm{op}_A(A)_{mk}\,\mathrm{op}_B(B)_{kn}
    $$

    $\mathrm{op}(X)$ is $X^\top$ when its switch is on, else $X$. With the defaults $B$ is a weight stored as
    `(out_features, in_features)`, and $D = A B^\top$ is what a linear layer computes. $K = 0$ gives zeros.

    Args:
        trans_a: Whether `a` is stored as $A^\top$, `(K, M)`.
        trans_b: Whether `b` is stored as $B^\top$, `(N, K)`.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Products and sums are float32, with one rounding at the store. The order of the sum
        over $K$ is fixed by the implementation: two runs are bitwise equal.

    Source:
        [`torch.nn.functional.linear`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.linear.html)
        without a bias, at the defaults.

    Examples:
        >>> import torch, tileops
        >>> linear = tileops.GemmFwdOp()
        >>> x, weight = torch.randn(3, 64).bfloat16(), torch.randn(48, 64).bfloat16()
        >>> y = linear(x, weight)
        >>> torch.testing.assert_close(y, x @ weight.T, rtol=2e-2, atol=2e-2)
    """

    def __init__(
        self,
        *,
        trans_a: bool = False,
        trans_b: bool = True,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(target=target, implementation=implementation, trans_a=trans_a, trans_b=trans_b)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        r"""Multiply.

        Args:
            a: Left matrix, `(M, K)`, or `(K, M)` with `trans_a`.
            b: Right matrix, `(K, N)`, or `(N, K)` with `trans_b`.

        Returns:
            The product, `(M, N)`, in the dtype of `a`.
        """
        return self._call(a, b)
