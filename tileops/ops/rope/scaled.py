"""Rotary position embedding with frequencies for contexts longer than the original one."""

from __future__ import annotations

from torch import Tensor

from tileops.op import Op

__all__ = ["RopeLlama31FwdOp", "RopeLongRopeFwdOp", "RopeYarnFwdOp"]


class RopeLlama31FwdOp(Op):
    r"""Rotary position embedding with the frequencies of Llama 3.1.

    As [`RopeNeoxFwdOp`][tileops.ops.rope.plain.RopeNeoxFwdOp], with frequencies $\omega'_m$ in place of
    $\omega_m = \theta^{-2m/D}$: waves that are short beside the original context stay, long ones are
    stretched by $s$, and those between are interpolated.

    $$
    \omega'_m = \gamma_m \omega_m + (1 - \gamma_m) \frac{\omega_m}{s}, \qquad
    \gamma_m = \min\left(\max\left(\frac{L \omega_m / 2\pi - l}{u - l}, 0\right), 1\right)
    $$

    $L \omega_m / 2\pi$ is how often wave $m$ repeats in the original context $L$.


    Args:
        layout: `"1d"` for one sequence of rows, `"2d"` for a batch of sequences with heads.
        base: $\theta$, the base of the frequencies.
        scale_factor: $s$, by which long waves are stretched.
        low_freq_factor: $l$; waves that repeat less often are stretched in full.
        high_freq_factor: $u$; waves that repeat more often stay.
        original_max_position: $L$, the context that the model was trained with first.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Frequencies are float64, and angles are reduced exactly, as fractions of a turn in 64 bits: sine and
        cosine are as accurate at position $10^6$ as at 1, within $10^{-7}$. Nothing is looked up, so there is
        no longest sequence, and nothing is kept between calls. The rotation is float32, with one rounding at
        the store. Two runs are bitwise equal.

    Source:
        [The Llama 3 Herd of Models](https://arxiv.org/abs/2407.21783), 2024, and its
        [reference code](https://github.com/meta-llama/llama-models). Its models have `base=500000.0`.

    Examples:
        >>> import torch, tileops
        >>> rope = tileops.RopeLlama31FwdOp(base=500000.0)
        >>> x = torch.randn(4, 128)
        >>> y = rope(x)
        >>> torch.testing.assert_close(y[0], x[0])  # position 0 is not turned
        >>> torch.testing.assert_close(y.norm(dim=-1), x.norm(dim=-1))
    """

    def __init__(
        self,
        *,
        layout: str = "1d",
        base: float = 10000.0,
        scale_factor: float = 8.0,
        low_freq_factor: float = 1.0,
        high_freq_factor: float = 4.0,
        original_max_position: int = 8192,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target,
            implementation=implementation,
            layout=layout,
            base=base,
            scale_factor=scale_factor,
            low_freq_factor=low_freq_factor,
            high_freq_factor=high_freq_factor,
            original_max_position=original_max_position,
        )

    def forward(self, x: Tensor) -> Tensor:
        r"""Turn every pair of every row by its position.

        Args:
            x: Rows to turn: `[S, D]`, or `[B, S, H, D]` with `layout="2d"`; the position is the place in $S$.

        Returns:
            The turned rows, in the shape and dtype of `x`.
        """
        return self._call(x)


