"""Mixture of experts."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op

__all__ = ["MoeUnpermuteFwdOp"]


class MoeUnpermuteFwdOp(Op):
    r"""Weighted sum of the expert outputs of each token.

    With $f = t K + k$ the place of token $t$'s $k$-th expert in the index, and $\lambda$ the scaling factor,

    $$
    y_t = \lambda \sum_{k=0}^{K-1} [\mathrm{fwd\_idx}_f \ge 0]\; w_{tk}\;
    \mathrm{mm2\_pad}_{\mathrm{fwd\_idx}_f} .
    $$

    An index of -1 contributes nothing; a token whose indices are all -1 gives zeros.

    Args:
        routed_scaling_factor: $\lambda$.

    Raises:
        CallError: An argument breaks the specification below; the message names it.
        NotImplementedError: The call passed every check; computing it is not implemented.

    Numerics:
        Products and the sum, in the order of $k$, are specified in float32, with one rounding at the store.

    Source:
        The combine step of [DeepSeekMoE](https://arxiv.org/abs/2401.06066).

    Examples:
        >>> import torch, tileops
        >>> combine = tileops.MoeUnpermuteFwdOp()
        >>> rows = torch.empty(12, 16, dtype=torch.bfloat16, device="meta")
        >>> index = torch.empty(10, dtype=torch.int32, device="meta")
        >>> weights = torch.empty(5, 2, device="meta")
        >>> combine(rows, index, weights).shape
        torch.Size([5, 16])
    """

    def __init__(
        self,
        *,
        routed_scaling_factor: float = 1.0,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target, implementation=implementation, routed_scaling_factor=routed_scaling_factor
        )

    def forward(
        self, mm2_pad: Tensor, fwd_idx: Tensor, topk_weights: Tensor, out: Tensor | None = None
    ) -> Tensor:
        r"""Combine.

        Args:
            mm2_pad: Expert outputs, one row for each (token, expert) pair.
            fwd_idx: Row of each pair, token by token; -1 for a dropped one.
            topk_weights: Weight $w$ of each pair.
            out: Where to write the result; it is returned.

        Returns:
            The combined rows, one a token; `out` if it was given.
        """
        return self._call(mm2_pad, fwd_idx, topk_weights, out)
