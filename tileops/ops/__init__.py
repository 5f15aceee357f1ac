"""The operators that people import, one module a family or group. Names load on first use.

Longer than 300 lines because a command writes the name of every operator into it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # operators: written by scripts/write_exports.py
    from tileops.ops.attention.backward import (
        GroupedQueryAttentionBwdOp,
        MultiHeadAttentionBwdOp,
    )
    from tileops.ops.attention.decode import (
        GroupedQueryAttentionDecodePagedWithKVCacheFwdOp,
        GroupedQueryAttentionDecodeWithKVCacheFwdOp,
        MultiHeadAttentionDecodePagedWithKVCacheFwdOp,
        MultiHeadAttentionDecodeWithKVCacheFwdOp,
    )
    from tileops.ops.attention.dense import (
        GroupedQueryAttentionDenseFwdOp,
    )
    from tileops.ops.attention.indexing import (
        FP8LightningIndexerFwdOp,
    )
    from tileops.ops.attention.packed import (
        GroupedQueryAttentionPrefillFwdOp,
        GroupedQueryAttentionPrefillVarlenFwdOp,
    )
    from tileops.ops.attention.paged import (
        GroupedQueryAttentionPrefillPagedWithKVCacheFwdOp,
    )
    from tileops.ops.attention.square import (
        GroupedQueryAttentionFwdOp,
        MultiHeadAttentionFwdOp,
    )
    from tileops.ops.attention.window import (
        GroupedQueryAttentionSlidingWindowFwdOp,
        GroupedQueryAttentionSlidingWindowVarlenFwdOp,
    )
    from tileops.ops.convolution import (
        Conv1dFwdOp,
        Conv2dFwdOp,
        Conv3dFwdOp,
    )
    from tileops.ops.dropout import (
        DropoutFwdOp,
    )
    from tileops.ops.elementwise.between import (
        ClampFwdOp,
        LerpFwdOp,
        LerpTensorFwdOp,
        MaximumFwdOp,
        MinimumFwdOp,
    )
    from tileops.ops.elementwise.binary import (
        AddFwdOp,
        MulFwdOp,
        PowFwdOp,
        SubFwdOp,
    )
    from tileops.ops.elementwise.comparison import (
        EqFwdOp,
        GeFwdOp,
        GtFwdOp,
        LeFwdOp,
        LtFwdOp,
        NeFwdOp,
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
    from tileops.ops.elementwise.gated import (
        GeluAndMulFwdOp,
        GeluTanhAndMulFwdOp,
        SiluAndMulFwdOp,
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
    from tileops.ops.elementwise.logic import (
        BitwiseAndFwdOp,
        BitwiseOrFwdOp,
        BitwiseXorFwdOp,
        LogicalAndFwdOp,
        LogicalOrFwdOp,
    )
    from tileops.ops.elementwise.position import (
        AlibiFwdOp,
        SinusoidalFwdOp,
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
    from tileops.ops.elementwise.quotients import (
        DivFwdOp,
        FloorDivideFwdOp,
        RemainderFwdOp,
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
    from tileops.ops.elementwise.ternary import (
        MaskedFillFwdOp,
        MaskedFillScalarFwdOp,
        PreluFwdOp,
        WhereFwdOp,
    )
    from tileops.ops.gemm.dense import (
        BmmFwdOp,
        GemmFwdOp,
    )
    from tileops.ops.gemm.float8 import (
        BmmFp8KNFwdOp,
        BmmFp8NKFwdOp,
        GemmFp8FwdOp,
    )
    from tileops.ops.gemm.four_bit import (
        GemmW4A16FwdOp,
    )
    from tileops.ops.gemm.grouped import (
        GroupedGemmFwdOp,
    )
    from tileops.ops.moe import (
        MoeUnpermuteFwdOp,
    )
    from tileops.ops.normalization.adaptive import (
        AdaLayerNormFwdOp,
        AdaLayerNormZeroFwdOp,
    )
    from tileops.ops.normalization.batch import (
        BatchNormBwdOp,
        BatchNormFwdOp,
    )
    from tileops.ops.normalization.groups import (
        GroupNormFwdOp,
        InstanceNormFwdOp,
    )
    from tileops.ops.normalization.rows import (
        FusedAddLayerNormFwdOp,
        FusedAddRMSNormFwdOp,
        LayerNormFwdOp,
        RMSNormFwdOp,
    )
    from tileops.ops.pool.adaptive import (
        AdaptiveAvgPool2dFwdOp,
        AdaptiveMaxPool2dFwdOp,
        AdaptiveMaxPool2dIndicesFwdOp,
    )
    from tileops.ops.pool.average import (
        AvgPool1dFwdOp,
        AvgPool2dFwdOp,
        AvgPool3dFwdOp,
    )
    from tileops.ops.pool.chunks import (
        MeanPoolingFwdOp,
    )
    from tileops.ops.pool.indices import (
        MaxPool1dIndicesFwdOp,
        MaxPool2dIndicesFwdOp,
        MaxPool3dIndicesFwdOp,
    )
    from tileops.ops.pool.maximum import (
        MaxPool1dFwdOp,
        MaxPool2dFwdOp,
        MaxPool3dFwdOp,
    )
    from tileops.ops.quantization import (
        FP8QuantFwdOp,
    )
    from tileops.ops.reduction.extremes import (
        AmaxFwdOp,
        AminFwdOp,
        ArgmaxFwdOp,
        ArgminFwdOp,
    )
    from tileops.ops.reduction.logic import (
        AllFwdOp,
        AnyFwdOp,
        CountNonzeroFwdOp,
    )
    from tileops.ops.reduction.moments import (
        StdFwdOp,
        VarFwdOp,
        VarMeanFwdOp,
    )
    from tileops.ops.reduction.norms import (
        InfNormFwdOp,
        L1NormFwdOp,
        L2NormFwdOp,
    )
    from tileops.ops.reduction.softmax import (
        LogSoftmaxFwdOp,
        LogSumExpFwdOp,
        SoftmaxFwdOp,
    )
    from tileops.ops.reduction.sums import (
        MeanFwdOp,
        ProdFwdOp,
        SumFwdOp,
    )
    from tileops.ops.rope.plain import (
        RopeNeoxFwdOp,
        RopeNeoxPositionIdsFwdOp,
        RopeNonNeoxFwdOp,
    )
    from tileops.ops.rope.scaled import (
        RopeLlama31FwdOp,
        RopeLongRopeFwdOp,
        RopeYarnFwdOp,
    )
    from tileops.ops.scan import (
        CumprodFwdOp,
        CumsumFwdOp,
    )
    from tileops.ops.topk import (
        TopkSelectorFwdOp,
    )
    # end of operators

__all__ = [
    # operators: written by scripts/write_exports.py
    "AbsFwdOp",
    "AdaLayerNormFwdOp",
    "AdaLayerNormZeroFwdOp",
    "AdaptiveAvgPool2dFwdOp",
    "AdaptiveMaxPool2dFwdOp",
    "AdaptiveMaxPool2dIndicesFwdOp",
    "AddFwdOp",
    "AlibiFwdOp",
    "AllFwdOp",
    "AmaxFwdOp",
    "AminFwdOp",
    "AnyFwdOp",
    "ArgmaxFwdOp",
    "ArgminFwdOp",
    "AvgPool1dFwdOp",
    "AvgPool2dFwdOp",
    "AvgPool3dFwdOp",
    "BatchNormBwdOp",
    "BatchNormFwdOp",
    "BitwiseAndFwdOp",
    "BitwiseNotFwdOp",
    "BitwiseOrFwdOp",
    "BitwiseXorFwdOp",
    "BmmFp8KNFwdOp",
    "BmmFp8NKFwdOp",
    "BmmFwdOp",
    "CeilFwdOp",
    "ClampFwdOp",
    "ClampScalarFwdOp",
    "Conv1dFwdOp",
    "Conv2dFwdOp",
    "Conv3dFwdOp",
    "CosFwdOp",
    "CountNonzeroFwdOp",
    "CumprodFwdOp",
    "CumsumFwdOp",
    "DivFwdOp",
    "DropoutFwdOp",
    "EluFwdOp",
    "EqFwdOp",
    "ErfFwdOp",
    "ExpFwdOp",
    "Expm1FwdOp",
    "FP8LightningIndexerFwdOp",
    "FP8QuantFwdOp",
    "FloorDivideFwdOp",
    "FloorFwdOp",
    "FusedAddLayerNormFwdOp",
    "FusedAddRMSNormFwdOp",
    "GeFwdOp",
    "GeluAndMulFwdOp",
    "GeluFwdOp",
    "GeluTanhAndMulFwdOp",
    "GemmFp8FwdOp",
    "GemmFwdOp",
    "GemmW4A16FwdOp",
    "GroupNormFwdOp",
    "GroupedGemmFwdOp",
    "GroupedQueryAttentionBwdOp",
    "GroupedQueryAttentionDecodePagedWithKVCacheFwdOp",
    "GroupedQueryAttentionDecodeWithKVCacheFwdOp",
    "GroupedQueryAttentionDenseFwdOp",
    "GroupedQueryAttentionFwdOp",
    "GroupedQueryAttentionPrefillFwdOp",
    "GroupedQueryAttentionPrefillPagedWithKVCacheFwdOp",
    "GroupedQueryAttentionPrefillVarlenFwdOp",
    "GroupedQueryAttentionSlidingWindowFwdOp",
    "GroupedQueryAttentionSlidingWindowVarlenFwdOp",
    "GtFwdOp",
    "HardsigmoidFwdOp",
    "HardswishFwdOp",
    "HardtanhFwdOp",
    "InfNormFwdOp",
    "InstanceNormFwdOp",
    "IsfiniteFwdOp",
    "IsinfFwdOp",
    "IsnanFwdOp",
    "L1NormFwdOp",
    "L2NormFwdOp",
    "LayerNormFwdOp",
    "LeFwdOp",
    "LeakyReluFwdOp",
    "LerpFwdOp",
    "LerpTensorFwdOp",
    "Log1pFwdOp",
    "LogFwdOp",
    "LogSoftmaxFwdOp",
    "LogSumExpFwdOp",
    "LogicalAndFwdOp",
    "LogicalNotFwdOp",
    "LogicalOrFwdOp",
    "LtFwdOp",
    "MaskedFillFwdOp",
    "MaskedFillScalarFwdOp",
    "MaxPool1dFwdOp",
    "MaxPool1dIndicesFwdOp",
    "MaxPool2dFwdOp",
    "MaxPool2dIndicesFwdOp",
    "MaxPool3dFwdOp",
    "MaxPool3dIndicesFwdOp",
    "MaximumFwdOp",
    "MeanFwdOp",
    "MeanPoolingFwdOp",
    "MinimumFwdOp",
    "MishFwdOp",
    "MoeUnpermuteFwdOp",
    "MulFwdOp",
    "MultiHeadAttentionBwdOp",
    "MultiHeadAttentionDecodePagedWithKVCacheFwdOp",
    "MultiHeadAttentionDecodeWithKVCacheFwdOp",
    "MultiHeadAttentionFwdOp",
    "NanToNumFwdOp",
    "NeFwdOp",
    "NegFwdOp",
    "PowFwdOp",
    "PreluFwdOp",
    "ProdFwdOp",
    "RMSNormFwdOp",
    "ReciprocalFwdOp",
    "ReluFwdOp",
    "RemainderFwdOp",
    "RopeLlama31FwdOp",
    "RopeLongRopeFwdOp",
    "RopeNeoxFwdOp",
    "RopeNeoxPositionIdsFwdOp",
    "RopeNonNeoxFwdOp",
    "RopeYarnFwdOp",
    "RoundFwdOp",
    "RsqrtFwdOp",
    "SeluFwdOp",
    "SigmoidFwdOp",
    "SignFwdOp",
    "SiluAndMulFwdOp",
    "SiluFwdOp",
    "SinFwdOp",
    "SinusoidalFwdOp",
    "SoftmaxFwdOp",
    "SoftplusFwdOp",
    "SqrtFwdOp",
    "StdFwdOp",
    "SubFwdOp",
    "SumFwdOp",
    "TanhFwdOp",
    "TopkSelectorFwdOp",
    "TruncFwdOp",
    "VarFwdOp",
    "VarMeanFwdOp",
    "WhereFwdOp",
    # end of operators
]

_MODULES = {
    # operators: written by scripts/write_exports.py
    "AbsFwdOp": "elementwise.signs",
    "AdaLayerNormFwdOp": "normalization.adaptive",
    "AdaLayerNormZeroFwdOp": "normalization.adaptive",
    "AdaptiveAvgPool2dFwdOp": "pool.adaptive",
    "AdaptiveMaxPool2dFwdOp": "pool.adaptive",
    "AdaptiveMaxPool2dIndicesFwdOp": "pool.adaptive",
    "AddFwdOp": "elementwise.binary",
    "AlibiFwdOp": "elementwise.position",
    "AllFwdOp": "reduction.logic",
    "AmaxFwdOp": "reduction.extremes",
    "AminFwdOp": "reduction.extremes",
    "AnyFwdOp": "reduction.logic",
    "ArgmaxFwdOp": "reduction.extremes",
    "ArgminFwdOp": "reduction.extremes",
    "AvgPool1dFwdOp": "pool.average",
    "AvgPool2dFwdOp": "pool.average",
    "AvgPool3dFwdOp": "pool.average",
    "BatchNormBwdOp": "normalization.batch",
    "BatchNormFwdOp": "normalization.batch",
    "BitwiseAndFwdOp": "elementwise.logic",
    "BitwiseNotFwdOp": "elementwise.predicates",
    "BitwiseOrFwdOp": "elementwise.logic",
    "BitwiseXorFwdOp": "elementwise.logic",
    "BmmFp8KNFwdOp": "gemm.float8",
    "BmmFp8NKFwdOp": "gemm.float8",
    "BmmFwdOp": "gemm.dense",
    "CeilFwdOp": "elementwise.rounding",
    "ClampFwdOp": "elementwise.between",
    "ClampScalarFwdOp": "elementwise.limits",
    "Conv1dFwdOp": "convolution",
    "Conv2dFwdOp": "convolution",
    "Conv3dFwdOp": "convolution",
    "CosFwdOp": "elementwise.functions",
    "CountNonzeroFwdOp": "reduction.logic",
    "CumprodFwdOp": "scan",
    "CumsumFwdOp": "scan",
    "DivFwdOp": "elementwise.quotients",
    "DropoutFwdOp": "dropout",
    "EluFwdOp": "elementwise.rectifiers",
    "EqFwdOp": "elementwise.comparison",
    "ErfFwdOp": "elementwise.functions",
    "ExpFwdOp": "elementwise.exponential",
    "Expm1FwdOp": "elementwise.exponential",
    "FP8LightningIndexerFwdOp": "attention.indexing",
    "FP8QuantFwdOp": "quantization",
    "FloorDivideFwdOp": "elementwise.quotients",
    "FloorFwdOp": "elementwise.rounding",
    "FusedAddLayerNormFwdOp": "normalization.rows",
    "FusedAddRMSNormFwdOp": "normalization.rows",
    "GeFwdOp": "elementwise.comparison",
    "GeluAndMulFwdOp": "elementwise.gated",
    "GeluFwdOp": "elementwise.smooth",
    "GeluTanhAndMulFwdOp": "elementwise.gated",
    "GemmFp8FwdOp": "gemm.float8",
    "GemmFwdOp": "gemm.dense",
    "GemmW4A16FwdOp": "gemm.four_bit",
    "GroupNormFwdOp": "normalization.groups",
    "GroupedGemmFwdOp": "gemm.grouped",
    "GroupedQueryAttentionBwdOp": "attention.backward",
    "GroupedQueryAttentionDecodePagedWithKVCacheFwdOp": "attention.decode",
    "GroupedQueryAttentionDecodeWithKVCacheFwdOp": "attention.decode",
    "GroupedQueryAttentionDenseFwdOp": "attention.dense",
    "GroupedQueryAttentionFwdOp": "attention.square",
    "GroupedQueryAttentionPrefillFwdOp": "attention.packed",
    "GroupedQueryAttentionPrefillPagedWithKVCacheFwdOp": "attention.paged",
    "GroupedQueryAttentionPrefillVarlenFwdOp": "attention.packed",
    "GroupedQueryAttentionSlidingWindowFwdOp": "attention.window",
    "GroupedQueryAttentionSlidingWindowVarlenFwdOp": "attention.window",
    "GtFwdOp": "elementwise.comparison",
    "HardsigmoidFwdOp": "elementwise.hard",
    "HardswishFwdOp": "elementwise.hard",
    "HardtanhFwdOp": "elementwise.hard",
    "InfNormFwdOp": "reduction.norms",
    "InstanceNormFwdOp": "normalization.groups",
    "IsfiniteFwdOp": "elementwise.predicates",
    "IsinfFwdOp": "elementwise.predicates",
    "IsnanFwdOp": "elementwise.predicates",
    "L1NormFwdOp": "reduction.norms",
    "L2NormFwdOp": "reduction.norms",
    "LayerNormFwdOp": "normalization.rows",
    "LeFwdOp": "elementwise.comparison",
    "LeakyReluFwdOp": "elementwise.rectifiers",
    "LerpFwdOp": "elementwise.between",
    "LerpTensorFwdOp": "elementwise.between",
    "Log1pFwdOp": "elementwise.exponential",
    "LogFwdOp": "elementwise.exponential",
    "LogSoftmaxFwdOp": "reduction.softmax",
    "LogSumExpFwdOp": "reduction.softmax",
    "LogicalAndFwdOp": "elementwise.logic",
    "LogicalNotFwdOp": "elementwise.predicates",
    "LogicalOrFwdOp": "elementwise.logic",
    "LtFwdOp": "elementwise.comparison",
    "MaskedFillFwdOp": "elementwise.ternary",
    "MaskedFillScalarFwdOp": "elementwise.ternary",
    "MaxPool1dFwdOp": "pool.maximum",
    "MaxPool1dIndicesFwdOp": "pool.indices",
    "MaxPool2dFwdOp": "pool.maximum",
    "MaxPool2dIndicesFwdOp": "pool.indices",
    "MaxPool3dFwdOp": "pool.maximum",
    "MaxPool3dIndicesFwdOp": "pool.indices",
    "MaximumFwdOp": "elementwise.between",
    "MeanFwdOp": "reduction.sums",
    "MeanPoolingFwdOp": "pool.chunks",
    "MinimumFwdOp": "elementwise.between",
    "MishFwdOp": "elementwise.smooth",
    "MoeUnpermuteFwdOp": "moe",
    "MulFwdOp": "elementwise.binary",
    "MultiHeadAttentionBwdOp": "attention.backward",
    "MultiHeadAttentionDecodePagedWithKVCacheFwdOp": "attention.decode",
    "MultiHeadAttentionDecodeWithKVCacheFwdOp": "attention.decode",
    "MultiHeadAttentionFwdOp": "attention.square",
    "NanToNumFwdOp": "elementwise.limits",
    "NeFwdOp": "elementwise.comparison",
    "NegFwdOp": "elementwise.signs",
    "PowFwdOp": "elementwise.binary",
    "PreluFwdOp": "elementwise.ternary",
    "ProdFwdOp": "reduction.sums",
    "RMSNormFwdOp": "normalization.rows",
    "ReciprocalFwdOp": "elementwise.powers",
    "ReluFwdOp": "elementwise.rectifiers",
    "RemainderFwdOp": "elementwise.quotients",
    "RopeLlama31FwdOp": "rope.scaled",
    "RopeLongRopeFwdOp": "rope.scaled",
    "RopeNeoxFwdOp": "rope.plain",
    "RopeNeoxPositionIdsFwdOp": "rope.plain",
    "RopeNonNeoxFwdOp": "rope.plain",
    "RopeYarnFwdOp": "rope.scaled",
    "RoundFwdOp": "elementwise.rounding",
    "RsqrtFwdOp": "elementwise.powers",
    "SeluFwdOp": "elementwise.rectifiers",
    "SigmoidFwdOp": "elementwise.functions",
    "SignFwdOp": "elementwise.signs",
    "SiluAndMulFwdOp": "elementwise.gated",
    "SiluFwdOp": "elementwise.smooth",
    "SinFwdOp": "elementwise.functions",
    "SinusoidalFwdOp": "elementwise.position",
    "SoftmaxFwdOp": "reduction.softmax",
    "SoftplusFwdOp": "elementwise.smooth",
    "SqrtFwdOp": "elementwise.powers",
    "StdFwdOp": "reduction.moments",
    "SubFwdOp": "elementwise.binary",
    "SumFwdOp": "reduction.sums",
    "TanhFwdOp": "elementwise.functions",
    "TopkSelectorFwdOp": "topk",
    "TruncFwdOp": "elementwise.rounding",
    "VarFwdOp": "reduction.moments",
    "VarMeanFwdOp": "reduction.moments",
    "WhereFwdOp": "elementwise.ternary",
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
