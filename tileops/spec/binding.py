"""Code that binds the sizes of a call: input patterns to assignments and comparisons.

Inputs bind in the order of the signature, required ones first. In each, names and literal sizes come before
expressions; an expression is a check when all its names are bound, and is solved when one is not and it is
linear in it. A name that only some branch or only optional inputs bind is `None` until then, and a splat of
that kind is `()` when nothing binds it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tileops.spec.expressions import Expression
from tileops.spec.model import Input, OpSpec
from tileops.spec.patterns import Branch, Item, Pattern
from tileops.spec.source import Source

__all__ = ["Binding", "BindingError", "emit_sizes"]


class BindingError(ValueError):
    """The patterns do not determine a size."""


@dataclass
class Binding:
    """Lines that check ranks, lines that bind sizes, and the names that are then bound."""

    ranks: list[str]
    sizes: list[str]
    names: list[str]


@dataclass
class _State:
    spec: OpSpec
    known: set[str]
    maybe: set[str] = field(default_factory=set)
    splats: set[str] = field(default_factory=set)
    lets: dict[str, Expression] = field(default_factory=dict)


def emit_sizes(spec: OpSpec) -> Binding:
    """The lines for one operator."""
    lets = {name: Expression(text) for name, text in spec.let.items()}
    state = _State(spec, known=set(spec.params), lets=lets)
    uncertain = _uncertain_names(spec)
    ranks, sizes = Source(), Source()
    for name in sorted(uncertain):
        sizes.line(f"n_{name} = None")
    state.maybe |= uncertain
    deferred: list[tuple[str, Item, str, Expression | None]] = []
    first: dict[str, str] = {}
    for name, member in _in_order(spec):
        pattern = Pattern.parse(member.shape)
        with _Guard(ranks, f"s_{name} is not None" if member.optional else None):
            _emit_branches(ranks, pattern, lambda out, branch, name=name: _emit_rank(out, spec, name, branch))
        if member.optional:
            _emit_deferred(sizes, state, deferred)
            deferred = []
        twin = first.get(member.shape)  # an equal shape has passed: look closer only at a different one
        different = f"s_{name} != s_{twin}" if twin else None
        given = f"s_{name} is not None" if member.optional else None
        with _Guard(sizes, " and ".join(filter(None, [given, different])) or None):
            later = _emit_input(sizes, state, name, pattern)
            if member.optional:
                _emit_deferred(sizes, state, later)
            else:
                first.setdefault(member.shape, name)
                deferred += later
        _emit_lets(sizes, state)
    _emit_deferred(sizes, state, deferred)
    for name in sorted(state.splats & state.maybe):
        sizes.line(f"if n_{name} is None: n_{name} = ()")
    state.known |= state.maybe
    _emit_lets(sizes, state)
    if state.lets:
        raise BindingError(f"{spec.name}: let {', '.join(state.lets)} cannot be evaluated")
    bound = sorted(state.known - set(spec.params) - set(spec.let))
    return Binding(str(ranks).splitlines(), str(sizes).splitlines(), bound)


def _in_order(spec: OpSpec) -> list[tuple[str, Input]]:
    required = [(n, m) for n, m in spec.inputs.items() if not m.optional]
    return required + [(n, m) for n, m in spec.inputs.items() if m.optional]


class _Guard:
    """`if condition:` around what is emitted, when there is a condition; `pass` when nothing is."""

    def __init__(self, out: Source, condition: str | None) -> None:
        self.out, self.condition = out, condition

    def __enter__(self) -> None:
        if self.condition is not None:
            self.block = self.out.block(f"if {self.condition}:")
            self.block.__enter__()

    def __exit__(self, *error: object) -> None:
        if self.condition is not None:
            self.out.line("pass")
            self.block.__exit__(None, None, None)


def _emit_branches(out: Source, pattern: Pattern, emit) -> None:  # type: ignore[no-untyped-def]
    if len(pattern.branches) == 1:
        emit(out, pattern.branches[0])
        return
    for n, branch in enumerate(pattern.branches):
        head = "else:" if branch.condition is None else f"{'if' if n == 0 else 'elif'} {branch.condition.python}:"
        with out.block(head):
            emit(out, branch)
            out.line("pass")


def _uncertain_names(spec: OpSpec) -> set[str]:
    """Names that no required input binds in every branch."""
    sure: set[str] = {*spec.params, *spec.let}
    seen: set[str] = set()
    for member in spec.inputs.values():
        branches = [{n for item in b.items for n in item.expression.names} for b in Pattern.parse(member.shape).branches]
        seen |= set().union(*branches)
        if not member.optional:
            sure |= set.intersection(*branches)
    return seen - sure


def _is_flexible(spec: OpSpec, item: Item) -> bool:
    """A splat whose length the pattern alone does not give."""
    return item.splat and item.name not in spec.params


def _emit_rank(out: Source, spec: OpSpec, name: str, branch: Branch) -> None:
    fixed = sum(not item.splat for item in branch.items)
    given = [f"len(n_{item.name})" for item in branch.items if item.splat and not _is_flexible(spec, item)]
    flexible = [item for item in branch.items if _is_flexible(spec, item)]
    want = " + ".join([str(fixed), *given])
    if len(flexible) > 1:
        raise BindingError(f"{spec.name}: {name}: two splats of unknown length in one shape")
    if not flexible:
        out.line(f"if len(s_{name}) != {want}: raise fail_rank({name!r}, s_{name}, {want}, False)")
    elif want != "0":
        out.line(f"if len(s_{name}) < {want}: raise fail_rank({name!r}, s_{name}, {want}, True)")


def _emit_input(
    out: Source, state: _State, name: str, pattern: Pattern
) -> list[tuple[str, Item, str, Expression | None]]:
    """Bind the plain items of one input; what needs more names is returned."""
    later: list[tuple[str, Item, str, Expression | None]] = []
    before = set(state.known)
    after: list[set[str]] = []

    def emit(out: Source, branch: Branch) -> None:
        state.known = set(before)
        if _all_new(state, branch):
            names = [f"n_{item.name}" for item in branch.items]
            out.line(f"{', '.join(names)}{',' * (len(names) == 1)} = s_{name}")
            state.known |= {str(item.name) for item in branch.items}
        else:
            for item, source in _places(state.spec, name, branch):
                if item.name is None and not item.expression.text.isdigit():
                    later.append((name, item, source, branch.condition))
                else:
                    _emit_item(out, state, name, item, source)
        after.append(state.known)

    _emit_branches(out, pattern, emit)
    state.known = set.intersection(*after)
    state.maybe |= set.union(*after) - state.known
    return later


def _all_new(state: _State, branch: Branch) -> bool:
    names = [item.name for item in branch.items if not item.splat]
    fresh = all(n is not None and n not in state.known | state.maybe for n in names)
    return bool(names) and fresh and len(set(names)) == len(names) == len(branch.items)


def _places(spec: OpSpec, name: str, branch: Branch) -> list[tuple[Item, str]]:
    """Each item with the source of what the tensor has at its place."""
    split = next((n for n, item in enumerate(branch.items) if _is_flexible(spec, item)), len(branch.items))
    out: list[tuple[Item, str]] = []
    start: list[str] = []
    for item in branch.items[:split]:
        out.append((item, _slice(name, item, start, [])))
        start.append(f"len(n_{item.name})" if item.splat else "1")
    ends: list[str] = []
    tail: list[tuple[Item, str]] = []
    for item in reversed(branch.items[split + 1 :]):
        if item.splat:
            end = f"len(s_{name})" + "".join(f" - {e}" for e in ends)
            tail.append((item, f"s_{name}[{end} - len(n_{item.name}):{end}]"))
            ends.append(f"len(n_{item.name})")
        else:
            ends.append("1")
            tail.append((item, f"s_{name}[{_negative(ends)}]"))
    if split < len(branch.items):
        out.append((branch.items[split], _slice(name, branch.items[split], start, ends)))
    return out + tail[::-1]


def _sum(parts: list[str]) -> str:
    ones = sum(part == "1" for part in parts)
    return " + ".join([*([str(ones)] if ones else []), *(part for part in parts if part != "1")]) or "0"


def _negative(parts: list[str]) -> str:
    return f"-({_sum(parts)})" if any(p != "1" for p in parts) else f"-{len(parts)}"


def _slice(name: str, item: Item, start: list[str], end: list[str]) -> str:
    at = _sum(start)
    if not item.splat:
        return f"s_{name}[{at}]"
    if not end and at == "0" and item.name is not None:
        return f"s_{name}"
    stop = f"len(s_{name}) - ({_sum(end)})" if end else ""
    return f"s_{name}[{at}:{stop}]"


def _emit_item(out: Source, state: _State, name: str, item: Item, source: str) -> None:
    """A name or a literal at one place of a tensor's shape."""
    text = item.expression.python
    fail = f"raise fail_size({name!r}, {str(item)!r}, {{}}, s_{name})"
    if item.splat:
        state.splats.add(str(item.name))
    if item.name is None or item.name in state.known:
        out.line(f"if {source} != {text}: {fail.format(text)}")
        return
    if item.name in state.maybe:
        out.line(f"if n_{item.name} is None: n_{item.name} = {source}")
        out.line(f"elif n_{item.name} != {source}: {fail.format(text)}")
    else:
        out.line(f"n_{item.name} = {source}")
    state.known.add(item.name)


