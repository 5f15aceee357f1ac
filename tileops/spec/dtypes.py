"""The dtype of a slot: `float16 | bfloat16`, `same_as(x)`, `out_dtype`, `out_dtype or same_as(q)`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass

from tileops.spec.model import DTYPES

__all__ = ["SlotDtype", "expand_rows"]


@dataclass(frozen=True)
class SlotDtype:
    """What the dtype of a slot may be: one of `choices`, a slot's (`same_as`), or a param's (`param`)."""

    text: str
    choices: tuple[str, ...] = ()
    same_as: str | None = None
    param: str | None = None

    @classmethod
    def parse(cls, text: str, params: Mapping[str, object]) -> SlotDtype:
        """Parse it; a name that is neither a dtype nor a param raises `ValueError`."""
        param, _, rest = text.partition(" or ") if " or " in text else (text, "", "")
        if param in params:
            return cls(text, same_as=_same_as(rest), param=param)
        if same := _same_as(text):
            return cls(text, same_as=same)
        choices = tuple(word.strip() for word in text.split("|"))
        for choice in choices:
            if choice not in DTYPES:
                raise ValueError(f"{choice!r} is not a dtype, same_as(slot) or the name of a param; there are {', '.join(DTYPES)}")
        return cls(text, choices=choices)


def _same_as(text: str) -> str | None:
    found = re.fullmatch(r"same_as\((\w+)\)", text.strip())
    return found[1] if found else None


def expand_rows(slots: Mapping[str, SlotDtype], combos: list[dict[str, str]] | None) -> list[dict[str, str]]:
    """The supported rows: `combos`, or every combination of the slots that have choices."""
    if combos is not None:
        return combos
    own = {name: slot.choices for name, slot in slots.items() if slot.choices}
    return [dict(zip(own, row, strict=True)) for row in itertools.product(*own.values())]
