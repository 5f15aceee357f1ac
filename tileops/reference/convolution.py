"""Oracles of convolution: PyTorch's functions in float64."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch.nn.functional as F
from torch import Tensor


def _convolved(function: Any, input: Tensor, weight: Tensor, bias: Tensor | None, **params: Any) -> Tensor:
    """The convolution; a batch of none has no values."""
    bias = None if bias is None else bias.double()
    result: Tensor = function(input.double().contiguous(), weight.double().contiguous(), bias, **params)
    return result


conv1d = partial(_convolved, F.conv1d)
conv2d = partial(_convolved, F.conv2d)
conv3d = partial(_convolved, F.conv3d)
