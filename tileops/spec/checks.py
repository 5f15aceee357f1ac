"""What an entry must satisfy beyond its types: names are known, expressions are in the language, cases hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tileops.spec.cases import CASE_KEYS, WORKLOAD_KEYS, CaseError, bind_case
from tileops.spec.dtypes import SlotDtype
from tileops.spec.expressions import Expression, ExpressionError
from tileops.spec.model import DTYPES, OpSpec
from tileops.spec.params import ParamType
from tileops.spec.patterns import Pattern

__all__ = ["FieldError", "check"]


class FieldError(ValueError):
    """Something is wrong with the field at `path` of an entry."""

    def __init__(self, path: tuple[str | int, ...], message: str) -> None:
        super().__init__(message)
        self.path = path


def check(spec: OpSpec) -> None:
    """Raise `FieldError` at the first thing that is wrong with an entry."""
    _check_names(spec)
    _check_params(spec)
    _check_dtypes(spec)
    _check_expressions(spec)
    _check_implementations(spec)
    _check_cases(spec)


def _check_names(spec: OpSpec) -> None:
    if not (spec.name.isidentifier() and spec.name.endswith("Op")):
        raise FieldError((), "the name of an operator is the name of its class and ends in Op")
    if not spec.outputs:
        raise FieldError(("signature", "outputs"), "an operator has at least one output")
    seen: dict[str, str] = {}
    groups = {"inputs": spec.inputs, "params": spec.params, "outputs": spec.outputs, "let": spec.let}
    for kind, names in groups.items():
        for name in names:
            if not name.isidentifier():
                raise FieldError(("signature", kind, name), "is not a name")
            if name in seen:
                raise FieldError(("signature", kind, name), f"the name is also in {seen[name]}")
            seen[name] = kind


def _check_params(spec: OpSpec) -> None:
    for name, param in spec.params.items():
        path = ("signature", "params", name)
        try:
            kind = ParamType(param.type)
        except ValueError as error:
            raise FieldError((*path, "type"), str(error)) from None
        if param.choices is not None and "str" not in kind.members:
            raise FieldError((*path, "choices"), "only a str has choices")
        if param.required:
            continue
        try:
            kind.normalize(param.default, lambda value: value in DTYPES)
        except TypeError:
            raise FieldError((*path, "default"), f"{param.default!r} is not of type {param.type}") from None
        if param.choices is not None and param.default not in param.choices:
            raise FieldError((*path, "default"), f"{param.default!r} is not one of {', '.join(param.choices)}")


def _check_dtypes(spec: OpSpec) -> None:
    slots = {**spec.inputs, **spec.outputs}
    for kind, members in (("inputs", spec.inputs), ("outputs", spec.outputs)):
        for name, member in members.items():
            path = ("signature", kind, name)
            dtype = SlotDtype.parse(member.dtype, spec.params)
            if dtype.same_as is not None and (dtype.same_as not in slots or dtype.same_as == name):
                raise FieldError((*path, "dtype"), f"same_as({dtype.same_as}) names no other slot")
            if dtype.param and "dtype" not in ParamType(spec.params[dtype.param].type).members:
                raise FieldError((*path, "dtype"), f"the param {dtype.param} is not a dtype")
    for name, member in spec.inputs.items():
        if isinstance(member.mutated, str) and spec.params.get(member.mutated, None) is None:
            raise FieldError(("signature", "inputs", name, "mutated"), f"there is no param {member.mutated!r}")
    for name, output in spec.outputs.items():
        if output.alias is not None and output.alias not in spec.inputs:
            raise FieldError(("signature", "outputs", name, "is"), f"there is no input {output.alias!r}")
    for n, row in enumerate(spec.rows):
        for slot, dtype_name in row.items():
            if slot not in slots or dtype_name not in DTYPES:
                raise FieldError(("signature", "dtype_combos", n), f"{slot}: {dtype_name} is not a slot and a dtype")


def expressions(spec: OpSpec) -> Iterator[tuple[tuple[str | int, ...], str, bool]]:
    """(path, text, whether it is a shape pattern) of everything in the entry that is evaluated."""
    for kind, members in (("inputs", spec.inputs), ("outputs", spec.outputs)):
        for name, member in members.items():
            yield ("signature", kind, name, "shape"), member.shape, True
    for name, text in spec.let.items():
        yield ("signature", "let", name), text, False
    for n, rule in enumerate(spec.rules):
        yield ("signature", "shape_rules", n, "rule"), rule.rule, False
    yield ("roofline", "flops"), spec.roofline.flops, False
    if spec.roofline.bytes is not None:
        yield ("roofline", "bytes"), spec.roofline.bytes, False
    for name, implementation in spec.implementations.items():
        for static, text in implementation.static.items():
            yield ("implementations", name, "static", static), text, False
        for n, rule in enumerate(implementation.domain):
            yield ("implementations", name, "domain", n, "rule"), rule.rule, False


def _check_expressions(spec: OpSpec) -> None:
    bound = {*spec.params, *spec.let}
    for member in spec.inputs.values():
        try:
            for branch in Pattern.parse(member.shape).branches:
                for item in branch.items:
                    bound |= item.expression.names
        except ExpressionError:
            continue  # reported below, with its field
    for path, text, is_pattern in expressions(spec):
        try:
            found = Pattern.parse(text).expressions if is_pattern else [Expression(text)]
        except ExpressionError as error:
            raise FieldError(path, str(error)) from None
        outputs_known = path[0] == "roofline"
        for expression in found:
            _check_references(spec, path, expression, bound, outputs_known)


def _check_references(
    spec: OpSpec, path: tuple[str | int, ...], expression: Expression, bound: set[str], outputs_known: bool
) -> None:
    for name in sorted(expression.names - bound):
        if name in spec.inputs or name in spec.outputs:
            raise FieldError(path, f"{expression.text!r}: {name} is a tensor; use shape, numel, dtype or given")
        raise FieldError(path, f"{expression.text!r}: unknown name {name!r}; there are {', '.join(sorted(bound))}")
    tensors = {*spec.inputs, *(spec.outputs if outputs_known else ())}
    for function, name in sorted(expression.tensors):
        if name not in tensors:
            raise FieldError(path, f"{expression.text!r}: {function}({name}): {name!r} is not a tensor that is known here")


def _check_implementations(spec: OpSpec) -> None:
    if spec.implemented != bool(spec.implementations):
        what = "has no implementation" if spec.implemented else "has implementations"
        raise FieldError(("status",), f"is {spec.status!r}, but the operator {what}")
    names = {*spec.params, *spec.let}
    for member in spec.inputs.values():
        for expression in Pattern.parse(member.shape).expressions:
            names |= expression.names
    for name, implementation in spec.implementations.items():
        for scalar in implementation.scalars:
            if scalar not in names:
                raise FieldError(("implementations", name, "scalars"), f"unknown name {scalar!r}")
        if not implementation.program.isidentifier():
            raise FieldError(("implementations", name, "program"), f"{implementation.program!r} is not a name")


def _check_cases(spec: OpSpec) -> None:
    if not spec.cases:
        raise FieldError(("cases",), "an operator has at least one case")
    for kind, cases, keys in (("cases", spec.cases, CASE_KEYS), ("workloads", spec.workloads, WORKLOAD_KEYS)):
        for n, case in enumerate(cases):
            try:
                bind_case(spec, case, keys)
            except CaseError as error:
                raise FieldError((kind, n), str(error)) from None


def broken_by(spec: OpSpec, variables: dict[str, Any]) -> str | None:
    """The message of the first rule that does not hold, or `None`."""
    for rule in spec.rules:
        if not Expression(rule.rule).evaluate(variables):
            return rule.message
    return None
