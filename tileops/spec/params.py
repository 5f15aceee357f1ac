"""Types of params: what a value may be, how it is stored, and how PyTorch's schema language spells it."""

from __future__ import annotations

import functools
import numbers
import re
from collections.abc import Callable
from typing import Any, ClassVar

__all__ = ["PARAM_TYPES", "ParamType"]


class ParamType:
    """A union such as `int | tuple[int, ...] | None`."""

    _SCHEMA: ClassVar[dict[str, str]] = {
        "bool": "bool",
        "int": "SymInt",
        "float": "float",
        "str": "str",
        "dtype": "ScalarType",
        "tuple[int, ...]": "SymInt[]",
        "tuple[int | None, ...]": "SymInt[]",
    }
    _NONE: ClassVar[int] = -(2**31)  # stands for None among the integers of a schema's list
    _TEXT: ClassVar[int] = -(2**31) + 1  # begins a list that spells a string

    def __init__(self, text: str) -> None:
        self.text = text
        self.members = [member.strip() for member in re.split(r"\|(?![^\[]*\])", text)]
        for member in self.members:
            if member != "None" and member not in self._SCHEMA:
                known = ", ".join([*self._SCHEMA, "None"])
                raise ValueError(f"{member!r} is not a type of a param; there are {known}, joined with |")

    @staticmethod
    @functools.cache
    def parse(text: str) -> ParamType:
        """The type that `text` names; each text is read once."""
        return ParamType(text)

    @property
    def optional(self) -> bool:
        """Whether `None` is a value."""
        return "None" in self.members

    @property
    def schema(self) -> str:
        """The type in a `torch.library` schema. A union of `int` and `tuple` is a list there.

        One of `int` and `float`, with or without `bool`, is a number that keeps its type.
        """
        members = [m for m in self.members if m != "None"]
        if {"int", "float"} <= set(members):
            return "Scalar" + "?" * self.optional
        name = self._SCHEMA[next((m for m in members if m.startswith("tuple")), members[0])]
        return name + "?" * self.optional

    def encode(self, value: Any) -> Any:
        """A stored value as an argument of the schema: where that is a list, an integer is one of one.

        A string is a list of its characters there, after a number that says so.
        """
        if isinstance(value, tuple):
            return [self._NONE if v is None else v for v in value]
        if value is None or not self.schema.startswith("SymInt[]"):
            return value
        return [self._TEXT, *map(ord, value)] if isinstance(value, str) else [value]

    def decode(self, value: Any) -> Any:
        """An argument of the schema as a value that `normalize` takes."""
        if not isinstance(value, (list, tuple)):
            return value
        if "str" in self.members and value and value[0] == self._TEXT:
            return "".join(map(chr, value[1:]))
        if "tuple[int | None, ...]" not in self.members:
            return value
        return tuple(None if v == self._NONE else v for v in value)

    def normalize(self, value: Any, is_dtype: Callable[[Any], bool]) -> Any:
        """`value` as it is stored: lists are tuples, integers are floats where a float is asked for.

        Raises:
            TypeError: `value` is of none of the types.
        """
        if value is None and self.optional:
            return None
        for member in self.members:
            fits, stored = _fit(member, value, is_dtype)
            if fits:
                return stored
        raise TypeError(self.text)


def _fit(member: str, value: Any, is_dtype: Callable[[Any], bool]) -> tuple[bool, Any]:
    if member == "bool":
        return isinstance(value, bool), value
    if member == "int":
        return _is_int(value), _as_int(value)
    if member == "float":
        return _as_float(value)
    if member == "str":
        return isinstance(value, str), value
    if member == "dtype":
        return is_dtype(value), value
    if member == "tuple[int | None, ...]":
        fits = isinstance(value, (tuple, list)) and all(v is None or _is_int(v) for v in value)
        return fits, tuple(v if v is None else _as_int(v) for v in value) if fits else value
    if member == "tuple[int, ...]":
        fits = isinstance(value, (tuple, list)) and all(map(_is_int, value))
        return fits, tuple(map(_as_int, value)) if fits else value
    return False, value


def _as_float(value: Any) -> tuple[bool, Any]:
    if not _is_int(value):
        return isinstance(value, float), value
    try:
        return True, float(value)
    except OverflowError:  # an integer that no float is near
        return False, value


def _is_int(value: Any) -> bool:
    """An integer, also NumPy's or a symbolic one that `torch.compile` passes; never a bool or an array."""
    if isinstance(value, bool):
        return False
    return isinstance(value, numbers.Integral) or type(value).__name__ == "SymInt"


def _as_int(value: Any) -> Any:
    """Python's integer; a symbolic one stays what it is."""
    return int(value) if isinstance(value, numbers.Integral) else value


PARAM_TYPES = ParamType._SCHEMA
"""Member types and their names in a schema."""
