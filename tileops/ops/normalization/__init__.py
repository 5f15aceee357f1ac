"""Normalization over the last axes, over groups of channels, and over batches."""

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
