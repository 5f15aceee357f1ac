"""What an entry must satisfy beyond its types: names, params, dtypes, expressions, implementations, cases."""

from __future__ import annotations

import keyword
import re

from tileops.spec.binding import emit_sizes
from tileops.spec.cases import CASE_KEYS, WORKLOAD_KEYS, bind_case, bind_every_row, size_names
from tileops.spec.dtypes import SlotDtype, slot_dtypes
from tileops.spec.errors import CaseError, FieldError
from tileops.spec.expressions import Expression
from tileops.spec.model import DTYPES, Input, OpSpec
from tileops.spec.params import ParamType
from tileops.spec.references import check_references, speaks_of_dtypes

__all__ = ["check"]

_RESERVED = {
    "inputs": {"self", "device"},
    "params": {"self", "device", "target", "implementation"},
    "call": {"self", "device", "target", "implementation"},
    "static": {"op", "implementation", "target", "dtypes", "static", "dtype", "given"},
}
"""Names that the constructor, `forward` and a kernel's key use themselves."""


def check(spec: OpSpec) -> None:
    """Raise `FieldError` at the first thing that is wrong with an entry."""
    _check_names(spec)
    _check_params(spec)
    _check_dtypes(spec)
    _check_combos(spec)
    _check_backward(spec)
    check_references(spec)
    emit_sizes(spec)
    _check_implementations(spec)
    _check_cases(spec)


# ---------------------------------------------------------------------------------------- names and params
def _check_names(spec: OpSpec) -> None:
    if not (_is_name(spec.name) and spec.name.endswith("Op")):
        raise FieldError((), "the name of an operator is the name of its class and ends in Op")
    if spec.ref_api is not None and not re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", spec.ref_api):
        raise FieldError(("ref_api",), f"{spec.ref_api!r} is not a dotted name")
    if not spec.outputs:
        raise FieldError(("signature", "outputs"), "an operator has at least one output")
    seen: dict[str, str] = {}
    groups = {
        "inputs": [*spec.inputs],
        "params": [*spec.constructor],
        "call": [*spec.call],
        "outputs": [*spec.outputs],
        "let": [*spec.let],
    }
    for kind, names in groups.items():
        for name in names:
            path = ("signature", kind, name)
            if not _is_name(name) or name in _RESERVED.get(kind, ()):
                raise FieldError(path, f"{name!r} cannot be a name here")
            if name in seen:
                raise FieldError(path, f"the name is also in {seen[name]}")
            seen[name] = kind
    optional: str | None = None
    for name, member in spec.inputs.items():
        if optional is not None and not member.optional:
            raise FieldError(
                ("signature", "inputs", name), f"is required, but {optional} before it is optional"
            )
        optional = name if member.optional else optional


def _is_name(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)


def _check_params(spec: OpSpec) -> None:
    for name, param in spec.params.items():
        path = ("signature", "call" if name in spec.call else "params", name)
        try:
            kind = ParamType.parse(param.type)
        except ValueError as error:
            raise FieldError((*path, "type"), str(error)) from None
        if name in spec.call and not {"int", "float", "None"}.issuperset(kind.members):
            raise FieldError((*path, "type"), "what a call takes beside tensors is an int or a float")
        if param.choices is not None and "str" not in kind.members:
            raise FieldError((*path, "choices"), "only a str has choices")
        if param.required:
            continue
        try:
            default = kind.normalize(param.default, lambda value: value in DTYPES)
        except TypeError:
            raise FieldError((*path, "default"), _wrong_default(param.default, kind)) from None
        if param.choices is not None and isinstance(default, str) and default not in param.choices:
            raise FieldError(
                (*path, "default"), f"{param.default!r} is not one of {', '.join(param.choices)}"
            )


def _wrong_default(value: object, kind: ParamType) -> str:
    message = f"{value!r} is not of type {kind.text}"
    if not isinstance(value, str) or "float" not in kind.members:
        return message
    try:
        number = float(value)
    except ValueError:
        return message
    yaml = {float("inf"): ".inf", float("-inf"): "-.inf"}.get(number, f"{float(value):.1e}")
    return f"{message}; YAML reads {value} as text, write {yaml}"


# -------------------------------------------------------------------------------------------------- dtypes
def _check_dtypes(spec: OpSpec) -> None:
    slots = slot_dtypes(spec)
    for name, slot in slots.items():
        path = ("signature", "inputs" if name in spec.inputs else "outputs", name, "dtype")
        if slot.same_as is not None:
            _check_same_as(spec, slots, name, path)
        if slot.param and "dtype" not in ParamType.parse(spec.params[slot.param].type).members:
            raise FieldError(path, f"the param {slot.param} is not a dtype")
        if slot.param and not slot.same_as and ParamType.parse(spec.params[slot.param].type).optional:
            raise FieldError(path, f"{slot.param} may be None; write '{slot.param} or same_as(slot)'")
        if name in spec.outputs and len(slot.choices) > 1:
            raise FieldError(path, "the dtype of an output is one dtype, a slot's or a param's")
        if name in spec.inputs and slot.param:
            raise FieldError(path, "the dtype of an input is read from the tensor, it cannot be a param's")
    for name, member in spec.inputs.items():
        _check_mutated(spec, name, member)
    for name, output in spec.outputs.items():
        alias = spec.inputs.get(output.alias or "")
        if output.layout_of is not None and not getattr(
            spec.inputs.get(output.layout_of), "channels_last", False
        ):
            raise FieldError(
                ("signature", "outputs", name, "layout_of"),
                f"there is no input {output.layout_of!r} that may be channels-last",
            )
        if output.alias is not None and (alias is None or not alias.mutated):
            raise FieldError(
                ("signature", "outputs", name, "is"), f"there is no mutated input {output.alias!r}"
            )


