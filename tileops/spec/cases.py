"""Cases and workloads of an entry: sizes and params to tensor shapes, without tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tileops.spec.dtypes import SlotDtype
from tileops.spec.expressions import Expression, variables
from tileops.spec.model import OpSpec
from tileops.spec.params import ParamType
from tileops.spec.patterns import Branch, Pattern

__all__ = ["CASE_KEYS", "WORKLOAD_KEYS", "BoundCase", "CaseError", "bind_case"]

CASE_KEYS = frozenset({"absent"})
WORKLOAD_KEYS = frozenset({"absent", "label", "dtypes"})


class CaseError(ValueError):
    """A case that does not say what it must, or that breaks a rule of its operator."""


@dataclass(frozen=True)
class BoundCase:
    """A case worked out for one dtype row.

    Attributes:
        params: Every param.
        shapes: Shape of every input, `None` for an absent one.
        dtypes: dtype name of every present input and of every output.
        outputs: Shape of every output.
        names: Sizes, params and `let` names.
    """

    params: dict[str, Any]
    shapes: dict[str, tuple[int, ...] | None]
    dtypes: dict[str, str | None]
    outputs: dict[str, tuple[int, ...]]
    names: dict[str, Any]

    @property
    def variables(self) -> dict[str, Any]:
        """Variables for the entry's expressions, outputs included."""
        return dict(variables(self.names, {**self.shapes, **self.outputs}, self.dtypes))


def bind_case(
    spec: OpSpec, case: Mapping[str, Any], extra: frozenset[str] = WORKLOAD_KEYS, row: Mapping[str, str] | None = None
) -> BoundCase:
    """Shapes and dtypes of a case, for a dtype row (default: the first one that its rules allow).

    Raises:
        CaseError: A key is unknown, a size is missing, or a rule does not hold.
    """
    if row is None:
        return _first_row(spec, case, extra)
    names = _given_names(spec, case, extra)
    params = {name: names[name] for name in spec.params}
    absent = set(case.get("absent", ()))
    shapes: dict[str, tuple[int, ...] | None] = {}
    dtypes = _dtypes(spec, row, params, absent)
    _add_lets(spec, names, shapes, dtypes)
    for name, member in spec.inputs.items():
        shapes[name] = None if name in absent else _shape(member.shape, names, shapes, dtypes, name)
        _add_lets(spec, names, shapes, dtypes)
    for name in set(spec.let) - set(names):
        _evaluate(spec.let[name], names, shapes, dtypes, f"let.{name}")
    outputs = {name: _shape(o.shape, names, shapes, dtypes, name) for name, o in spec.outputs.items()}
    bound = BoundCase(params, shapes, dtypes, outputs, names)
    _check_expressions(spec, bound)
    return bound


def _first_row(spec: OpSpec, case: Mapping[str, Any], extra: frozenset[str]) -> BoundCase:
    wanted = case.get("dtypes")
    first_error: CaseError | None = None
    for row in spec.rows:
        if wanted and next(iter(row.values())) not in wanted:
            continue
        try:
            return bind_case(spec, case, extra, row)
        except CaseError as error:
            first_error = first_error or error
    raise first_error or CaseError(f"no dtype row has one of {wanted}")


def _given_names(spec: OpSpec, case: Mapping[str, Any], extra: frozenset[str]) -> dict[str, Any]:
    sizes: set[str] = set()
    for member in spec.inputs.values():
        for expression in Pattern.parse(member.shape).expressions:
            sizes |= expression.names
    known = sizes - set(spec.let) | set(spec.params) | extra
    if unknown := sorted(set(case) - known):
        raise CaseError(f"unknown key {unknown[0]!r}; there are {', '.join(sorted(known))}")
    for name in case.get("absent", ()):
        if name not in spec.inputs or not spec.inputs[name].optional:
            raise CaseError(f"absent: {name!r} is not an optional input")
    names: dict[str, Any] = {}
    for name, param in spec.params.items():
        if name not in case and param.required:
            raise CaseError(f"the param {name} is missing")
        value = case.get(name, None if param.required else param.default)
        try:
            names[name] = ParamType(param.type).normalize(value, lambda v: isinstance(v, str))
        except TypeError:
            raise CaseError(f"{name}: {value!r} is not of type {param.type}") from None
    for name in sizes - set(spec.params) - set(spec.let):
        if name in case:
            names[name] = tuple(case[name]) if isinstance(case[name], list) else case[name]
        elif splat_of_absent(spec, name, set(case.get("absent", ()))):
            names[name] = ()
    return names


