"""Probes of the row normalizations."""

from __future__ import annotations

import dataclasses
from typing import Any

from tests.conformance.expected.probes import FLOATS, Bad, Expected, Good, Probe, Shape


def _norm(
    x: Shape, n: Any = (64,), dtype: str = "float16", dtypes: dict[str, str] | None = None, **others: Shape
) -> Probe:
    return Probe({"x": x, **others}, {"normalized_shape": n}, dtype, dtypes or {})


_EPS = (-1.0, float("nan"), float("inf"))


def _eps(probe: Probe, eps: float) -> Probe:
    return dataclasses.replace(probe, params={**probe.params, "eps": eps})


def _row_norm(names: tuple[str, ...], flops: int) -> Expected:
    """RMSNorm and LayerNorm: `names` are the optional tensors of the size of a row."""
    none: dict[str, Shape] = dict.fromkeys(names)
    every: dict[str, Shape] = dict.fromkeys(names, (64,))
    good = [
        Good(
            _norm((2, 3, 64), **every),
            ((2, 3, 64),),
            "rows",
            {"N": 64},
            flops * 384,
            2 * (768 + 64 * len(names)),
        ),
        Good(
            _norm((5, 3, 43), (3, 43), "float32", **none),
            ((5, 3, 43),),
            "rows",
            {"N": 129},
            flops * 645,
            4 * 1290,
        ),
        Good(_norm((2, 32769), (32769,), "bfloat16", **none), ((2, 32769),), "long_rows", {"N": 32769}),
        Good(_norm((2, 32768), (32768,), **none), ((2, 32768),), "rows", {"N": 32768}),
    ]
    good += [Good(_norm((2, 64), **{**every, name: None}), ((2, 64),), "rows") for name in names]
    bad = [
        *(Bad("eps must be finite and not negative", _eps(_norm((2, 64), **none), e)) for e in _EPS),
        Bad("normalized_shape must name at least one axis", _norm((2, 64), (), **none)),
        Bad("sizes in normalized_shape must be positive", _norm((2, 0), (0,), **none)),
        Bad("sizes in normalized_shape must be positive", _norm((2, 4), (-2, -2), **none)),
        Bad("x must have at least 1 dimension", _norm((), **none)),
        Bad("with *normalized_shape = (64,)", _norm((2, 63), **none)),
        Bad("x must be a torch.Tensor", _norm(None, **none)),
    ]
    for name in names:
        bad.append(
            Bad(f"{name} must have shape [*normalized_shape]", _norm((2, 64), **{**none, name: (63,)}))
        )
        bad.append(Bad(f"{name} must have 1 dimension", _norm((2, 64), **{**none, name: (1, 64)})))
        bad.append(
            Bad(
                f"{name} must have the dtype of x",
                _norm((2, 64), dtypes={name: "float32"}, **{**none, name: (64,)}),
            )
        )
    return Expected(good, bad, {"x": FLOATS})


def _row(x: Shape, dtype: str = "float16", dtypes: dict[str, str] | None = None, **others: Shape) -> Probe:
    return Probe({"x": x, **others}, {}, dtype, dtypes or {})


def _fused(alike: tuple[str, ...], vectors: tuple[str, ...], outputs: int, flops: int) -> Expected:
    """Norms of one axis: tensors in the shape of x, required tensors of the size of a row, and outputs."""

    def every(shape: tuple[int, ...], dtype: str = "float16", **changed: Shape) -> Probe:
        others: dict[str, Shape] = {**dict.fromkeys(alike, shape), **dict.fromkeys(vectors, shape[-1:])}
        return _row(**{"x": shape, **others, **changed}, dtype=dtype)  # type: ignore[arg-type]

    def typed(name: str) -> Probe:
        return dataclasses.replace(every((2, 64)), dtypes={name: "float32"})

    moved = 2 * ((1 + len(alike) + outputs) * 384 + 64 * len(vectors))
    good = [
        Good(every((2, 3, 64)), ((2, 3, 64),) * outputs, "rows", {"N": 64}, flops * 384, moved),
        Good(every((129,), "float32"), ((129,),) * outputs, "rows", {"N": 129}),
        Good(every((2, 32768)), ((2, 32768),) * outputs, "rows", {"N": 32768}),
        Good(every((2, 32769)), ((2, 32769),) * outputs, "long_rows", {"N": 32769}),
    ]
    bad = [
        *(Bad("eps must be finite and not negative", _eps(every((2, 64)), e)) for e in _EPS),
        Bad("the last dimension must not be empty", every((2, 0))),
        Bad("x must have at least 1 dimension", every((2, 64), x=())),
        Bad("x must be a torch.Tensor", every((2, 64), x=None)),
    ]
    for name in alike:
        bad += [
            Bad(f"{name} must have shape [*B N]", every((2, 64), **{name: s})) for s in ((3, 64), (2, 63))
        ]
    bad += [Bad(f"{name} must have shape [N]", every((2, 64), **{name: (65,)})) for name in vectors]
    bad += [Bad(f"{name} must have 1 dimension", every((2, 64), **{name: (2, 64)})) for name in vectors]
    for name in (*alike, *vectors):
        bad.append(Bad(f"{name} must have the dtype of x", typed(name)))
        bad.append(Bad(f"{name} must be a torch.Tensor", every((2, 64), **{name: None})))
    return Expected(good, bad, {"x": FLOATS})