def _check_same_as(spec: OpSpec, slots: dict[str, SlotDtype], name: str, path: tuple[str | int, ...]) -> None:
    met, at = [name], slots[name].same_as
    while at is not None:
        if at not in slots:
            raise FieldError(path, f"same_as({at}): there is no slot {at!r}; there are {', '.join(slots)}")
        if at in met:
            raise FieldError(path, f"same_as goes round in a circle: {' -> '.join([*met, at])}")
        if at in spec.inputs and spec.inputs[at].optional:
            raise FieldError(path, f"same_as({at}): {at} is optional; name a slot that is always there")
        met.append(at)
        at = slots[at].same_as


def _check_mutated(spec: OpSpec, name: str, member: Input) -> None:
    if not isinstance(member.mutated, str):
        return
    param = spec.params.get(member.mutated)
    if param is None or param.type != "bool" or member.mutated in spec.call:
        raise FieldError(
            ("signature", "inputs", name, "mutated"), f"there is no bool param {member.mutated!r}"
        )


def _check_combos(spec: OpSpec) -> None:
    """Rows that are written out name every slot whose dtype is a choice, and only supported dtypes."""
    slots = slot_dtypes(spec)
    free = {name for name, slot in slots.items() if len(slot.choices) > 1 or slot.param}
    if not spec.rows:
        raise FieldError(("signature", "dtype_combos"), "there must be a row")
    for n, row in enumerate(spec.rows):
        path = ("signature", "dtype_combos", n)
        for slot, dtype in row.items():
            if slot not in slots or (slots[slot].same_as and not slots[slot].param):
                raise FieldError(path, f"{slot!r} is not a slot with a dtype of its own")
            if dtype not in DTYPES:
                raise FieldError(path, f"{slot}: {dtype!r} is not a dtype; there are {', '.join(DTYPES)}")
            if slots[slot].choices and dtype not in slots[slot].choices:
                raise FieldError(path, f"{slot}: {dtype} is not in {slots[slot].text!r}")
        if missing := sorted(free - set(row)):
            raise FieldError(path, f"says nothing about {missing[0]}, whose dtype is a free choice")
        if row in spec.rows[:n]:
            raise FieldError(path, "is there twice")


# ---------------------------------------------------------------------------------- implementations, cases
def _check_implementations(spec: OpSpec) -> None:
    if spec.implemented != bool(spec.implementations):
        what = "has no implementation" if spec.implemented else "has implementations"
        raise FieldError(("status",), f"is {spec.status!r}, but the operator {what}")
    names = {*spec.params, *spec.let, *size_names(spec)[0]}
    for name, implementation in spec.implementations.items():
        path = ("implementations", name)
        for scalar in implementation.scalars:
            if scalar not in names:
                raise FieldError(
                    (*path, "scalars"), f"unknown name {scalar!r}; there are {', '.join(sorted(names))}"
                )
        for static in implementation.static:
            if not _is_name(static) or static in _RESERVED["static"]:
                raise FieldError((*path, "static", static), f"{static!r} cannot be a name here")
        for slot in implementation.channels_last:
            if not getattr(spec.inputs.get(slot), "channels_last", False):
                raise FieldError(
                    (*path, "channels_last"), f"there is no input {slot!r} that may be channels-last"
                )
        chosen = [*implementation.static.values(), *(rule.rule for rule in implementation.domain)]
        if found := sorted({n for text in chosen for n in Expression(text).names} & _varying(spec)):
            raise FieldError(path, f"no kernel may depend on {found[0]}, which each call says anew")
        if not _is_name(implementation.program):
            raise FieldError((*path, "program"), f"{implementation.program!r} is not a name")
        if not implementation.targets:
            raise FieldError((*path, "targets"), "an implementation runs on at least one target")


def _check_backward(spec: OpSpec) -> None:
    if spec.backward is None:
        return
    kinds = (
        ("gradients", spec.backward.gradients, spec.outputs),
        ("gives", spec.backward.gives, spec.inputs),
    )
    for kind, names, slots in kinds:
        for name, slot in names.items():
            if slot not in slots:
                what = "output" if kind == "gradients" else "input"
                raise FieldError(("backward", kind, name), f"there is no {what} {slot!r}")


def _varying(spec: OpSpec) -> set[str]:
    """Numbers of the call, and what is derived from them."""
    found = set(spec.call)
    while more := {n for n, text in spec.let.items() if Expression(text).names & found} - found:
        found |= more
    return found


def _check_cases(spec: OpSpec) -> None:
    if not spec.cases:
        raise FieldError(("cases",), "an operator has at least one case")
    bind = bind_every_row if speaks_of_dtypes(spec) else bind_case
    for kind, cases, keys in (("cases", spec.cases, CASE_KEYS), ("workloads", spec.workloads, WORKLOAD_KEYS)):
        for n, case in enumerate(cases):
            try:
                bind(spec, case, keys)
            except CaseError as error:
                raise FieldError((kind, n), str(error)) from None
