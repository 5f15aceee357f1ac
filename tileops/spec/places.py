"""Where each item of a pattern stands in a tensor's shape, as source text."""

from __future__ import annotations

from tileops.spec.expressions import Expression
from tileops.spec.model import OpSpec
from tileops.spec.patterns import Branch, Item, Pattern

__all__ = ["is_flexible", "places", "rank", "sources"]


def is_flexible(spec: OpSpec, item: Item) -> bool:
    """Whether the item is a splat whose length the pattern alone does not give."""
    return item.splat and item.name not in spec.params


def rank(spec: OpSpec, branch: Branch) -> tuple[str, bool]:
    """The number of dimensions, as source, and whether it is only the least number."""
    lengths = [_length(item) for item in branch.items if not is_flexible(spec, item)]
    return _sum(lengths), len(lengths) < len(branch.items)


def places(spec: OpSpec, slot: str, branch: Branch) -> list[tuple[Item, str]]:
    """Each item with the source of what the tensor has at its place."""
    shape, items = f"s_{slot}", list(branch.items)
    if len(items) == 1 and items[0].splat and items[0].name is not None:
        return [(items[0], shape)]
    split = next((n for n, item in enumerate(items) if is_flexible(spec, item)), len(items))
    out = []
    before: list[str] = []
    for item in items[:split]:
        out.append((item, _place(shape, item, before)))
        before.append(_length(item))
    if split == len(items):
        return out
    after = [_length(item) for item in items[split + 1 :]]
    end = _minus(_sum(after)) if after else ""
    if after and "1" not in after:  # the sum may be 0, and [:-0] is nothing
        end = f"len({shape}) {end}"
    out.append((items[split], f"{shape}[{_sum(before)}:{end}]".replace("[0:", "[:")))
    for n, item in enumerate(items[split + 1 :]):
        out.append((item, _place_from_end(shape, item, after[n:])))
    return out


def _place(shape: str, item: Item, before: list[str]) -> str:
    at = _sum(before)
    if not item.splat:
        return f"{shape}[{at}]"
    return f"{shape}[{at}:{_sum([*before, _length(item)])}]".replace("[0:", "[:")


def _place_from_end(shape: str, item: Item, rest: list[str]) -> str:
    """`rest` are the lengths of the item and of those behind it."""
    if not item.splat:
        return f"{shape}[{_minus(_sum(rest))}]"
    size = f"len({shape})"  # not [-n:]: n may be 0
    end = f"{size} {_minus(_sum(rest[1:]))}" if rest[1:] else ""
    return f"{shape}[{size} {_minus(_sum(rest))}:{end}]"


def _length(item: Item) -> str:
    return f"len(n_{item.name})" if item.splat else "1"


def _sum(parts: list[str]) -> str:
    ones = sum(part == "1" for part in parts)
    return " + ".join([*([str(ones)] if ones else []), *(part for part in parts if part != "1")]) or "0"


def _minus(total: str) -> str:
    return f"-({total})" if "+" in total else f"-{total}"


def sources(spec: OpSpec, expression: Expression) -> dict[str, str]:
    """What a user gave of what an expression reads, and the variables that hold it.

    A `let` stands for what it is computed from, unless that is a tensor; several sizes `*S` of an input stand
    for its whole shape.
    """
    found: dict[str, str] = {}
    for name in sorted(expression.names):
        let = Expression(spec.let[name]) if name in spec.let else None
        slots = [
            slot
            for slot, member in spec.inputs.items()
            for item in Pattern.parse(member.shape).branches[0].items
            if item.splat and item.name == name and name not in spec.params
        ]
        if let is not None and let.names and not let.tensors:
            found |= sources(spec, let)
        else:
            found |= {slot: f"s_{slot}" for slot in slots[:1]} or {name: f"n_{name}"}
    return found
