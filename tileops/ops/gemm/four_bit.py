"""Matrix multiplication with weights of four bits."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op

__all__ = ["GemmW4A16FwdOp"]


class GemmW4A16FwdOp(Op):
    r"""Matrix multiplication with weights of four bits, with a scale and a zero point for each group.

    $$
    y_{mn} = \sum_{k} x_{mk}\, (q_{nk} - z_{n\gamma})\, s_{n\gamma}, \qquad \gamma = \lfloor k / G \rfloor
    $$

    $q_{nk}$ is a number from 0 to 15: byte $j$ of a row of `packed_weight` holds $q_{n,2j}$ in its low four
    bits and $q_{n,2j+1}$ in its high ones. The zero point is subtracted before the scale applies. This is
    neither the layout of GPTQ nor that of AWQ, which interleave and pack in another order. $K = 0$ gives
    zeros.

    Args:
        group_size: $G$, how many weights of a row share a scale. $K$ is a multiple of it.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        $q - z$ is exact. Its products with $x$ are summed in float32, 32 to 128 of a group at a time, and the
        scale applies to each sum in float32. There is one rounding, at the store. Two runs are bitwise equal.

    Source:
        Frantar et al., [MARLIN: Mixed-Precision Auto-Regressive Parallel Inference on Large Language
        Models](https://arxiv.org/abs/2408.11743), for the scheme of groups.

    Examples:
        >>> import torch, tileops
        >>> gemm = tileops.GemmW4A16FwdOp(group_size=32)
        >>> q, zero = torch.randint(16, (8, 64)).byte(), torch.randint(16, (8, 2)).byte()
        >>> packed = q[:, 0::2] | q[:, 1::2] << 4
        >>> x, scale = torch.randn(3, 64).half(), torch.rand(8, 2)
        >>> weight = (q.float() - zero.repeat_interleave(32, 1)) * scale.repeat_interleave(32, 1)
        >>> y = gemm(x, packed, scale, zero)
        >>> torch.testing.assert_close(y.float(), x.float() @ weight.T, rtol=1e-2, atol=1e-2)
    """

    def __init__(
        self, *, group_size: int = 128, target: str | None = None, implementation: str | None = None
    ) -> None:
        super().__init__(target=target, implementation=implementation, group_size=group_size)

    def forward(
        self, activation: Tensor, packed_weight: Tensor, weight_scale: Tensor, weight_zero: Tensor
    ) -> Tensor:
        r"""Multiply.

        Args:
            activation: $x$, `(M, K)`.
            packed_weight: $q$, two weights a byte, `(N, K/2)`.
            weight_scale: $s$, `(N, K/G)`.
            weight_zero: $z$, one byte each, `(N, K/G)`.

        Returns:
            $y$, `(M, N)`.
        """
        return self._call(activation, packed_weight, weight_scale, weight_zero)
