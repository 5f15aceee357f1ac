"""The operators that people import, one module a family or group. Names load on first use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # operators: written by scripts/write_exports.py
    from tileops.ops.attention import (
        GroupedQueryAttentionDecodePagedWithKVCacheFwdOp,
        GroupedQueryAttentionDenseFwdOp,
    )
    from tileops.ops.gemm import (
        BmmFwdOp,
        GemmFwdOp,
    )
    from tileops.ops.moe import (
        MoeUnpermuteFwdOp,
    )
    from tileops.ops.normalization import (
        BatchNormFwdOp,
        FusedAddRMSNormFwdOp,
        LayerNormFwdOp,
        RMSNormFwdOp,
    )
    from tileops.ops.pool import (
        AvgPool2dFwdOp,
    )
    from tileops.ops.quantization import (
        FP8QuantFwdOp,
    )
    from tileops.ops.reduction import (
        SoftmaxFwdOp,
        SumFwdOp,
    )
    # end of operators

__all__ = [
    # operators: written by scripts/write_exports.py
    "AvgPool2dFwdOp",
    "BatchNormFwdOp",
    "BmmFwdOp",
    "FP8QuantFwdOp",
    "FusedAddRMSNormFwdOp",
    "GemmFwdOp",
    "GroupedQueryAttentionDecodePagedWithKVCacheFwdOp",
    "GroupedQueryAttentionDenseFwdOp",
    "LayerNormFwdOp",
    "MoeUnpermuteFwdOp",
    "RMSNormFwdOp",
    "SoftmaxFwdOp",
    "SumFwdOp",
    # end of operators
]

_MODULES = {
    # operators: written by scripts/write_exports.py
    "AvgPool2dFwdOp": "pool",
    "BatchNormFwdOp": "normalization",
    "BmmFwdOp": "gemm",
    "FP8QuantFwdOp": "quantization",
    "FusedAddRMSNormFwdOp": "normalization",
    "GemmFwdOp": "gemm",
    "GroupedQueryAttentionDecodePagedWithKVCacheFwdOp": "attention",
    "GroupedQueryAttentionDenseFwdOp": "attention",
    "LayerNormFwdOp": "normalization",
    "MoeUnpermuteFwdOp": "moe",
    "RMSNormFwdOp": "normalization",
    "SoftmaxFwdOp": "reduction",
    "SumFwdOp": "reduction",
    # end of operators
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
