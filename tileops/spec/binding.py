"""Code that binds the sizes of a call: input patterns to assignments and comparisons.

Inputs bind in the order of the signature, required ones first. In each, names and literal sizes come before
expressions; an expression is a check when all its names are bound, and is solved when one is not and it is
linear in it. A name that only some branch or only optional inputs bind is `None` until then, and a splat of
that kind is `()` when nothing binds it. Before a `let` come the rules that are ready: they may guard it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from tileops.spec.errors import FieldError
from tileops.spec.expressions import Expression
from tileops.spec.model import Input, OpSpec
from tileops.spec.patterns import Branch, Item, Pattern
from tileops.spec.places import places, rank, sources
from tileops.spec.source import Source, comment

__all__ = ["Sizes", "emit_branches", "emit_params", "emit_rank", "emit_sizes"]


class Sizes(NamedTuple):
    """Lines that bind and check sizes and rules, and the names of the sizes."""

    lines: list[str]
    names: list[str]


class _Equation(NamedTuple):
    """An expression of an input's pattern: what the tensor has at its place must be its value."""

    slot: str
    item: Item
    source: str
    condition: str | None


class _State:
    """What is bound so far: for certain (`known`), or in some branches or for given inputs only (`maybe`)."""

    def __init__(self, spec: OpSpec, when: str) -> None:
        self.spec, self.when = spec, when
        self.known, self.maybe, self.splats = set(spec.params), _uncertain_names(spec), set[str]()
        self.lets = {name: Expression(text) for name, text in spec.let.items()}
        self.rules = {n: Expression(rule.rule) for n, rule in enumerate(spec.rules)}
        self.fixed = set(spec.constructor)  # an instance's params, and what follows from them alone
        while (
            more := {n for n, e in self.lets.items() if e.names <= self.fixed and not e.tensors} - self.fixed
        ):
            self.fixed |= more


def emit_sizes(spec: OpSpec, when: str = "", given: Mapping[str, list[str]] = {}) -> Sizes:
    """The lines for one operator.

    Args:
        spec: The operator.
        when: The condition under which the rules of `emit_params` are not checked yet.
        given: Further lines for optional inputs, for when they are given.

    Raises:
        FieldError: The patterns do not determine a size, or a `let` needs itself.
    """
    state, out = _State(spec, when), Source()
    for name in sorted(state.maybe):
        out.line(f"n_{name} = None")
    equations: list[_Equation] = []
    first: dict[str, str] = {}
    _emit_lets(out, state)
    for slot, member in _in_order(spec):
        if member.optional:
            _emit_equations(out, state, equations)
            _emit_lets(out, state)
            equations = []
            _emit_optional(out, state, slot, given.get(slot, []))
            continue
        twin = first.setdefault(member.shape, slot)  # when that shape has passed, an equal one passes too
        with _guard(out, f"s_{slot} != s_{twin}" if twin != slot else None):
            equations += _emit_input(out, state, slot)
        _emit_lets(out, state)
    _emit_equations(out, state, equations)
    for name in sorted(state.splats & state.maybe):
        out.line(f"if n_{name} is None: n_{name} = ()")
    state.known |= state.maybe
    _emit_lets(out, state)
    if state.lets:
        name, expression = next(iter(state.lets.items()))
        needs = ", ".join(sorted(expression.names - state.known))
        raise FieldError(("signature", "let", name), f"needs {needs}, which cannot be told without it")
    _emit_rules(out, state)
    return Sizes(out.lines, sorted(state.known - set(spec.params) - set(spec.let)))


def emit_params(spec: OpSpec) -> list[str]:
    """The lines that check the rules that speak of the constructor's params only."""
    state, out = _State(spec, ""), Source()
    state.lets = {name: expression for name, expression in state.lets.items() if name in state.fixed}
    state.rules = {n: e for n, e in state.rules.items() if e.names <= state.fixed and not e.tensors}
    _emit_lets(out, state)
    _emit_rules(out, state)
    return out.lines