class RopeYarnFwdOp(Op):
    r"""Rotary position embedding with YaRN's interpolation.

    As [`RopeNeoxFwdOp`][tileops.ops.rope.plain.RopeNeoxFwdOp], with frequencies $\omega'_m$ in place of
    $\omega_m = \theta^{-2m/D}$ and an amplitude $A$ that multiplies sine and cosine. With the pair

    $$
    d(\beta) = \frac{D \ln(L / 2\pi\beta)}{2 \ln\theta}
    $$

    that turns $\beta$ times in the original context $L$, and
    $lo = \max(\lfloor d(\beta_{fast}) \rfloor, 0)$, $hi = \min(\lceil d(\beta_{slow}) \rceil, D - 1)$,

    $$
    \omega'_m = \rho_m \frac{\omega_m}{s} + (1 - \rho_m)\, \omega_m, \qquad
    \rho_m = \min\left(\max\left(\frac{m - lo}{hi - lo}, 0\right), 1\right)
    $$

    and $A = \mathrm{attn\_factor} \cdot (0.1 \ln s + 1)$ for $s > 1$, else $\mathrm{attn\_factor}$. Where
    $hi = lo$, the difference is 0.001.


    Args:
        layout: `"1d"` for one sequence of rows, `"2d"` for a batch of sequences with heads.
        base: $\theta$, the base of the frequencies.
        scale: $s$, by how much the context is longer than the original one.
        original_max_position: $L$, the original context.
        beta_fast: Pairs that turn more often in $L$ stay.
        beta_slow: Pairs that turn less often in $L$ are interpolated in full.
        attn_factor: Factor of the amplitude. Scores, products of two turned rows, get its square.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Frequencies are float64, and angles are reduced exactly, as fractions of a turn in 64 bits: sine and
        cosine are as accurate at position $10^6$ as at 1, within $10^{-7}$. Nothing is looked up, so there is
        no longest sequence, and nothing is kept between calls. The rotation is float32, with one rounding at
        the store. Two runs are bitwise equal.

    Source:
        B. Peng, J. Quesnelle, H. Fan, E. Shippole, [YaRN](https://arxiv.org/abs/2309.00071), 2023, and its
        authors' code. DeepSeek's models put a part of the amplitude into the scale of the scores: give the
        `attn_factor` for which $A$ is 1.

    Examples:
        >>> import torch, tileops
        >>> rope = tileops.RopeYarnFwdOp(scale=4.0)
        >>> x = torch.randn(4, 128)
        >>> amplitude = 0.1 * torch.tensor(4.0).log() + 1.0
        >>> torch.testing.assert_close(rope(x)[0], amplitude * x[0])
    """

    def __init__(
        self,
        *,
        layout: str = "1d",
        base: float = 10000.0,
        scale: float = 16.0,
        original_max_position: int = 4096,
        beta_fast: float = 32.0,
        beta_slow: float = 1.0,
        attn_factor: float = 1.0,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target,
            implementation=implementation,
            layout=layout,
            base=base,
            scale=scale,
            original_max_position=original_max_position,
            beta_fast=beta_fast,
            beta_slow=beta_slow,
            attn_factor=attn_factor,
        )

    def forward(self, x: Tensor) -> Tensor:
        r"""Turn every pair of every row by its position.

        Args:
            x: Rows to turn: `[S, D]`, or `[B, S, H, D]` with `layout="2d"`; the position is the place in $S$.

        Returns:
            The turned rows, in the shape and dtype of `x`.
        """
        return self._call(x)


class RopeLongRopeFwdOp(Op):
    r"""Rotary position embedding with LongRoPE's divisors of the frequencies.

    As [`RopeNeoxFwdOp`][tileops.ops.rope.plain.RopeNeoxFwdOp], with frequencies
    $\omega'_m = \theta^{-2m/D} / \rho_m$ and an amplitude $A$ that multiplies sine and cosine. With
    $r = \mathrm{max\_position\_embeddings} / \mathrm{original\_max\_position\_embeddings}$

    $$
    A = \sqrt{1 + \frac{\ln r}{\ln \mathrm{original\_max\_position\_embeddings}}}
    \quad \text{for } r > 1, \text{ else } 1
    $$


    Args:
        layout: `"1d"` for one sequence of rows, `"2d"` for a batch of sequences with heads.
        base: $\theta$, the base of the frequencies.
        max_position_embeddings: The context of the model.
        original_max_position_embeddings: The context that it was trained with first.

    Raises:
        CallError: An argument breaks the specification below; the message names it.

    Numerics:
        Frequencies are float64, and angles are reduced exactly, as fractions of a turn in 64 bits: sine and
        cosine are as accurate at position $10^6$ as at 1, within $10^{-7}$. Nothing is looked up, so there is
        no longest sequence, and nothing is kept between calls. The rotation is float32, with one rounding at
        the store. Two runs are bitwise equal.

    Source:
        Y. Ding et al., [LongRoPE](https://arxiv.org/abs/2402.13753), 2024; the amplitude is that of
        [Phi-3](https://arxiv.org/abs/2404.14219). Its models have two lists of divisors and take one by the
        length of the sequence: the caller chooses.

    Examples:
        >>> import torch, tileops
        >>> rope, plain = tileops.RopeLongRopeFwdOp(), tileops.RopeNeoxFwdOp()
        >>> x = torch.randn(9, 64)
        >>> torch.testing.assert_close(rope(x), plain(x))
        >>> half_speed = rope(x, torch.full((32,), 2.0))
        >>> torch.testing.assert_close(half_speed[8], rope(x[8].repeat(9, 1))[4])
    """

    def __init__(
        self,
        *,
        layout: str = "1d",
        base: float = 10000.0,
        max_position_embeddings: int = 4096,
        original_max_position_embeddings: int = 4096,
        target: str | None = None,
        implementation: str | None = None,
    ) -> None:
        super().__init__(
            target=target,
            implementation=implementation,
            layout=layout,
            base=base,
            max_position_embeddings=max_position_embeddings,
            original_max_position_embeddings=original_max_position_embeddings,
        )

    def forward(self, x: Tensor, rescale_factors: Tensor | None = None) -> Tensor:
        r"""Turn every pair of every row by its position.

        Args:
            x: Rows to turn: `[S, D]`, or `[B, S, H, D]` with `layout="2d"`; the position is the place in $S$.
            rescale_factors: $\rho_m$ of each pair, between $2^{-30}$ and $2^{30}$; without them, 1.

        Returns:
            The turned rows, in the shape and dtype of `x`.
        """
        return self._call(x, rescale_factors)
