"""LLM operators written in TileLang for the NVIDIA H200; the same programs run on any CPU."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tileops._name import refuse_other_distribution

if TYPE_CHECKING:
    from tileops.errors import CallError, ManifestError, UnsupportedDeviceError
    from tileops.op import Op
    from tileops.targets.errors import TargetError

    # operators: written by scripts/write_exports.py
    from tileops.ops import (
        AbsFwdOp,
        AdaLayerNormFwdOp,
        AdaLayerNormZeroFwdOp,
        AddFwdOp,
        AvgPool2dFwdOp,
        BatchNormFwdOp,
        BitwiseAndFwdOp,
        BitwiseNotFwdOp,
        BitwiseOrFwdOp,
        BitwiseXorFwdOp,
        BmmFwdOp,
        CeilFwdOp,
        ClampFwdOp,
        ClampScalarFwdOp,
        CosFwdOp,
        DivFwdOp,
        EluFwdOp,
        EqFwdOp,
        ErfFwdOp,
        ExpFwdOp,
        Expm1FwdOp,
        FP8QuantFwdOp,
        FloorDivideFwdOp,
        FloorFwdOp,
        FusedAddLayerNormFwdOp,
        FusedAddRMSNormFwdOp,
        GeFwdOp,
        GeluFwdOp,
        GemmFwdOp,
        GroupedQueryAttentionDecodePagedWithKVCacheFwdOp,
        GroupedQueryAttentionDenseFwdOp,
        GtFwdOp,
        HardsigmoidFwdOp,
        HardswishFwdOp,
        HardtanhFwdOp,
        IsfiniteFwdOp,
        IsinfFwdOp,
        IsnanFwdOp,
        LayerNormFwdOp,
        LeFwdOp,
        LeakyReluFwdOp,
        LerpFwdOp,
        LerpTensorFwdOp,
        Log1pFwdOp,
        LogFwdOp,
        LogicalAndFwdOp,
        LogicalNotFwdOp,
        LogicalOrFwdOp,
        LtFwdOp,
        MaskedFillFwdOp,
        MaskedFillScalarFwdOp,
        MaximumFwdOp,
        MinimumFwdOp,
        MishFwdOp,
        MoeUnpermuteFwdOp,
        MulFwdOp,
        NanToNumFwdOp,
        NeFwdOp,
        NegFwdOp,
        PowFwdOp,
        PreluFwdOp,
        RMSNormFwdOp,
        ReciprocalFwdOp,
        ReluFwdOp,
        RemainderFwdOp,
        RoundFwdOp,
        RsqrtFwdOp,
        SeluFwdOp,
        SigmoidFwdOp,
        SignFwdOp,
        SiluFwdOp,
        SinFwdOp,
        SoftmaxFwdOp,
        SoftplusFwdOp,
        SqrtFwdOp,
        SubFwdOp,
        SumFwdOp,
        TanhFwdOp,
        TruncFwdOp,
        WhereFwdOp,
    )
    # end of operators

__version__ = "0.1.0"

__all__ = [
    "CallError",
    "ManifestError",
    "Op",
    "TargetError",
    "UnsupportedDeviceError",
    # operators: written by scripts/write_exports.py
    "AbsFwdOp",
    "AdaLayerNormFwdOp",
    "AdaLayerNormZeroFwdOp",
    "AddFwdOp",
    "AvgPool2dFwdOp",
    "BatchNormFwdOp",
    "BitwiseAndFwdOp",
    "BitwiseNotFwdOp",
    "BitwiseOrFwdOp",
    "BitwiseXorFwdOp",
    "BmmFwdOp",
    "CeilFwdOp",
    "ClampFwdOp",
    "ClampScalarFwdOp",
    "CosFwdOp",
    "DivFwdOp",
    "EluFwdOp",
    "EqFwdOp",
    "ErfFwdOp",
    "ExpFwdOp",
    "Expm1FwdOp",
    "FP8QuantFwdOp",
    "FloorDivideFwdOp",
    "FloorFwdOp",
    "FusedAddLayerNormFwdOp",
    "FusedAddRMSNormFwdOp",
    "GeFwdOp",
    "GeluFwdOp",
    "GemmFwdOp",
    "GroupedQueryAttentionDecodePagedWithKVCacheFwdOp",
    "GroupedQueryAttentionDenseFwdOp",
    "GtFwdOp",
    "HardsigmoidFwdOp",
    "HardswishFwdOp",
    "HardtanhFwdOp",
    "IsfiniteFwdOp",
    "IsinfFwdOp",
    "IsnanFwdOp",
    "LayerNormFwdOp",
    "LeFwdOp",
    "LeakyReluFwdOp",
    "LerpFwdOp",
    "LerpTensorFwdOp",
    "Log1pFwdOp",
    "LogFwdOp",
    "LogicalAndFwdOp",
    "LogicalNotFwdOp",
    "LogicalOrFwdOp",
    "LtFwdOp",
    "MaskedFillFwdOp",
    "MaskedFillScalarFwdOp",
    "MaximumFwdOp",
    "MinimumFwdOp",
    "MishFwdOp",
    "MoeUnpermuteFwdOp",
    "MulFwdOp",
    "NanToNumFwdOp",
    "NeFwdOp",
    "NegFwdOp",
    "PowFwdOp",
    "PreluFwdOp",
    "RMSNormFwdOp",
    "ReciprocalFwdOp",
    "ReluFwdOp",
    "RemainderFwdOp",
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
    "SubFwdOp",
    "SumFwdOp",
    "TanhFwdOp",
    "TruncFwdOp",
    "WhereFwdOp",
    # end of operators
]

_ELSEWHERE = {
    "Op": "op",
    "CallError": "errors",
    "ManifestError": "errors",
    "TargetError": "targets.errors",
    "UnsupportedDeviceError": "errors",
}

refuse_other_distribution()


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_ELSEWHERE.get(name, 'ops')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