def emit_rank(out: Source, spec: OpSpec, slot: str) -> None:
    """The lines that check the number of dimensions of one input."""

    def emit(branch: Branch, _: str | None) -> None:
        want, at_least = rank(spec, branch)
        wrong = "<" if at_least else "!="
        if not (at_least and want == "0"):
            out.line(
                f"if len(s_{slot}) {wrong} {want}: raise fail_rank({slot!r}, s_{slot}, {want}, {at_least})"
            )

    pattern = Pattern.parse(spec.inputs[slot].shape)
    if len({rank(spec, branch) for branch in pattern.branches}) == 1:
        emit(pattern.branches[0], None)
    else:
        emit_branches(out, pattern, emit)


def emit_branches(out: Source, pattern: Pattern, emit: Callable[[Branch, str | None], None]) -> None:
    """What `emit` emits for each branch, under the condition for it, which it also gets."""
    if len(pattern.branches) == 1:
        emit(pattern.branches[0], None)
        return
    before: list[str] = []
    for branch in pattern.branches:
        condition = branch.condition.python if branch.condition else None
        head = "else:" if condition is None else f"{'elif' if before else 'if'} {condition}:"
        with out.block(head, keep=True):
            whole = [*(f"not ({c})" for c in before), *([f"({condition})"] if condition else [])]
            emit(branch, " and ".join(whole))
        before.append(str(condition))


def _in_order(spec: OpSpec) -> list[tuple[str, Input]]:
    return sorted(spec.inputs.items(), key=lambda pair: pair[1].optional)


def _emit_optional(out: Source, state: _State, slot: str, given: list[str]) -> None:
    """What an optional input binds is bound only where it is given; no `let` and no rule waits for that."""
    known, lets, rules = set(state.known), state.lets, state.rules
    state.lets, state.rules = {}, {}
    with _guard(out, f"s_{slot} is not None"):
        out.extend(given)
        _emit_equations(out, state, _emit_input(out, state, slot))
    state.lets, state.rules = lets, rules
    state.maybe |= state.known - known
    state.known = known


@contextmanager
def _guard(out: Source, condition: str | None) -> Iterator[None]:
    """`if condition:` around what is emitted, when there is a condition."""
    if condition is None:
        yield
        return
    with out.block(f"if {condition}:"):
        yield


def _uncertain_names(spec: OpSpec) -> set[str]:
    """Names that are first met where only some branch, or an input that may be absent, binds them."""
    sure: set[str] = {*spec.params, *spec.let}
    uncertain: set[str] = set()
    for _, member in _in_order(spec):
        branches = Pattern.parse(member.shape).branches
        plain = [{item.name for item in branch.items if item.name is not None} for branch in branches]
        met = {name for branch in branches for item in branch.items for name in item.expression.names}
        always = set.intersection(*plain) if not member.optional else set()
        uncertain |= set.union(*plain) - always - sure
        sure |= always - uncertain
        if member.optional or len(branches) > 1:
            uncertain |= met - sure
    return uncertain


# ------------------------------------------------------------------------------------------------ one input
def _emit_input(out: Source, state: _State, slot: str) -> list[_Equation]:
    """Bind the plain items of one input; its expressions are returned."""
    equations: list[_Equation] = []
    before = set(state.known)
    after: list[set[str]] = []

    def emit(branch: Branch, condition: str | None) -> None:
        state.known = set(before)
        if _all_new(state, branch):
            names = [f"n_{item.name}" for item in branch.items]
            out.line(f"{', '.join(names)}{',' * (len(names) == 1)} = s_{slot}")
            state.known |= {str(item.name) for item in branch.items}
        else:
            for item, source in places(state.spec, slot, branch):
                if item.name is None and not item.expression.text.isdigit():
                    equations.append(_Equation(slot, item, source, condition))
                else:
                    _emit_item(out, state, slot, item, source)
        after.append(state.known)

    emit_branches(out, Pattern.parse(state.spec.inputs[slot].shape), emit)
    state.known = set.intersection(*after)
    state.maybe |= set.union(*after) - state.known
    return equations


