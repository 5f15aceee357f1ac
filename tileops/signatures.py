"""Constructors and `forward` are written by hand, for readers and editors; here they meet the manifest."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from inspect import Parameter
from typing import Any

from tileops.compiled import DTYPE
from tileops.spec.model import OpSpec, Param

__all__ = ["compare_signatures", "default_value"]


def default_value(param: Param) -> Any:
    """The default of a param, as a constructor has it: a list is a tuple, a dtype is torch's."""
    if param.required:
        return Parameter.empty
    if isinstance(param.default, list):
        return tuple(param.default)
    named = isinstance(param.default, str) and "dtype" in param.type
    return DTYPE.get(param.default, param.default) if named else param.default  # a wrong name is a difference


def compare_signatures(cls: type, spec: OpSpec) -> None:
    """Raise unless the constructor and `forward`, written by hand, say what the manifest says.

    Raises:
        TypeError: Names, order, defaults or kinds differ.
    """
    params = {name: default_value(param) for name, param in spec.constructor.items()}
    params |= {"target": None, "implementation": None}
    inputs = {name: None if member.optional else Parameter.empty for name, member in spec.inputs.items()}
    numbers = {name: default_value(spec.params[name]) for name in spec.call}
    numbers |= {} if inputs else {"device": None}
    for method, tensors, keywords in (("__init__", {}, params), ("forward", inputs, numbers)):
        found = dict(list(inspect.signature(getattr(cls, method)).parameters.items())[1:])
        kinds = [Parameter.POSITIONAL_OR_KEYWORD] * len(tensors) + [Parameter.KEYWORD_ONLY] * len(keywords)
        defaults = {name: parameter.default for name, parameter in found.items()}
        same_kind = [parameter.kind for parameter in found.values()] == kinds
        if not same_kind or _typed(defaults) != _typed({**tensors, **keywords}):
            wanted = ", ".join(filter(None, [_list(tensors), "*", _list(keywords)])).removesuffix(", *")
            got = ", ".join(map(_shown, found.values()))
            raise TypeError(f"{cls.__name__}.{method} must take {wanted}, but takes {got}")


def _typed(defaults: Mapping[str, Any]) -> list[tuple[str, type, Any]]:
    """In order, and with types: 0, 0.0 and False are equal, and are not the same default."""
    return [(name, type(value), value) for name, value in defaults.items()]


def _list(defaults: Mapping[str, Any]) -> str:
    return ", ".join(name if d is Parameter.empty else f"{name}={d!r}" for name, d in defaults.items())


def _shown(parameter: Parameter) -> str:
    stars = "*" * (parameter.kind is Parameter.VAR_POSITIONAL) + "**" * (
        parameter.kind is Parameter.VAR_KEYWORD
    )
    return stars + _list({parameter.name: parameter.default})
