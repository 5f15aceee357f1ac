"""Probes of the row normalizations.

Longer than 300 lines because the probes of ten operators share their helpers.
"""

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
        Good(_norm((2, 0, 3), (0, 3), **none), ((2, 0, 3),), "rows", {"N": 0}),
    ]
    good += [Good(_norm((2, 64), **{**every, name: None}), ((2, 64),), "rows") for name in names]
    bad = [
        *(Bad("eps must be finite and not negative", _eps(_norm((2, 64), **none), e)) for e in _EPS),
        Bad("normalized_shape must name at least one axis", _norm((2, 64), (), **none)),
        Bad("sizes in normalized_shape must not be negative", _norm((2, 4), (-2, -2), **none)),
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

_WHOLE = {"columns": False, "rows": 4, "width": 64, "aligned": False}

BATCH_NORM = Expected(
    good=[
        Good(
            _batch(),
            ((4, 8, 6, 6), (8,), (8,)),
            "pieces",
            {"training": False, "columns": False, "width": 64, "aligned": False},
            flops=8 * 1152,
            bytes=2 * 2 * 1152 + 4 * 6 * 8,
            out_dtype=_TYPES,
            hidden=2,
        ),
        Good(
            _batch((4, 8), training=True),
            ((4, 8), (8,), (8,)),
            "whole",
            {"columns": True, "rows": 4, "aligned": True},
            out_dtype=_TYPES,
            hidden=2,
            written=_WRITTEN,
            run=True,
        ),
        Good(
            _batch(training=True, **_NONE),
            ((4, 8, 6, 6), (8,), (8,)),
            "whole",
            _WHOLE,
            out_dtype=_TYPES,
            hidden=2,
        ),
        Good(
            _batch((1, 8, 16384), training=True, **_NONE),
            ((1, 8, 16384), (8,), (8,)),
            "whole",
            {"width": 16384, "aligned": True},
            out_dtype=_TYPES,
            hidden=2,
        ),
        Good(
            _batch((2, 8, 8193), training=True),
            ((2, 8, 8193), (8,), (8,)),
            "pieces",
            {"training": True, "columns": False, "width": 8192, "aligned": False},
            out_dtype=_TYPES,
            hidden=2,
            written=_WRITTEN,
        ),
        Good(
            _batch((257, 8), training=True),
            ((257, 8), (8,), (8,)),
            "pieces",
            {"columns": True, "width": 1, "aligned": True},
            out_dtype=_TYPES,
            hidden=2,
            written=_WRITTEN,
            run=True,
        ),
        Good(
            _batch((256, 8), training=True),
            ((256, 8), (8,), (8,)),
            "whole",
            {"rows": 256},
            out_dtype=_TYPES,
            hidden=2,
            written=_WRITTEN,
        ),
        Good(
            _batch((2, 0, 4), training=True, **_NONE),
            ((2, 0, 4), (0,), (0,)),
            "whole",
            out_dtype=_TYPES,
            hidden=2,
        ),
        Good(
            _batch((1, 8)),
            ((1, 8), (8,), (8,)),
            "pieces",
            {"columns": True, "aligned": True},
            out_dtype=_TYPES,
            hidden=2,
        ),
        Good(
            _batch((1, 8), dtype="bfloat16"),
            ((1, 8), (8,), (8,)),
            out_dtype=("bfloat16", *_TYPES[1:]),
            hidden=2,
            implementation="pieces",
        ),
        Good(_batch((1, 8), dtype="float32"), ((1, 8), (8,), (8,)), "pieces", hidden=2),
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
    made={"running_var": (1, 4)},
)

_SAVED = ("weight", "mean", "rstd")


def _gradient(
    x: Shape = (4, 8, 6, 6),
    training: bool = True,
    dtypes: dict[str, str] | None = None,
    **others: Shape,
) -> Probe:
    inputs: dict[str, Shape] = {"grad_out": x, "x": x, **dict.fromkeys(_SAVED, (8,)), **others}
    types = {**dict.fromkeys(_SAVED, "float32"), **(dtypes or {})}
    return Probe(inputs, {"training": training}, "float16", types)


def _gradients(x: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    return x, (8,), (8,)


BATCH_NORM_BWD = Expected(
    good=[
        Good(
            _gradient(),
            _gradients((4, 8, 6, 6)),
            "whole",
            {**_WHOLE, "training": True},
            flops=11 * 1152,
            bytes=2 * 3 * 1152 + 4 * 5 * 8,
            out_dtype=_TYPES,
        ),
        Good(
            _gradient((256, 8), training=False),
            _gradients((256, 8)),
            "whole",
            {"columns": True, "rows": 256, "aligned": True, "training": False},
            out_dtype=_TYPES,
            run=True,
        ),
        Good(
            _gradient((1, 8, 16384)), _gradients((1, 8, 16384)), "whole", {"aligned": True}, out_dtype=_TYPES
        ),
        Good(
            _gradient((257, 8), weight=None),
            _gradients((257, 8)),
            "pieces",
            {"columns": True, "width": 1, "aligned": True, "training": True},
            out_dtype=_TYPES,
            run=True,
        ),
        Good(
            _gradient((2, 8, 8193), training=False),
            _gradients((2, 8, 8193)),
            "pieces",
            {"columns": False, "width": 8192, "aligned": False, "training": False},
            out_dtype=_TYPES,
        ),
        *(
            Good(
                dataclasses.replace(_gradient((2, 8)), dtype=d),
                _gradients((2, 8)),
                "whole",
                out_dtype=(d, *_TYPES[1:]),
            )
            for d in ("bfloat16", "float32")
        ),
    ],
    bad=[
        Bad("x must have shape [N C *S]", _gradient(x=(4, 8, 6, 6), grad_out=(3, 8, 6, 6))),
        Bad("x must have shape [N C *S]", _gradient(x=(4, 8, 6, 6), grad_out=(4, 8, 6))),
        Bad("x must have the dtype of grad_out", _gradient(dtypes={"x": "float32"})),
        Bad("grad_out must have at least 2", _gradient((8,))),
        Bad("grad_out must be a torch.Tensor", _gradient(grad_out=None)),
        Bad(
            "x must be a torch.Tensor",
            dataclasses.replace(_gradient(), inputs={**_gradient().inputs, "x": None}),
        ),
        *(Bad("mean and rstd of the forward are needed", _gradient(**{n: None})) for n in ("mean", "rstd")),
        *(Bad(f"{n} must have shape [C]", _gradient(**{n: (7,)})) for n in _SAVED),
        *(Bad(f"{n} must have 1 dimension", _gradient(**{n: (8, 1)})) for n in _SAVED),
        *(Bad(f"{n} must have dtype float32", _gradient(dtypes={n: "float16"})) for n in _SAVED),
    ],
    dtypes={"grad_out": FLOATS, **{n: {"float32"} for n in _SAVED}},
)

_AFFINE = ("weight", "bias")


def _group(
    x: Shape = (2, 16, 4, 8), groups: int = 4, dtypes: dict[str, str] | None = None, **others: Shape
) -> Probe:
    channels = x[1:2] if x is not None else (16,)
    return Probe(
        {"x": x, **dict.fromkeys(_AFFINE, channels), **others},
        {"num_groups": groups},
        "float16",
        dtypes or {},
    )


GROUP_NORM = Expected(
    good=[
        Good(
            _group(),
            ((2, 16, 4, 8),),
            "whole",
            {"width": 128, "aligned": True, "single": False, "even": True},
            flops=8 * 1024,
            bytes=2 * (2 * 1024 + 32),
        ),
        Good(
            _group((3, 6, 7, 7), 2, bias=None),
            ((3, 6, 7, 7),),
            "whole",
            {"width": 256, "aligned": False, "single": False, "even": False},
            run=True,
        ),
        Good(_group((2, 4), 4, weight=None), ((2, 4),), "whole", {"width": 1, "single": True}),
        Good(_group((1, 4, 4096), 1), ((1, 4, 4096),), "whole", {"width": 16384}),
        Good(
            _group((1, 4, 8193), 2),
            ((1, 4, 8193),),
            "pieces",
            {"width": 8192, "aligned": False, "single": False, "even": False},
            run=True,
        ),
        Good(
            _group((1, 2, 16392), 2),
            ((1, 2, 16392),),
            "pieces",
            {"aligned": True, "single": True, "even": True},
        ),
    ],
    bad=[
        *(Bad("eps must be finite and not negative", _eps(_group(), e)) for e in _EPS),
        Bad("num_groups must be positive", _group(groups=0)),
        Bad("num_groups must be positive", _group(groups=-4)),
        Bad("num_groups must divide the channels", _group(groups=3)),
        Bad("there must be more than one value", _group((1, 4), 4)),
        Bad("x must have at least 2", _group((8,), weight=(8,), bias=(8,))),
        Bad("x must be a torch.Tensor", _group(None)),
        *(Bad(f"{n} must have shape [C]", _group(**{n: (7,)})) for n in _AFFINE),
        *(Bad(f"{n} must have 1 dimension", _group(**{n: (16, 1)})) for n in _AFFINE),
        *(Bad(f"{n} must have the dtype of x", _group(dtypes={n: "float32"})) for n in _AFFINE),
    ],
    dtypes={"x": FLOATS},
)

_RUNNING = ("running_mean", "running_var")


def _instance(
    x: Shape = (2, 8, 4, 8),
    dtypes: dict[str, str] | None = None,
    use_input_stats: bool = True,
    dtype: str = "float16",
    **others: Shape,
) -> Probe:
    inputs: dict[str, Shape] = {"x": x, **dict.fromkeys((*_RUNNING, *_AFFINE), (8,)), **others}
    types = {**dict.fromkeys(_RUNNING, "float32"), **(dtypes or {})}
    return Probe(inputs, {"use_input_stats": use_input_stats}, dtype, types)


_NOT_RUNNING: dict[str, Shape] = dict.fromkeys(_RUNNING)

INSTANCE_NORM = Expected(
    good=[
        Good(
            _instance(),
            ((2, 8, 4, 8),),
            "whole",
            {"width": 32, "aligned": True},
            flops=8 * 512,
            bytes=2 * (2 * 512 + 16) + 4 * 16,
            written=_WRITTEN,
        ),
        Good(
            _instance((2, 8, 49), use_input_stats=False),
            ((2, 8, 49),),
            "pieces",
            {"training": False, "width": 64, "aligned": False},
            run=True,
        ),
        Good(_instance((2, 8), use_input_stats=False, weight=None), ((2, 8),), "pieces", {"width": 1}),
        Good(
            _instance((2, 8, 8200), use_input_stats=False),
            ((2, 8, 8200),),
            "pieces",
            {"width": 8192, "aligned": True},
        ),
        Good(
            _instance((1, 8, 16384), bias=None), ((1, 8, 16384),), "whole", {"width": 16384}, written=_WRITTEN
        ),
        Good(_instance((1, 8, 49), **_NOT_RUNNING), ((1, 8, 49),), "whole", {"width": 64, "aligned": False}),
        Good(
            _instance((1, 8, 16385)),
            ((1, 8, 16385),),
            "pieces",
            {"training": True, "width": 8192, "aligned": False},
            written=_WRITTEN,
            run=True,
        ),
        Good(_instance((1, 8, 16392)), ((1, 8, 16392),), "pieces", {"aligned": True}, written=_WRITTEN),
        *(
            Good(_instance((2, 8), use_input_stats=False, dtype=d), ((2, 8),), "pieces", out_dtype=d)
            for d in ("bfloat16", "float32")
        ),
    ],
    bad=[
        *(Bad("eps must be finite and not negative", _eps(_instance(), e)) for e in _EPS),
        Bad("give running_mean and running_var together", _instance(running_var=None)),
        Bad("give running_mean and running_var together", _instance(running_mean=None)),
        Bad("without use_input_stats, running_mean", _instance(use_input_stats=False, **_NOT_RUNNING)),
        Bad("use_input_stats needs more than one value", _instance((2, 8))),
        Bad("use_input_stats needs more than one value", _instance((2, 8, 1))),
        Bad("x must have at least 2", _instance((8,))),
        Bad("x must be a torch.Tensor", _instance(None)),
        *(Bad(f"{n} must have shape [C]", _instance(**{n: (7,)})) for n in (*_RUNNING, *_AFFINE)),
        *(Bad(f"{n} must have 1 dimension", _instance(**{n: (8, 1)})) for n in (*_RUNNING, *_AFFINE)),
        *(Bad(f"{n} must have the dtype of x", _instance(dtypes={n: "float32"})) for n in _AFFINE),
        *(Bad(f"{n} must have dtype float32", _instance(dtypes={n: "float16"})) for n in _RUNNING),
    ],
    dtypes={"x": FLOATS, **{n: {"float32"} for n in _RUNNING}},
    made={"running_var": (1, 4)},
)

EXPECTED: dict[str, Expected] = {
    "BatchNormFwdOp": BATCH_NORM,
    "BatchNormBwdOp": BATCH_NORM_BWD,
    "GroupNormFwdOp": GROUP_NORM,
    "InstanceNormFwdOp": INSTANCE_NORM,
    "RMSNormFwdOp": _row_norm(("weight",), 4),
    "LayerNormFwdOp": _row_norm(("weight", "bias"), 8),
    "FusedAddRMSNormFwdOp": _fused(("residual",), ("weight",), 2, 5),
    "FusedAddLayerNormFwdOp": _fused(("residual",), ("weight", "bias"), 2, 9),
    "AdaLayerNormFwdOp": _fused(("scale", "shift"), (), 1, 8),
    "AdaLayerNormZeroFwdOp": _fused(("scale", "shift", "gate"), (), 1, 9),
}
