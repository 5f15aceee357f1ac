"""Oracles of the tables of positions, in float64, on the CPU."""

from __future__ import annotations

import torch
from torch import Tensor


def alibi(*, seq_len: int, num_heads: int, dtype: torch.dtype) -> Tensor:
    """Minus a slope for each head, times the distance."""
    at = torch.arange(seq_len, dtype=torch.float64)
    slopes = 2 ** (-8 * torch.arange(1, num_heads + 1, dtype=torch.float64) / num_heads)
    return -slopes[:, None, None] * (at[:, None] - at).abs()


def sinusoidal(*, seq_len: int, d_model: int, dtype: torch.dtype) -> Tensor:
    """Sine and cosine in turn."""
    t, m = torch.arange(seq_len, dtype=torch.float64), torch.arange(d_model // 2, dtype=torch.float64)
    angles = t[:, None] * 10000 ** (-2 * m / d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)
