"""Oracles of rotary position embedding: float64 angles, one formula a function."""

import math

import torch
from torch import Tensor


def _frequencies(width: int, base: float, like: Tensor) -> Tensor:
    return base ** (-torch.arange(0, width, 2, dtype=torch.float64, device=like.device) / width)


def _turn(x: Tensor, position: Tensor, frequency: Tensor, amplitude: float = 1.0) -> Tensor:
    """Pairs are half a row apart; `position` has a value for each row, up to broadcasting."""
    angle = position.double()[..., None] * frequency
    cosine, sine = amplitude * angle.cos(), amplitude * angle.sin()
    a, b = x.double().chunk(2, -1)
    return torch.cat([a * cosine - b * sine, b * cosine + a * sine], -1)


def _places(x: Tensor) -> Tensor:
    """Positions of `[S, D]` or `[B, S, H, D]`."""
    place = torch.arange(x.shape[-3 if x.dim() == 4 else 0], device=x.device)
    return place[:, None] if x.dim() == 4 else place


def rope_neox(x: Tensor, *, layout: str, base: float) -> Tensor:
    """Halves of a row are pairs."""
    return _turn(x, _places(x), _frequencies(x.shape[-1], base, x))


def rope_non_neox(x: Tensor, *, layout: str, base: float) -> Tensor:
    """Neighbours are pairs: the same on rows whose halves are their even and odd elements."""
    halves = torch.cat([x[..., ::2], x[..., 1::2]], -1)
    turned = rope_neox(halves, layout=layout, base=base)
    return torch.stack(turned.chunk(2, -1), -1).flatten(-2)


def rope_llama31(
    x: Tensor,
    *,
    layout: str,
    base: float,
    scale_factor: float,
    low_freq_factor: float,
    high_freq_factor: float,
    original_max_position: int,
) -> Tensor:
    """By the wavelength: short ones stay, long ones are stretched, between them a mean of both."""
    plain = _frequencies(x.shape[-1], base, x)
    length = 2.0 * math.pi / plain
    slow = plain / scale_factor
    share = (original_max_position / length - low_freq_factor) / (high_freq_factor - low_freq_factor)
    mean = (1.0 - share) * slow + share * plain
    frequency = torch.where(length < original_max_position / high_freq_factor, plain, mean)
    if low_freq_factor > 0:
        frequency = torch.where(length > original_max_position / low_freq_factor, slow, frequency)
    return _turn(x, _places(x), frequency)


def rope_yarn(
    x: Tensor,
    *,
    layout: str,
    base: float,
    scale: float,
    original_max_position: int,
    beta_fast: float,
    beta_slow: float,
    attn_factor: float,
) -> Tensor:
    """By the number of the pair, between the one that turns `beta_fast` times and that of `beta_slow`."""
    width = x.shape[-1]
    low, high = (
        width * math.log(original_max_position / (2.0 * math.pi * beta)) / (2.0 * math.log(base))
        for beta in (beta_fast, beta_slow)
    )
    first, last = max(math.floor(low), 0), min(math.ceil(high), width - 1)
    pair = torch.arange(width // 2, dtype=torch.float64, device=x.device)
    ramp = ((pair - first) / (last - first or 0.001)).clamp(0.0, 1.0)
    plain = _frequencies(width, base, x)
    amplitude = attn_factor * (0.1 * math.log(scale) + 1.0 if scale > 1.0 else 1.0)
    return _turn(x, _places(x), ramp * plain / scale + (1.0 - ramp) * plain, amplitude)


def rope_long_rope(
    x: Tensor,
    rescale_factors: Tensor | None,
    *,
    layout: str,
    base: float,
    max_position_embeddings: int,
    original_max_position_embeddings: int,
) -> Tensor:
    """Each frequency is divided by its factor."""
    frequency = _frequencies(x.shape[-1], base, x)
    ratio = max_position_embeddings / original_max_position_embeddings
    grown = math.log(ratio) / math.log(original_max_position_embeddings) if ratio > 1.0 else 0.0
    frequency = frequency if rescale_factors is None else frequency / rescale_factors.double()
    return _turn(x, _places(x), frequency, math.sqrt(1.0 + grown))


def rope_neox_position_ids(
    x: Tensor, position_ids: Tensor, *, max_position: int, base: float, rotary_dim: int | None
) -> Tensor:
    """The first elements of a row are turned by the position of its token, the others stay."""
    width = x.shape[-1] if rotary_dim is None else rotary_dim
    place = position_ids.clamp(0, max_position - 1)[:, None]
    turned = _turn(x[..., :width], place, _frequencies(width, base, x))
    return torch.cat([turned, x[..., width:].double()], -1)
