"""Oracles of pooling: PyTorch's functions in float64, and chunks one by one."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor


def _pooled(function: Any, with_indices: bool, input: Tensor, **params: Any) -> Any:
    params = {**params, "return_indices": True} if with_indices else params
    return function(input.double().contiguous(), **params)


avg_pool1d = partial(_pooled, F.avg_pool1d, False)
avg_pool2d = partial(_pooled, F.avg_pool2d, False)
avg_pool3d = partial(_pooled, F.avg_pool3d, False)
max_pool1d = partial(_pooled, F.max_pool1d, False)
max_pool2d = partial(_pooled, F.max_pool2d, False)
max_pool3d = partial(_pooled, F.max_pool3d, False)
max_pool1d_indices = partial(_pooled, F.max_pool1d, True)
max_pool2d_indices = partial(_pooled, F.max_pool2d, True)
max_pool3d_indices = partial(_pooled, F.max_pool3d, True)


def adaptive_avg_pool2d(input: Tensor, *, output_size: Any) -> Tensor:
    """Averages over a grid; `None` is the size of the input.

    On the CPU, as the maxima: on a GPU, PyTorch takes where a window begins from products of 32 bits.
    """
    return F.adaptive_avg_pool2d(input.double().cpu(), _grid(input, output_size)).to(input.device)


def adaptive_max_pool2d(input: Tensor, *, output_size: Any) -> Tensor:
    """Largest values over a grid."""
    return F.adaptive_max_pool2d(input.double().cpu(), _grid(input, output_size)).to(input.device)


def adaptive_max_pool2d_indices(input: Tensor, *, output_size: Any) -> tuple[Tensor, Tensor]:
    """Largest values over a grid, and where they stand."""
    found = F.adaptive_max_pool2d(input.double().cpu(), _grid(input, output_size), return_indices=True)
    return found[0].to(input.device), found[1].to(input.device)


def _grid(input: Tensor, output_size: Any) -> tuple[int, int]:
    sizes = output_size if isinstance(output_size, tuple) else (output_size,)
    rows, columns = sizes * 2 if len(sizes) == 1 else sizes
    return input.shape[2] if rows is None else rows, input.shape[3] if columns is None else columns


def mean_pooling(x: Tensor, offsets: Tensor | None, indices: Tensor | None, *, chunk_size: int) -> Tensor:
    """Means of chunks; an empty one is 0."""
    x = x.double()
    if offsets is None or indices is None:
        chunks = [x[:, begin : begin + chunk_size].mean(1) for begin in range(0, x.shape[1], chunk_size)]
        return torch.stack(chunks, 1) if chunks else x[:, :0]
    out = x.new_zeros(1, len(indices), *x.shape[2:])
    bounds = offsets.tolist()
    for row, (sequence, chunk) in enumerate(indices.tolist()):
        if not 0 <= sequence < len(bounds) - 1:
            continue
        begin = bounds[sequence] + chunk * chunk_size
        tokens = x[0, begin : min(begin + chunk_size, bounds[sequence + 1])]
        if len(tokens):
            out[0, row] = tokens.mean(0)
    return out
