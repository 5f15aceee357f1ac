"""Matrix multiplication of groups of rows."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op

__all__ = ["GroupedGemmFwdOp"]


class GroupedGemmFwdOp(Op):
    r"""One matrix multiplication for each group of packed rows.

    Group $e$ owns the $n_e$ rows from row $o_e$ on, $R_e = \{o_e, \dots, o_e + n_e - 1\}$. Without
    `transpose_a` each group has a matrix of its own, as the experts of a mixture have:

    $$
    Y_{R_e} = A_{R_e}\, \mathrm{op}(B_e)
    $$

    With `transpose_a` a group sums over its rows, as the gradients of those matrices do:

    $$
    Y_e = A_{R_e}^\top\, \mathrm{op}(B)_{R_e}
    $$

    $\mathrm{op}$ transposes with `transpose_b`.

    | `transpose_a`, `transpose_b` | `a` | `b` | output |
    | --- | --- | --- | --- |
    | no, yes (default) | `(T, K)` | `(E, N, K)` | `(T, N)` |
    | no, no | `(T, K)` | `(E, K, N)` | `(T, N)` |
    | yes, no | `(T, M)` | `(T, N)` | `(E, M, N)` |
    | yes, yes | `(T, M)` | `(N, T)` | `(E, M, N)` |

    Groups may be empty, and there may be gaps between them; they must not overlap. Rows of no group are zero,
    and so is the matrix of a group without rows. What reaches beyond row `T` is left out. The host does not
    read sizes or offsets of tensors on a GPU.

    Args:
        transpose_a: Whether groups sum over their rows.
        transpose_b: Whether `b` is stored with the columns of the output first.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Products and sums are float32 on tensor cores, with one rounding at the store. Two runs are bitwise
        equal.

    Source:
        Gale et al., [MegaBlocks: Efficient Sparse Training with Mixture-of-Experts](https://arxiv.org/abs/2211.15841).

    Examples:
        >>> import torch, tileops
        >>> grouped = tileops.GroupedGemmFwdOp()
        >>> a, b = torch.randn(7, 32).bfloat16(), torch.randn(2, 48, 32).bfloat16()
        >>> sizes, offsets = torch.tensor([3, 4]).int(), torch.tensor([0, 3]).int()
        >>> y = grouped(a, b, sizes, offsets)
        >>> torch.testing.assert_close(y[3:], a[3:] @ b[1].T, rtol=2e-2, atol=2e-2)
    """

    def __init__(
        self,
        *,
        transpose_a: bool = False,
        transpose_b: bool = True,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target, implementation=implementation, transpose_a=transpose_a, transpose_b=transpose_b
        )

    def forward(
        self,
        a: Tensor,
        b: Tensor,
        batch_sizes: Tensor,
        batch_offsets: Tensor,
        batch_padded_offsets: Tensor | None = None,
    ) -> Tensor:
        r"""Multiply.

        Args:
            a: $A$, the packed rows.
            b: $B$, see the table.
            batch_sizes: $n_e$, the rows of each group, `(E,)`.
            batch_offsets: $o_e$, the first row of each group, `(E,)`.
            batch_padded_offsets: Ignored: where a layout of whole tiles would put the groups.

        Returns:
            $Y$, in the dtype of `a`.
        """
        return self._call(a, b, batch_sizes, batch_offsets, batch_padded_offsets)
