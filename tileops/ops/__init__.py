"""The operators that people import, one module a family. Names load on first use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tileops.ops.attention import (
        GroupedQueryAttentionDecodePagedWithKVCacheFwdOp,
        GroupedQueryAttentionDenseFwdOp,
    )
    from tileops.ops.gemm import GemmFwdOp
    from tileops.ops.moe import MoeUnpermuteFwdOp
    from tileops.ops.normalization import BatchNormFwdOp, FusedAddRMSNormFwdOp, LayerNormFwdOp, RMSNormFwdOp
    from tileops.ops.pool import AvgPool2dFwdOp
    from tileops.ops.reduction import SoftmaxFwdOp, SumFwdOp

__all__ = [
    "AvgPool2dFwdOp",
    "BatchNormFwdOp",
    "FusedAddRMSNormFwdOp",
    "GemmFwdOp",
    "GroupedQueryAttentionDecodePagedWithKVCacheFwdOp",
    "GroupedQueryAttentionDenseFwdOp",
    "LayerNormFwdOp",
    "MoeUnpermuteFwdOp",
    "RMSNormFwdOp",
    "SoftmaxFwdOp",
    "SumFwdOp",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tileops.spec import load

    value = getattr(importlib.import_module(f"{__name__}.{load(name).family}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
