"""Matrix multiplication of float8 operands."""

from __future__ import annotations

import torch
from torch import Tensor

from tileops.op import Op

__all__ = ["BmmFp8KNFwdOp", "BmmFp8NKFwdOp", "GemmFp8FwdOp"]


class BmmFp8KNFwdOp(Op):
    r"""Batched matrix multiplication of float8 operands, b stored `(K, N)`.

    $$
    d_{imn} = s_a\, s_b \sum_{k=1}^{K} a_{imk}\, b_{ikn}
    $$

    $K$ is the second dimension of `b`. Tensor cores take float8 operands with $K$ innermost, so `b` is
    transposed first; where it can be stored the other way, `BmmFp8NKFwdOp` saves that. Nothing
    broadcasts. $K = 0$ gives zeros.

    Args:
        out_dtype: The dtype of the result, bfloat16 or float16.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        float8 products are summed by tensor cores over 128 elements of $K$; each such sum is added in
        float32. Tensor cores keep about 14 bits of it, hence a relative error of about 1e-4 before the one
        rounding at the store. Two runs are bitwise equal.

    Source:
        [`torch.bmm`](https://docs.pytorch.org/docs/stable/generated/torch.bmm.html) of the scaled operands.

    Examples:
        >>> import torch, tileops
        >>> bmm = tileops.BmmFp8KNFwdOp()
        >>> a, b = (torch.randn(2, n, 64).to(torch.float8_e4m3fn) for n in (3, 40))
        >>> y = bmm(a, b.mT.contiguous(), torch.tensor(0.5), torch.tensor(2.0))
        >>> torch.testing.assert_close(y.float(), a.float() @ b.float().mT, rtol=2e-2, atol=2e-2)
    """

    def __init__(
        self,
        *,
        out_dtype: torch.dtype = torch.bfloat16,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(target=target, implementation=implementation, out_dtype=out_dtype)

    def forward(self, a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor) -> Tensor:
        r"""Multiply.

        Args:
            a: Left matrices, `(B, M, K)`.
            b: Right matrices, `(B, K, N)`.
            scale_a: $s_a$, with no dimensions.
            scale_b: $s_b$, with no dimensions.

        Returns:
            The products, `(B, M, N)`, in `out_dtype`.
        """
        return self._call(a, b, scale_a, scale_b)


class BmmFp8NKFwdOp(Op):
    r"""Batched matrix multiplication of float8 operands, b stored `(N, K)`.

    $$
    d_{imn} = s_a\, s_b \sum_{k=1}^{K} a_{imk}\, b_{ink}
    $$

    $K$ is the last dimension of both. Nothing broadcasts. $K = 0$ gives zeros.

    Args:
        out_dtype: The dtype of the result, bfloat16 or float16.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        float8 products are summed by tensor cores over 128 elements of $K$; each such sum is added in
        float32. Tensor cores keep about 14 bits of it, hence a relative error of about 1e-4 before the one
        rounding at the store. Two runs are bitwise equal.

    Source:
        [`torch.bmm`](https://docs.pytorch.org/docs/stable/generated/torch.bmm.html) of the scaled operands.

    Examples:
        >>> import torch, tileops
        >>> bmm = tileops.BmmFp8NKFwdOp()
        >>> a, b = (torch.randn(2, n, 64).to(torch.float8_e4m3fn) for n in (3, 40))
        >>> y = bmm(a, b, torch.tensor(0.5), torch.tensor(2.0))
        >>> torch.testing.assert_close(y.float(), a.float() @ b.float().mT, rtol=2e-2, atol=2e-2)
    """

    def __init__(
        self,
        *,
        out_dtype: torch.dtype = torch.bfloat16,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(target=target, implementation=implementation, out_dtype=out_dtype)

    def forward(self, a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor) -> Tensor:
        r"""Multiply.

        Args:
            a: Left matrices, `(B, M, K)`.
            b: Right matrices, `(B, N, K)`.
            scale_a: $s_a$, with no dimensions.
            scale_b: $s_b$, with no dimensions.

        Returns:
            The products, `(B, M, N)`, in `out_dtype`.
        """
        return self._call(a, b, scale_a, scale_b)


class GemmFp8FwdOp(Op):
    r"""Matrix multiplication of float8 operands, with scales of whole operands or of blocks of 128.

    $$
    d_{mn} = \sum_{\kappa} s^a_{m\kappa}\, s^b_{n\kappa} \sum_{k \in \kappa} a_{mk}\, b_{nk} + \mathrm{bias}_n
    $$

    $\kappa = \lfloor k / 128 \rfloor$ counts blocks of $K$; the last one may be short. With scales of shape
    `(1, 1)` there is one $\kappa$ over all of $K$ and one scale for each operand. `b` is a weight stored as
    `(out_features, in_features)`. A weight with one scale for each block of 128 x 128, as in DeepSeek-V3,
    repeats it over the 128 rows: `scale.repeat_interleave(128, 0)`. $K = 0$ gives the bias, or zeros.

    Args:
        out_dtype: The dtype of the result and of the bias, bfloat16 or float16.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        float8 products are summed by tensor cores over 128 elements of $K$; each such sum is added in
        float32, after its block scales. Tensor cores keep about 14 bits of it, hence a relative error of
        about 1e-4 before the one rounding at the store, which is 4e-3 for bfloat16 and 5e-4 for float16.
        Two runs are bitwise equal.

    Source:
        DeepSeek-AI, [DeepSeek-V3 Technical Report](https://arxiv.org/abs/2412.19437), section 3.3.2.

    Examples:
        >>> import torch, tileops
        >>> gemm = tileops.GemmFp8FwdOp()
        >>> a, b = torch.randn(3, 256).to(torch.float8_e4m3fn), torch.randn(48, 256).to(torch.float8_e4m3fn)
        >>> scale_a, scale_b = torch.rand(3, 2), torch.rand(48, 2)
        >>> y = gemm(a, b, scale_a, scale_b)
        >>> left = a.float() * scale_a.repeat_interleave(128, 1)
        >>> right = b.float() * scale_b.repeat_interleave(128, 1)
        >>> torch.testing.assert_close(y.float(), left @ right.T, rtol=2e-2, atol=2e-2)
    """

    def __init__(
        self,
        *,
        out_dtype: torch.dtype = torch.bfloat16,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(target=target, implementation=implementation, out_dtype=out_dtype)

    def forward(
        self, a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, bias: Tensor | None = None
    ) -> Tensor:
        r"""Multiply.

        Args:
            a: Left matrix, `(M, K)`.
            b: Right matrix, `(N, K)`: a row for each column of the result.
            scale_a: $s^a$, `(1, 1)` or `(M, ceil(K/128))`.
            scale_b: $s^b$, `(1, 1)` or `(N, ceil(K/128))`, in the form of `scale_a`.
            bias: Added to each row, `(N,)`, in `out_dtype`.

        Returns:
            The product, `(M, N)`, in `out_dtype`.
        """
        return self._call(a, b, scale_a, scale_b, bias)
