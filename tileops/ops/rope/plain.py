"""Rotary position embedding with the frequencies of its paper."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op

__all__ = ["RopeNeoxFwdOp", "RopeNeoxPositionIdsFwdOp", "RopeNonNeoxFwdOp"]


class RopeNeoxFwdOp(Op):
    r"""Rotary position embedding of the two halves of a row.

    Pair $m$ of a row of $D$ elements at position $t$ is turned by the angle $t\,\omega_m$, with
    $\omega_m = \theta^{-2m/D}$:

    $$
    \begin{aligned}
    a' &= a \cos(t\,\omega_m) - b \sin(t\,\omega_m) \\
    b' &= b \cos(t\,\omega_m) + a \sin(t\,\omega_m)
    \end{aligned}
    $$

    where the pair is $(a, b) = (x_m, x_{m + D/2})$ for $0 \le m < D/2$: the two halves of a row.


    Args:
        layout: `"1d"` for one sequence of rows, `"2d"` for a batch of sequences with heads.
        base: $\theta$, the base of the frequencies.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Frequencies are float64, and angles are reduced exactly, as fractions of a turn in 64 bits: sine and
        cosine are as accurate at position $10^6$ as at 1, within $10^{-7}$. Nothing is looked up, so there is
        no longest sequence, and nothing is kept between calls. The rotation is float32, with one rounding at
        the store. Two runs are bitwise equal.

    Source:
        J. Su et al., [RoFormer](https://arxiv.org/abs/2104.09864), 2021. Halves are
        the layout of [GPT-NeoX](https://arxiv.org/abs/2204.06745) and of Llama in Transformers.

    Examples:
        >>> import torch, tileops
        >>> rope = tileops.RopeNeoxFwdOp(layout="2d")
        >>> x = torch.randn(2, 5, 3, 8)
        >>> angle = torch.arange(5)[:, None, None] * 10000.0 ** (-torch.arange(4) / 4)
        >>> a, b = x.chunk(2, -1)
        >>> c, s = angle.cos(), angle.sin()
        >>> torch.testing.assert_close(rope(x), torch.cat([a * c - b * s, b * c + a * s], -1))
    """

    def __init__(
        self,
        *,
        layout: str = "1d",
        base: float = 10000.0,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target,
            implementation=implementation,
            layout=layout,
            base=base,
        )

    def forward(self, x: Tensor) -> Tensor:
        r"""Turn every pair of every row by its position.

        Args:
            x: Rows to turn: `[S, D]`, or `[B, S, H, D]` with `layout="2d"`; the position is the place in $S$.

        Returns:
            The turned rows, in the shape and dtype of `x`.
        """
        return self._call(x)


class RopeNonNeoxFwdOp(Op):
    r"""Rotary position embedding of neighbours in a row.

    Pair $m$ of a row of $D$ elements at position $t$ is turned by the angle $t\,\omega_m$, with
    $\omega_m = \theta^{-2m/D}$:

    $$
    \begin{aligned}
    a' &= a \cos(t\,\omega_m) - b \sin(t\,\omega_m) \\
    b' &= b \cos(t\,\omega_m) + a \sin(t\,\omega_m)
    \end{aligned}
    $$

    where the pair is $(a, b) = (x_{2m}, x_{2m + 1})$ for $0 \le m < D/2$: neighbours, as complex numbers.


    Args:
        layout: `"1d"` for one sequence of rows, `"2d"` for a batch of sequences with heads.
        base: $\theta$, the base of the frequencies.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Frequencies are float64, and angles are reduced exactly, as fractions of a turn in 64 bits: sine and
        cosine are as accurate at position $10^6$ as at 1, within $10^{-7}$. Nothing is looked up, so there is
        no longest sequence, and nothing is kept between calls. The rotation is float32, with one rounding at
        the store. Two runs are bitwise equal.

    Source:
        J. Su et al., [RoFormer](https://arxiv.org/abs/2104.09864), 2021, section 3.2.
        Neighbours are also the layout of [GPT-J](https://github.com/kingoflolz/mesh-transformer-jax).

    Examples:
        >>> import torch, tileops
        >>> rope = tileops.RopeNonNeoxFwdOp()
        >>> x = torch.randn(5, 8)
        >>> angle = torch.arange(5)[:, None] * 10000.0 ** (-torch.arange(4) / 4)
        >>> turned = torch.view_as_complex(x.view(5, 4, 2)) * torch.polar(torch.ones(5, 4), angle)
        >>> torch.testing.assert_close(rope(x), torch.view_as_real(turned).view(5, 8))
    """

    def __init__(
        self,
        *,
        layout: str = "1d",
        base: float = 10000.0,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target,
            implementation=implementation,
            layout=layout,
            base=base,
        )

    def forward(self, x: Tensor) -> Tensor:
        r"""Turn every pair of every row by its position.

        Args:
            x: Rows to turn: `[S, D]`, or `[B, S, H, D]` with `layout="2d"`; the position is the place in $S$.

        Returns:
            The turned rows, in the shape and dtype of `x`.
        """
        return self._call(x)


class RopeNeoxPositionIdsFwdOp(Op):
    r"""Rotary position embedding of packed tokens, at given positions.

    Token $i$ stands at $t = \mathrm{position\_ids}_i$. Of each of its rows the first $R$ elements are turned
    as by [`RopeNeoxFwdOp`][tileops.ops.rope.plain.RopeNeoxFwdOp], the others stay:

    $$
    \begin{aligned}
    x'_m &= x_m \cos(t\,\omega_m) - x_{m + R/2} \sin(t\,\omega_m) \\
    x'_{m + R/2} &= x_{m + R/2} \cos(t\,\omega_m) + x_m \sin(t\,\omega_m)
    \end{aligned}
    \qquad \omega_m = \theta^{-2m/R}, \quad 0 \le m < R/2
    $$

    Positions may repeat, and come in any order.


    Args:
        max_position: Positions are below it. A position that is not is an error for CPU tensors and in
            `validate`; on a GPU it is taken as the nearest permitted one.
        base: $\theta$, the base of the frequencies.
        rotary_dim: $R$; by default the whole row.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Frequencies are float64, and angles are reduced exactly, as fractions of a turn in 64 bits: sine and
        cosine are as accurate at position $10^6$ as at 1, within $10^{-7}$. Nothing is looked up, so there is
        no longest sequence, and nothing is kept between calls. The rotation is float32, with one rounding at
        the store; what is not turned is copied. Two runs are bitwise equal.

    Source:
        J. Su et al., [RoFormer](https://arxiv.org/abs/2104.09864), 2021; a turned part of
        the row is that of [GPT-NeoX-20B](https://arxiv.org/abs/2204.06745).

    Examples:
        >>> import torch, tileops
        >>> rope = tileops.RopeNeoxPositionIdsFwdOp(max_position=4096, rotary_dim=32)
        >>> x = torch.randn(5, 2, 64)
        >>> y = rope(x, torch.tensor([0, 1, 2, 0, 1]))  # two requests, of 3 and 2 tokens
        >>> torch.testing.assert_close(y[3], x[3])
        >>> torch.testing.assert_close(y[..., 32:], x[..., 32:])
    """

    def __init__(
        self,
        *,
        max_position: int,
        base: float = 10000.0,
        rotary_dim: int | None = None,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target,
            implementation=implementation,
            max_position=max_position,
            base=base,
            rotary_dim=rotary_dim,
        )

    def forward(self, x: Tensor, position_ids: Tensor) -> Tensor:
        r"""Turn every pair of every row by its position.

        Args:
            x: $H$ rows of each of $T$ tokens.
            position_ids: Position of each token.

        Returns:
            The turned rows, in the shape and dtype of `x`.
        """
        return self._call(x, position_ids)
