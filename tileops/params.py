"""Values of params: checked once, in the constructor or where the dispatcher calls in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from tileops.errors import CallError
from tileops.spec.model import OpSpec
from tileops.spec.params import ParamType

__all__ = ["normalize", "normalize_one"]


def normalize(spec: OpSpec, values: Iterable[Any]) -> tuple[Any, ...]:
    """The values of all params, in the order of the manifest, as calls use them.

    Raises:
        CallError: A value has another type, or is not one of the choices.
    """
    return tuple(normalize_one(spec, name, value) for name, value in zip(spec.params, values, strict=True))


def normalize_one(spec: OpSpec, name: str, value: Any) -> Any:
    """The value of one param as calls use it.

    Raises:
        CallError: It has another type, is not one of the choices, or an integer that 64 bits do not hold.
    """
    param = spec.params[name]
    try:
        stored = ParamType.parse(param.type).normalize(value, lambda v: isinstance(v, torch.dtype))
    except TypeError:
        raise CallError(
            f"{spec.name}: {name} must be {param.type}, got {value!r} of type {type(value).__name__}"
        ) from None
    if param.choices is not None and isinstance(stored, str) and stored not in param.choices:
        raise CallError(
            f"{spec.name}: {name} must be one of {', '.join(map(repr, param.choices))}, got {value!r}"
        )
    for number in stored if isinstance(stored, tuple) else (stored,):
        if isinstance(number, int) and not -(2**63) <= number < 2**63:  # what PyTorch's dispatcher passes on
            raise CallError(f"{spec.name}: {name} must fit 64 bits, got {value!r}")
    return stored