def _emit_deferred(out: Source, state: _State, items: list[tuple[str, Item, str, Expression | None]]) -> None:
    """Expressions of input patterns: checks, or equations for one unknown size."""
    waiting = list(items)
    while waiting:
        _emit_lets(out, state)
        ready = next((w for w in waiting if not _unknown(state, w[1])), None)
        ready = ready or next((w for w in waiting if len(_unknown(state, w[1])) == 1), None)
        if ready is None:
            raise BindingError(f"{state.spec.name}: cannot tell the sizes in {waiting[0][1].expression.text!r}")
        waiting.remove(ready)
        name, item, source, condition = ready
        with _Guard(out, condition.python if condition else None):
            _emit_equation(out, state, name, item, source)


def _unknown(state: _State, item: Item) -> set[str]:
    return set(item.expression.names) - state.known


def _emit_equation(out: Source, state: _State, name: str, item: Item, source: str) -> None:
    text = item.expression.python
    unknown = _unknown(state, item)
    if unknown:
        (u,) = unknown
        guard = f"n_{u} is None" if u in state.maybe else None
        with _Guard(out, guard):
            out.line(f"n_{u} = solve({name!r}, {item.expression.text!r}, lambda n_{u}: {text}, {source}, s_{name})")
        state.known.add(u)
    value = f"tuple({text})" if item.splat else text
    got = f"tuple({source})" if item.splat else source
    out.line(f"if {got} != {value}: raise fail_size({name!r}, {str(item)!r}, {value}, s_{name})")


def _emit_lets(out: Source, state: _State) -> None:
    moved = True
    while moved:
        moved = False
        for name, expression in list(state.lets.items()):
            if expression.names <= state.known:
                out.line(f"n_{name} = {expression.python}")
                state.known.add(name)
                del state.lets[name]
                moved = True
