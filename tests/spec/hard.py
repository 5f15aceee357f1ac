"""The hard entries of `data/hard.yaml` and those of the manifest, with their generated functions."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tileops.compiled import DTYPE, Compiled, compile_functions
from tileops.spec import BoundCase, OpSpec, all_specs, read_file

HARD = read_file(Path(__file__).with_name("data") / "hard.yaml")
SPECS = {**{f"{spec.family}.{name}": spec for name, spec in all_specs().items()}}
SPECS |= {f"hard.{name}": spec for name, spec in HARD.items()}


@functools.cache
def functions(key: str) -> Compiled:
    return compile_functions(SPECS[key])


def values(spec: OpSpec, params: Mapping[str, Any]) -> list[Any]:
    """Every param as the generated code takes it: defaults filled in, dtypes of torch."""
    out = []
    for name, param in spec.params.items():
        value = params.get(name, param.default)
        value = tuple(value) if isinstance(value, list) else value
        out.append(DTYPE[value] if "dtype" in param.type and isinstance(value, str) else value)
    return out


def meta(shape: Any, dtype: str | None) -> Tensor | None:
    return None if shape is None else torch.empty(shape, dtype=DTYPE[str(dtype)], device="meta")


def arguments(spec: OpSpec, case: BoundCase) -> list[Any]:
    """Tensors and params of a bound case; for an operator without tensors, the device."""
    tensors: list[Any] = [meta(shape, case.dtypes[slot]) for slot, shape in case.shapes.items()]
    return [*(tensors if spec.inputs else [torch.device("meta")]), *values(spec, case.params)]


def shapes_of(
    key: str, tensors: list[Any], params: Mapping[str, Any] = {}
) -> list[tuple[tuple[int, ...], torch.dtype]]:
    """Shapes and dtypes of the outputs that the generated code gives."""
    _, outputs = functions(key).outputs(*tensors, *values(SPECS[key], params))
    return [(tuple(shape), dtype) for shape, dtype, *_ in outputs]