def splat_of_absent(spec: OpSpec, name: str, absent: set[str]) -> bool:
    """Whether `*name` stands in the shapes of absent inputs only: then it is no sizes at all."""
    users = [slot for slot, member in spec.inputs.items() if f"*{name}" in member.shape.split()]
    return bool(users) and set(users) <= absent


def _dtypes(
    spec: OpSpec, row: Mapping[str, str], params: Mapping[str, Any], absent: set[str]
) -> dict[str, str | None]:
    slots = {name: SlotDtype.parse(m.dtype, spec.params) for name, m in {**spec.inputs, **spec.outputs}.items()}

    def resolve(name: str) -> str | None:
        slot = slots[name]
        if name in row:
            return row[name]
        if slot.param and params[slot.param] is not None:
            return str(params[slot.param])
        if slot.same_as is None:
            return None
        return resolve(slot.same_as)

    return {name: None if name in absent else resolve(name) for name in slots}


def _add_lets(spec: OpSpec, names: dict[str, Any], shapes: dict[str, Any], dtypes: dict[str, str | None]) -> None:
    """Evaluate every `let` whose names are all known by now."""
    moved = True
    while moved:
        moved = False
        for name, text in spec.let.items():
            expression = Expression(text)
            ready = expression.names <= set(names) and {t for _, t in expression.tensors} <= set(shapes)
            if name not in names and ready:
                names[name] = _evaluate(text, names, shapes, dtypes, f"let.{name}")
                moved = True


def _shape(text: str, names: Any, shapes: Any, dtypes: Any, slot: str) -> tuple[int, ...]:
    out: list[int] = []
    for item in _branch(Pattern.parse(text), names, shapes, dtypes, slot).items:
        value = _evaluate(item.expression.text, names, shapes, dtypes, slot)
        out += list(value) if item.splat else [value]
    return tuple(out)


def _branch(pattern: Pattern, names: Any, shapes: Any, dtypes: Any, slot: str) -> Branch:
    for branch in pattern.branches:
        if branch.condition is None or _evaluate(branch.condition.text, names, shapes, dtypes, slot):
            return branch
    raise AssertionError("the last branch of a pattern has no condition")


def _evaluate(text: str, names: Any, shapes: Any, dtypes: Any, where: str) -> Any:
    expression = Expression(text)
    if missing := sorted(expression.names - set(names)):
        raise CaseError(f"{where}: {text!r} needs a value for {missing[0]}")
    try:
        return expression.evaluate(dict(variables(names, shapes, dtypes)))
    except Exception as error:
        raise CaseError(f"{where}: {text!r} cannot be evaluated: {error}") from None


def _check_expressions(spec: OpSpec, bound: BoundCase) -> None:
    """Every rule holds, and everything else can be evaluated."""
    for n, rule in enumerate(spec.rules):
        if not _value(rule.rule, bound, f"shape_rules.{n}"):
            raise CaseError(f"breaks the rule {rule.rule!r}: {rule.message}")
    _value(spec.roofline.flops, bound, "roofline.flops")
    if spec.roofline.bytes is not None:
        _value(spec.roofline.bytes, bound, "roofline.bytes")
    for name, implementation in spec.implementations.items():
        for static, text in implementation.static.items():
            _value(text, bound, f"implementations.{name}.static.{static}")
        for n, rule in enumerate(implementation.domain):
            _value(rule.rule, bound, f"implementations.{name}.domain.{n}")


def _value(text: str, bound: BoundCase, where: str) -> Any:
    expression = Expression(text)
    unbound = expression.names - set(bound.names)
    try:
        return expression.evaluate({**{f"n_{name}": None for name in unbound}, **bound.variables})
    except Exception as error:
        raise CaseError(f"{where}: {text!r} cannot be evaluated: {error}") from None
