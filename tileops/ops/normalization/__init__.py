"""Normalization over the last axes, over groups of channels, and over batches."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tileops.ops.normalization.adaptive import AdaLayerNormFwdOp, AdaLayerNormZeroFwdOp
    from tileops.ops.normalization.batch import BatchNormBwdOp, BatchNormFwdOp
    from tileops.ops.normalization.groups import GroupNormFwdOp, InstanceNormFwdOp
    from tileops.ops.normalization.rows import (
        FusedAddLayerNormFwdOp,
        FusedAddRMSNormFwdOp,
        LayerNormFwdOp,
        RMSNormFwdOp,
    )

__all__ = [
    "AdaLayerNormFwdOp",
    "AdaLayerNormZeroFwdOp",
    "BatchNormBwdOp",
    "BatchNormFwdOp",
    "FusedAddLayerNormFwdOp",
    "FusedAddRMSNormFwdOp",
    "GroupNormFwdOp",
    "InstanceNormFwdOp",
    "LayerNormFwdOp",
    "RMSNormFwdOp",
]

_GROUPS = ("adaptive", "batch", "groups", "rows")


def __getattr__(name: str) -> Any:
    """A class from the module of its group, which is loaded on first use."""
    for group in _GROUPS if name in __all__ else ():
        module = importlib.import_module(f"{__name__}.{group}")
        if name in module.__all__:
            return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
