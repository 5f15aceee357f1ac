"""Cases and workloads of an entry: sizes and params to tensor shapes, without tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tileops.spec.dtypes import PROMOTIONS, slot_dtypes
from tileops.spec.errors import CaseError, RuleBroken
from tileops.spec.expressions import Expression
from tileops.spec.model import DTYPES, OpSpec
from tileops.spec.params import ParamType
from tileops.spec.patterns import Pattern

__all__ = ["CASE_KEYS", "WORKLOAD_KEYS", "BoundCase", "CaseError", "bind_case", "bind_every_row"]

CASE_KEYS = frozenset({"absent", "channels_last"})
WORKLOAD_KEYS = CASE_KEYS | {"label", "dtypes"}


class BoundCase(msgspec.Struct, frozen=True):
    """A case worked out for one dtype row.

    Attributes:
        params: Every param.
        shapes: Shape of every input, `None` for an absent one.
        dtypes: dtype name of every input and output, `None` for an absent input.
        outputs: Shape of every output.
        channels_last: Inputs whose axis 1 is innermost in memory.
        names: Sizes, params and `let` names. A size that only absent inputs have is `None`, a splat `()`.
    """

    params: dict[str, Any]
    shapes: dict[str, tuple[int, ...] | None]
    dtypes: dict[str, str | None]
    outputs: dict[str, tuple[int, ...]]
    names: dict[str, Any]
    channels_last: frozenset[str] = frozenset()

    @property
    def variables(self) -> dict[str, Any]:
        """Variables for the entry's expressions, outputs included."""
        env = {f"n_{name}": value for name, value in self.names.items()}
        env |= {f"s_{slot}": shape for slot, shape in {**self.shapes, **self.outputs}.items()}
        return env | {f"d_{slot}": dtype for slot, dtype in self.dtypes.items()}


def bind_case(
    spec: OpSpec,
    case: Mapping[str, Any],
    extra: frozenset[str] = WORKLOAD_KEYS,
    row: Mapping[str, str] | None = None,
) -> BoundCase:
    """Shapes and dtypes of a case, for a dtype row (default: the first one that its rules allow).

    Raises:
        CaseError: A key is unknown, a size is missing, or an expression cannot be evaluated.
        RuleBroken: A rule does not hold.
    """
    names = _given_names(spec, case, extra)
    return _bind(spec, case, names, row) if row is not None else _first(_bind_rows(spec, case, names))


def bind_every_row(spec: OpSpec, case: Mapping[str, Any], extra: frozenset[str]) -> BoundCase:
    """Like `bind_case`; an expression that cannot be evaluated in any of the rows is an error, too."""
    return _first(list(_bind_rows(spec, case, _given_names(spec, case, extra))))


def _first(results: Any) -> BoundCase:
    broken: RuleBroken | None = None
    for result in results:
        if isinstance(result, BoundCase):
            return result
        broken = broken or result
    raise broken or CaseError("no dtype row has one of its dtypes")


def _bind_rows(spec: OpSpec, case: Mapping[str, Any], names: dict[str, Any]) -> Any:
    """The case in each of its dtype rows, or the rule that it breaks there."""
    wanted = _wanted_dtypes(spec, case)
    for row in spec.rows or [{}]:
        if wanted and next(iter(row.values())) not in wanted:
            continue
        try:
            yield _bind(spec, case, names, row)
        except RuleBroken as error:
            yield error


def _wanted_dtypes(spec: OpSpec, case: Mapping[str, Any]) -> list[str]:
    wanted = case.get("dtypes", [])
    served = {next(iter(row.values())) for row in spec.rows}
    if not isinstance(wanted, list) or any(dtype not in served for dtype in wanted):
        raise CaseError(f"dtypes: {wanted!r} is not a list of {', '.join(sorted(served))}")
    return wanted


def _absent(spec: OpSpec, case: Mapping[str, Any]) -> frozenset[str]:
    absent = case.get("absent", [])
    for name in absent if isinstance(absent, list) else [absent]:
        if name not in spec.inputs or not spec.inputs[name].optional:
            raise CaseError(f"absent: {name!r} is not an optional input")
    return frozenset(absent)