def _all_new(state: _State, branch: Branch) -> bool:
    names = [item.name for item in branch.items if not item.splat]
    fresh = all(n is not None and n not in state.known | state.maybe for n in names)
    return bool(names) and fresh and len(set(names)) == len(names) == len(branch.items)


def _emit_item(out: Source, state: _State, slot: str, item: Item, source: str) -> None:
    """A name or a literal at one place of a tensor's shape."""
    text = item.expression.python
    fail = f"raise fail_size({slot!r}, {str(item)!r}, {text}, s_{slot})"
    if item.splat:
        state.splats.add(str(item.name))
    if item.name is None or item.name in state.known:
        out.line(f"if {source} != {text}: {fail}")
        return
    if item.name in state.maybe:
        out.line(f"if n_{item.name} is None: n_{item.name} = {source}")
        out.line(f"elif n_{item.name} != {source}: {fail}")
    else:
        out.line(f"n_{item.name} = {source}")
    state.known.add(item.name)


# ---------------------------------------------------------------------------- expressions, lets and rules
def _emit_equations(out: Source, state: _State, equations: list[_Equation]) -> None:
    """Checks, or equations for one unknown size."""
    waiting = list(equations)
    while waiting:
        _emit_lets(out, state)
        ready = next((e for e in waiting if not _unknown(state, e)), None)
        ready = ready or next((e for e in waiting if len(_unknown(state, e)) == 1), None)
        if ready is None:
            lost = waiting[0]
            names = " and ".join(sorted(_unknown(state, lost)))
            where = ("signature", "inputs", lost.slot, "shape")
            raise FieldError(where, f"{lost.item.expression.text!r} alone cannot tell {names}")
        waiting.remove(ready)
        known = set(state.known)
        with _guard(out, ready.condition):
            _emit_equation(out, state, ready)
        if ready.condition is not None:
            state.maybe |= state.known - known
            state.known = known


def _unknown(state: _State, equation: _Equation) -> set[str]:
    return set(equation.item.expression.names) - state.known


def _emit_equation(out: Source, state: _State, equation: _Equation) -> None:
    slot, item, source, _ = equation
    where = comment(slot, item.expression.text)
    text = item.expression.python
    for u in _unknown(state, equation):
        if item.splat or u in state.lets or u in state.spec.let:
            path = ("signature", "inputs", slot, "shape")
            raise FieldError(path, f"{str(item)!r} cannot tell {u}")
        found = f"{slot!r}, {item.expression.text!r}, lambda n_{u}: {text}, {source}, s_{slot}"
        with _guard(out, f"n_{u} is None" if u in state.maybe else None):
            out.line(f"n_{u} = solve({found}){where}")
        state.known.add(u)
    value = f"tuple({text})" if item.splat else text
    got = f"tuple({source})" if item.splat else source
    out.line(f"if {got} != {value}: raise fail_size({slot!r}, {str(item)!r}, {value}, s_{slot}){where}")


def _emit_lets(out: Source, state: _State) -> None:
    """Every `let` whose names are known, in an order in which each finds its names."""
    while ready := next((name for name, e in state.lets.items() if e.names <= state.known), None):
        _emit_rules(out, state)
        out.line(f"n_{ready} = {state.lets[ready].python}{comment(ready, state.lets[ready].text)}")
        state.known.add(ready)
        del state.lets[ready]


def _emit_rules(out: Source, state: _State) -> None:
    """Every rule whose names are known and that was not emitted yet."""
    for n, expression in list(state.rules.items()):
        if not expression.names <= state.known:
            continue
        del state.rules[n]
        on_params = expression.names <= state.fixed and not expression.tensors
        when = f"{state.when} and " if state.when and on_params else ""
        got = ", ".join(f"{name!r}: {source}" for name, source in sources(state.spec, expression).items())
        where = comment("rule", expression.text)
        out.line(f"if {when}not ({expression.python}): raise fail_rule({n}, {{{got}}}){where}")
