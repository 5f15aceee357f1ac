"""The dtype of a slot.

`float16 | bfloat16`, `same_as(x)`, a promotion such as `promote_int_to_float(x)`, and for outputs `out_dtype`
(a param) and `out_dtype or same_as(q)`.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Mapping

import msgspec

from tileops.spec.model import DTYPES, Input, OpSpec, Output

__all__ = ["PROMOTIONS", "SlotDtype", "expand_rows", "slot_dtypes"]

_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "bool")
PROMOTIONS: dict[str, dict[str, str]] = {
    "promote_int_to_float": dict.fromkeys(_INTEGERS, "float32"),
    "promote_int_to_int64": dict.fromkeys(_INTEGERS, "int64"),
    "promote_to_bool": {name: "bool" for name in DTYPES if name != "uint8"},
}
"""What each promotion makes of a dtype; others stay. As PyTorch's true division (to its default dtype, at its
default), as its sums, and as `torch.any`, which keeps uint8."""


class SlotDtype(msgspec.Struct, frozen=True):
    """What the dtype of a slot may be: one of `choices`, a slot's (`same_as`), or a param's (`param`).

    With `promotion`, one of the names in `PROMOTIONS`, it is what that makes of the dtype of `same_as`.
    """

    text: str
    choices: tuple[str, ...] = ()
    same_as: str | None = None
    param: str | None = None
    promotion: str | None = None

    @classmethod
    def parse(cls, text: str, params: Mapping[str, object]) -> SlotDtype:
        """Parse it; a name that is neither a dtype nor a param raises `ValueError`."""
        param, has_rest, rest = text.partition(" or ")
        if param.strip() in params:
            if has_rest and not _same_as(rest):
                raise ValueError(f"{text!r}: only same_as(slot) may follow 'or'")
            return cls(text, same_as=_same_as(rest), param=param.strip())
        return _parse(text)


@functools.cache
def _parse(text: str) -> SlotDtype:
    if same := _same_as(text):
        return SlotDtype(text, same_as=same)
    if promoted := re.fullmatch(rf"({'|'.join(PROMOTIONS)})\((\w+)\)", text.strip()):
        return SlotDtype(text, same_as=promoted[2], promotion=promoted[1])
    choices = tuple(word.strip() for word in text.split("|"))
    for choice in choices:
        if choice not in DTYPES:
            forms = f"a dtype, same_as(slot), {'(slot), '.join(PROMOTIONS)}(slot) or the name of a param"
            raise ValueError(f"{choice!r} is not {forms}; dtypes are {', '.join(DTYPES)}")
    if len(set(choices)) != len(choices):
        raise ValueError(f"{text!r} names a dtype twice")
    return SlotDtype(text, choices=choices)


def slot_dtypes(spec: OpSpec) -> dict[str, SlotDtype]:
    """The dtype of every input and output."""
    members: dict[str, Input | Output] = {**spec.inputs, **spec.outputs}
    return {name: SlotDtype.parse(member.dtype, spec.params) for name, member in members.items()}


def _same_as(text: str) -> str | None:
    found = re.fullmatch(r"same_as\((\w+)\)", text.strip())
    return found[1] if found else None


def expand_rows(slots: Mapping[str, SlotDtype], combos: list[dict[str, str]] | None) -> list[dict[str, str]]:
    """The supported rows: `combos`, or every combination of the slots that have choices."""
    if combos is not None:
        return combos
    own = {name: slot.choices for name, slot in slots.items() if slot.choices}
    own = dict(sorted(own.items(), key=lambda item: len(item[1]) == 1))  # cases name the first: a choice
    return [dict(zip(own, row, strict=True)) for row in itertools.product(*own.values())]