def _channels_last(spec: OpSpec, case: Mapping[str, Any]) -> frozenset[str]:
    found = case.get("channels_last", [])
    for name in found if isinstance(found, list) else [found]:
        if name not in spec.inputs or not spec.inputs[name].channels_last:
            raise CaseError(f"channels_last: {name!r} is not an input that may be")
    return frozenset(found)


# -------------------------------------------------------------------------------------- what the case gives
def _given_names(spec: OpSpec, case: Mapping[str, Any], extra: frozenset[str]) -> dict[str, Any]:
    sizes, splats = size_names(spec)
    known = sizes | set(spec.params) | extra
    if unknown := sorted(str(key) for key in set(case) - known):
        raise CaseError(f"unknown key {unknown[0]!r}; there are {', '.join(sorted(known))}")
    if not isinstance(case.get("label", ""), str):
        raise CaseError("label: must be text")
    names: dict[str, Any] = {name: _param(spec, name, case) for name in spec.params}
    absent = _absent(spec, case)
    for name in sizes:
        if name in case:
            names[name] = _size(name, case[name], name in splats)
        elif name in splats and _only_in(spec, name, absent):
            names[name] = ()
    return names


def size_names(spec: OpSpec) -> tuple[set[str], set[str]]:
    """Names that input patterns bind, and those of them that stand for several sizes."""
    items = [item for m in spec.inputs.values() for b in Pattern.parse(m.shape).branches for item in b.items]
    named = {name for item in items for name in item.expression.names} - set(spec.params) - set(spec.let)
    return named, {item.name for item in items if item.splat and item.name in named}


def _only_in(spec: OpSpec, splat: str, slots: frozenset[str]) -> bool:
    """Whether `*splat` stands in the shapes of these inputs only: when they are absent, it is `()`."""
    users = {slot for slot, member in spec.inputs.items() if f"*{splat}" in member.shape.split()}
    return bool(users) and users <= slots


def _param(spec: OpSpec, name: str, case: Mapping[str, Any]) -> Any:
    param = spec.params[name]
    if name not in case and param.required:
        raise CaseError(f"the param {name} is missing")
    value = case.get(name, None if param.required else param.default)
    try:
        stored = ParamType.parse(param.type).normalize(value, lambda v: v in DTYPES)
    except TypeError:
        raise CaseError(f"{name}: {value!r} is not of type {param.type}") from None
    if param.choices is not None and isinstance(stored, str) and stored not in param.choices:
        raise CaseError(f"{name}: {value!r} is not one of {', '.join(param.choices)}")
    return stored


def _size(name: str, value: Any, splat: bool) -> Any:
    sizes = value if splat and isinstance(value, list) else [value]
    if (splat and not isinstance(value, list)) or any(type(size) is not int or size < 0 for size in sizes):
        raise CaseError(f"{name}: {value!r} is not {'a list of sizes' if splat else 'a size'}")
    return tuple(value) if splat else value


# --------------------------------------------------------------------------------------------- one dtype row
def _bind(
    spec: OpSpec, case: Mapping[str, Any], values: Mapping[str, Any], row: Mapping[str, str]
) -> BoundCase:
    absent = _absent(spec, case)
    params = {name: values[name] for name in spec.params}
    for slot, param in _chosen_dtypes(spec):
        if _dtypes(spec, row, params, absent)[slot] == row[slot]:
            continue
        if param in case:
            raise RuleBroken(f"{param} = {params[param]} does not give {slot} the dtype {row[slot]}")
        params[param] = row[slot]
    dtypes = _dtypes(spec, row, params, absent)
    given = {**values, **params}
    env = {f"n_{name}": value for name, value in given.items()} | {
        f"d_{slot}": d for slot, d in dtypes.items()
    }
    env |= dict.fromkeys((f"s_{slot}" for slot in absent), None)
    state = _State(spec, env)
    state.close(set(given))
    for slot, member in spec.inputs.items():
        if slot not in absent:
            env[f"s_{slot}"] = state.shape(member.shape, slot, complete=False)
            state.close(set(given))
    names = {*given, *size_names(spec)[0]}
    env |= {f"n_{name}": None for name in names - set(given)}
    state.close(names)
    state.check_rules(names | set(spec.let))
    outputs = {slot: state.shape(output.shape, slot) for slot, output in spec.outputs.items()}
    env |= {f"s_{slot}": shape for slot, shape in outputs.items()}
    state.check_costs()
    shapes = {slot: env[f"s_{slot}"] for slot in spec.inputs}
    known = {name: env[f"n_{name}"] for name in [*names, *spec.let]}
    return BoundCase(params, shapes, dtypes, outputs, known, _channels_last(spec, case))


