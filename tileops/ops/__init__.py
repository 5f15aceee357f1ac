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
    from tileops.ops.elementwise.exponential import (
        ExpFwdOp,
        Expm1FwdOp,
        Log1pFwdOp,
        LogFwdOp,
    )
    from tileops.ops.elementwise.functions import (
        CosFwdOp,
        ErfFwdOp,
        SigmoidFwdOp,
        SinFwdOp,
        TanhFwdOp,
    )
    from tileops.ops.elementwise.hard import (
        HardsigmoidFwdOp,
        HardswishFwdOp,
        HardtanhFwdOp,
    )
    from tileops.ops.elementwise.limits import (
        ClampScalarFwdOp,
        NanToNumFwdOp,
    )
    from tileops.ops.elementwise.powers import (
        ReciprocalFwdOp,
        RsqrtFwdOp,
        SqrtFwdOp,
    )
    from tileops.ops.elementwise.predicates import (
        BitwiseNotFwdOp,
        IsfiniteFwdOp,
        IsinfFwdOp,
        IsnanFwdOp,
        LogicalNotFwdOp,
    )
    from tileops.ops.elementwise.rectifiers import (
        EluFwdOp,
        LeakyReluFwdOp,
        ReluFwdOp,
        SeluFwdOp,
    )
    from tileops.ops.elementwise.rounding import (
        CeilFwdOp,
        FloorFwdOp,
        RoundFwdOp,
        TruncFwdOp,
    )
    from tileops.ops.elementwise.signs import (
        AbsFwdOp,
        NegFwdOp,
        SignFwdOp,
    )
    from tileops.ops.elementwise.smooth import (
        GeluFwdOp,
        MishFwdOp,
        SiluFwdOp,
        SoftplusFwdOp,
    )
    from tileops.ops.gemm import (
        BmmFwdOp,
        GemmFwdOp,
    )
    from tileops.ops.moe import (
        MoeUnpermuteFwdOp,
    )
    from tileops.ops.normalization.adaptive import (
        AdaLayerNormFwdOp,
        AdaLayerNormZeroFwdOp,
    )
    from tileops.ops.normalization.batch import (
        BatchNormFwdOp,
    )
    from tileops.ops.normalization.rows import (
        FusedAddLayerNormFwdOp,
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
    "AbsFwdOp",
    "AdaLayerNormFwdOp",
    "AdaLayerNormZeroFwdOp",
    "AvgPool2dFwdOp",
    "BatchNormFwdOp",
    "BitwiseNotFwdOp",
    "BmmFwdOp",
    "CeilFwdOp",
    "ClampScalarFwdOp",
    "CosFwdOp",
    "EluFwdOp",
    "ErfFwdOp",
    "ExpFwdOp",
    "Expm1FwdOp",
    "FP8QuantFwdOp",
    "FloorFwdOp",
    "FusedAddLayerNormFwdOp",
    "FusedAddRMSNormFwdOp",
    "GeluFwdOp",
    "GemmFwdOp",
    "GroupedQueryAttentionDecodePagedWithKVCacheFwdOp",
    "GroupedQueryAttentionDenseFwdOp",
    "HardsigmoidFwdOp",
    "HardswishFwdOp",
    "HardtanhFwdOp",
    "IsfiniteFwdOp",
    "IsinfFwdOp",
    "IsnanFwdOp",
    "LayerNormFwdOp",
    "LeakyReluFwdOp",
    "Log1pFwdOp",
    "LogFwdOp",
    "LogicalNotFwdOp",
    "MishFwdOp",
    "MoeUnpermuteFwdOp",
    "NanToNumFwdOp",
    "NegFwdOp",
    "RMSNormFwdOp",
    "ReciprocalFwdOp",
    "ReluFwdOp",
    "RoundFwdOp",
    "RsqrtFwdOp",
    "SeluFwdOp",
    "SigmoidFwdOp",
    "SignFwdOp",
    "SiluFwdOp",
    "SinFwdOp",
    "SoftmaxFwdOp",
    "SoftplusFwdOp",
    "SqrtFwdOp",
    "SumFwdOp",
    "TanhFwdOp",
    "TruncFwdOp",
    # end of operators
]

_MODULES = {
    # operators: written by scripts/write_exports.py
    "AbsFwdOp": "elementwise.signs",
    "AdaLayerNormFwdOp": "normalization.adaptive",
    "AdaLayerNormZeroFwdOp": "normalization.adaptive",
    "AvgPool2dFwdOp": "pool",
    "BatchNormFwdOp": "normalization.batch",
    "BitwiseNotFwdOp": "elementwise.predicates",
    "BmmFwdOp": "gemm",
    "CeilFwdOp": "elementwise.rounding",
    "ClampScalarFwdOp": "elementwise.limits",
    "CosFwdOp": "elementwise.functions",
    "EluFwdOp": "elementwise.rectifiers",
    "ErfFwdOp": "elementwise.functions",
    "ExpFwdOp": "elementwise.exponential",
    "Expm1FwdOp": "elementwise.exponential",
    "FP8QuantFwdOp": "quantization",
    "FloorFwdOp": "elementwise.rounding",
    "FusedAddLayerNormFwdOp": "normalization.rows",
    "FusedAddRMSNormFwdOp": "normalization.rows",
    "GeluFwdOp": "elementwise.smooth",
    "GemmFwdOp": "gemm",
    "GroupedQueryAttentionDecodePagedWithKVCacheFwdOp": "attention",
    "GroupedQueryAttentionDenseFwdOp": "attention",
    "HardsigmoidFwdOp": "elementwise.hard",
    "HardswishFwdOp": "elementwise.hard",
    "HardtanhFwdOp": "elementwise.hard",
    "IsfiniteFwdOp": "elementwise.predicates",
    "IsinfFwdOp": "elementwise.predicates",
    "IsnanFwdOp": "elementwise.predicates",
    "LayerNormFwdOp": "normalization.rows",
    "LeakyReluFwdOp": "elementwise.rectifiers",
    "Log1pFwdOp": "elementwise.exponential",
    "LogFwdOp": "elementwise.exponential",
    "LogicalNotFwdOp": "elementwise.predicates",
    "MishFwdOp": "elementwise.smooth",
    "MoeUnpermuteFwdOp": "moe",
    "NanToNumFwdOp": "elementwise.limits",
    "NegFwdOp": "elementwise.signs",
    "RMSNormFwdOp": "normalization.rows",
    "ReciprocalFwdOp": "elementwise.powers",
    "ReluFwdOp": "elementwise.rectifiers",
    "RoundFwdOp": "elementwise.rounding",
    "RsqrtFwdOp": "elementwise.powers",
    "SeluFwdOp": "elementwise.rectifiers",
    "SigmoidFwdOp": "elementwise.functions",
    "SignFwdOp": "elementwise.signs",
    "SiluFwdOp": "elementwise.smooth",
    "SinFwdOp": "elementwise.functions",
    "SoftmaxFwdOp": "reduction",
    "SoftplusFwdOp": "elementwise.smooth",
    "SqrtFwdOp": "elementwise.powers",
    "SumFwdOp": "reduction",
    "TanhFwdOp": "elementwise.functions",
    "TruncFwdOp": "elementwise.rounding",
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