_STATISTICS = ("running_mean", "running_var", "weight", "bias")


def _batch(
    x: Shape = (4, 8, 6, 6),
    dtypes: dict[str, str] | None = None,
    training: bool = False,
    dtype: str = "float16",
    **others: Shape,
) -> Probe:
    inputs: dict[str, Shape] = {"x": x, **dict.fromkeys(_STATISTICS, (8,)), **others}
    types = {**dict.fromkeys(_STATISTICS, "float32"), **(dtypes or {})}
    return Probe(inputs, {"training": training}, dtype, types)


_NONE: dict[str, Shape] = dict.fromkeys(_STATISTICS)
_WRITTEN = frozenset({"running_mean", "running_var"})
_TYPES = ("float16", "float32", "float32")

BATCH_NORM = Expected(
    good=[
        Good(
            _batch(),
            ((4, 8, 6, 6), (8,), (8,)),
            flops=8 * 1152,
            bytes=2 * 2 * 1152 + 4 * 6 * 8,
            out_dtype=_TYPES,
            hidden=2,
        ),
        Good(
            _batch((4, 8), training=True),
            ((4, 8), (8,), (8,)),
            out_dtype=_TYPES,
            hidden=2,
            written=_WRITTEN,
        ),
        Good(_batch((4, 8), training=True, **_NONE), ((4, 8), (8,), (8,)), out_dtype=_TYPES, hidden=2),
        Good(_batch((1, 8)), ((1, 8), (8,), (8,)), out_dtype=_TYPES, hidden=2),
        Good(
            _batch((1, 8), dtype="bfloat16"),
            ((1, 8), (8,), (8,)),
            out_dtype=("bfloat16", *_TYPES[1:]),
            hidden=2,
        ),
        Good(_batch((1, 8), dtype="float32"), ((1, 8), (8,), (8,)), hidden=2),
    ],
    bad=[
        *(Bad("eps must be finite and not negative", _eps(_batch(), e)) for e in _EPS),
        Bad("give running_mean and running_var together", _batch(running_var=None)),
        Bad("give running_mean and running_var together", _batch(running_mean=None, training=True)),
        Bad("evaluation needs running_mean", _batch(**_NONE)),
        Bad("training needs more than one value", _batch((1, 8), training=True)),
        Bad("x must have at least 2", _batch((8,))),
        Bad("x must be a torch.Tensor", _batch(None)),
        *(Bad(f"{n} must have shape [C]", _batch(**{n: (7,)})) for n in _STATISTICS),
        *(Bad(f"{n} must have 1 dimension", _batch(**{n: (8, 1)})) for n in _STATISTICS),
        *(Bad(f"{n} must have dtype float32", _batch(dtypes={n: "float16"})) for n in _STATISTICS),
    ],
    dtypes={"x": FLOATS, **{n: {"float32"} for n in _STATISTICS}},
)

EXPECTED: dict[str, Expected] = {
    "BatchNormFwdOp": BATCH_NORM,
    "RMSNormFwdOp": _row_norm(("weight",), 4),
    "LayerNormFwdOp": _row_norm(("weight", "bias"), 8),
    "FusedAddRMSNormFwdOp": _fused(("residual",), ("weight",), 2, 5),
    "FusedAddLayerNormFwdOp": _fused(("residual",), ("weight", "bias"), 2, 9),
    "AdaLayerNormFwdOp": _fused(("scale", "shift"), (), 1, 8),
    "AdaLayerNormZeroFwdOp": _fused(("scale", "shift", "gate"), (), 1, 9),
}