def _dtypes(
    spec: OpSpec, row: Mapping[str, str], params: Mapping[str, Any], absent: frozenset[str]
) -> dict[str, str | None]:
    slots = slot_dtypes(spec)

    def resolve(name: str) -> str:
        slot = slots[name]
        if slot.param and params[slot.param] is not None:
            return str(params[slot.param])
        if name in row and slot.same_as is None:
            return row[name]
        if slot.same_as is None:
            return slot.choices[0]  # the only one: others are in the row
        dtype = resolve(slot.same_as)
        return PROMOTIONS[slot.promotion].get(dtype, dtype) if slot.promotion else dtype

    return {name: None if name in absent else resolve(name) for name in slots}


def _chosen_dtypes(spec: OpSpec) -> list[tuple[str, str]]:
    """(output, param) for outputs whose dtype is a free choice: a row says which choice it is."""
    return [(name, slot.param) for name, slot in slot_dtypes(spec).items() if slot.param]


class _State:
    """Variables of a case while they become known, in the order in which generated code makes them known."""

    def __init__(self, spec: OpSpec, env: dict[str, Any]) -> None:
        self.spec, self.env = spec, env
        self.lets = {name: Expression(text) for name, text in spec.let.items()}
        self.rules = {n: Expression(rule.rule) for n, rule in enumerate(spec.rules)}

    def ready(self, expression: Expression, names: set[str]) -> bool:
        known = all(
            name in names or (name in self.spec.let and name not in self.lets) for name in expression.names
        )
        return known and all(f"s_{tensor}" in self.env for _, tensor in expression.tensors)

    def close(self, names: set[str]) -> None:
        """Evaluate every `let` that is ready; before each, the rules that are, since they may guard it."""
        while ready := next((name for name, e in self.lets.items() if self.ready(e, names)), None):
            self.check_rules(names)
            self.env[f"n_{ready}"] = self.value(self.lets[ready], f"let.{ready}")
            del self.lets[ready]

    def check_rules(self, names: set[str]) -> None:
        for n, expression in list(self.rules.items()):
            if self.ready(expression, names):
                del self.rules[n]
                if not self.value(expression, f"shape_rules.{n}"):
                    raise RuleBroken(f"breaks the rule {expression.text!r}: {self.spec.rules[n].message}")

    def check_costs(self) -> None:
        """What is not needed to bind can be evaluated too."""
        cost = self.spec.roofline
        self.value(Expression(cost.flops), "roofline.flops")
        if cost.bytes is not None:
            self.value(Expression(cost.bytes), "roofline.bytes")
        for name, implementation in self.spec.implementations.items():
            for static, text in implementation.static.items():
                self.value(Expression(text), f"implementations.{name}.static.{static}")
            for n, rule in enumerate(implementation.domain):
                self.value(Expression(rule.rule), f"implementations.{name}.domain.{n}")

    def shape(self, text: str, where: str, complete: bool = True) -> tuple[int, ...]:
        """The sizes of a pattern; until all is `complete`, a name without a value is missing."""
        branches = Pattern.parse(text).branches
        branch = next(b for b in branches if b.condition is None or self.value(b.condition, where))
        out: list[int] = []
        for item in branch.items:
            missing = sorted(n for n in item.expression.names if f"n_{n}" not in self.env)
            if missing and not complete:
                raise CaseError(f"{where}: {item.expression.text!r} needs a value for {missing[0]}")
            value = self.value(item.expression, where)
            if any(type(size) is not int or size < 0 for size in (value if item.splat else [value])):
                raise CaseError(f"{where}: {str(item)!r} is {value!r}, which is no size")
            out += value if item.splat else [value]
        return tuple(out)

    def value(self, expression: Expression, where: str) -> Any:
        try:
            return expression.evaluate(self.env)
        except Exception as error:  # noqa: BLE001 - whatever it is, the field and the reason are told
            why = f"{type(error).__name__}: {error}"
            raise CaseError(f"{where}: {expression.text!r} cannot be evaluated: {why}") from None
