"""Every expression of an entry is in the language and speaks of nothing but what the operator declares."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tileops.spec.cases import size_names
from tileops.spec.errors import FieldError
from tileops.spec.expressions import Expression, ExpressionError
from tileops.spec.model import OpSpec
from tileops.spec.params import ParamType
from tileops.spec.patterns import Item, Pattern
from tileops.spec.places import is_flexible

__all__ = ["VALUES", "check_references", "expressions", "maker"]

VALUES = {"range": 2, "columns": 2, "offsets": 1, "pages": 3, "room": 2, "grown_pages": 4}
"""What an index tensor may be said to hold, and how many arguments that takes."""

_Path = tuple[str | int, ...]


def expressions(spec: OpSpec) -> Iterator[tuple[_Path, str, bool]]:
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


def speaks_of_dtypes(spec: OpSpec) -> bool:
    """Whether what an expression says may differ between dtype rows."""
    found = (e for path, text, is_pattern in expressions(spec) for e in _parse(path, text, is_pattern))
    return any(function == "dtype" for expression in found for function, _ in expression.tensors)


def maker(text: str) -> tuple[str, list[Expression]]:
    """Name and arguments of an input's `make`, such as `lengths(0, N_pages * page_size)`.

    Raises:
        ExpressionError: It is not a call, or an argument is not in the language.
    """
    try:
        call = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise ExpressionError(f"{text!r} is not a call: {error.msg}") from None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.keywords:
        raise ExpressionError(f"{text!r} is not a call such as lengths(0, N)")
    return call.func.id, [Expression(ast.unparse(argument)) for argument in call.args]


def check_references(spec: OpSpec) -> None:
    """Raise `FieldError` at the first expression that is not in the language or reads an unknown name."""
    parsed = [(path, _parse(path, text, is_pattern)) for path, text, is_pattern in expressions(spec)]
    parsed += _makers(spec)
    sizes, splats = size_names(spec)
    for name in sorted(sizes & {*spec.inputs, *spec.outputs}):
        users = [slot for slot, member in spec.inputs.items() if name in _names(member.shape)]
        raise FieldError(("signature", "inputs", users[0], "shape"), f"{name!r} is a tensor, not a size")
    _check_items(spec, splats)
    bound = {*spec.params, *spec.let, *sizes}
    for path, found in parsed:
        for expression in found:
            _check_names(spec, path, expression, bound)


def _names(shape: str) -> set[str]:
    return {name for expression in Pattern.parse(shape).expressions for name in expression.names}


def _parse(path: _Path, text: str, is_pattern: bool) -> list[Expression]:
    try:
        return Pattern.parse(text).expressions if is_pattern else [Expression(text)]
    except ExpressionError as error:
        raise FieldError(path, str(error)) from None


def _makers(spec: OpSpec) -> Iterator[tuple[_Path, list[Expression]]]:
    for name, member in spec.inputs.items():
        for kind, text in (("make", member.make), ("values", member.values)):
            path = ("signature", "inputs", name, kind)
            try:
                kind_of, arguments = maker(text) if text is not None else ("", [])
            except ExpressionError as error:
                raise FieldError(path, str(error)) from None
            if kind == "values" and text is not None and VALUES.get(kind_of) != len(arguments):
                known = ", ".join(f"{name} of {count}" for name, count in VALUES.items())
                raise FieldError(path, f"{text!r} is none of these functions of arguments: {known}")
            yield path, [a for a in arguments if kind == "make" or a.text not in spec.inputs]


def _check_items(spec: OpSpec, splats: set[str]) -> None:
    """A name in an input's shape is one size, or with `*` several; a param there has the type for it."""
    for slot, member in spec.inputs.items():
        path = ("signature", "inputs", slot, "shape")
        for branch in Pattern.parse(member.shape).branches:
            if sum(is_flexible(spec, item) for item in branch.items) > 1:
                raise FieldError(path, "two splats of unknown length in one shape")
            if branch.condition is not None and not _is_early(spec, branch.condition):
                raise FieldError(
                    path, f"{branch.condition.text!r}: only params, and the dtypes of required inputs, choose"
                )
            for item in branch.items:
                _check_item(spec, path, item, splats)


def _is_early(spec: OpSpec, condition: Expression) -> bool:
    """Whether it can be evaluated before any size is bound, and before optional inputs are looked at."""
    required = {name for name, member in spec.inputs.items() if not member.optional}
    known = all(function == "dtype" and name in required for function, name in condition.tensors)
    return known and condition.names <= set(spec.params)


def _check_item(spec: OpSpec, path: _Path, item: Item, splats: set[str]) -> None:
    if item.name is None:
        return
    if not item.splat and item.name in splats:
        raise FieldError(path, f"{item.name} is one size here and several, *{item.name}, elsewhere")
    kinds = ParamType.parse(spec.params[item.name].type).members if item.name in spec.params else []
    if kinds and ("tuple[int, ...]" if item.splat else "int") not in kinds:
        raise FieldError(
            path, f"the param {item.name} is not {'a tuple of sizes' if item.splat else 'a size'}"
        )


def _check_names(spec: OpSpec, path: _Path, expression: Expression, bound: set[str]) -> None:
    for name in sorted(expression.names - bound):
        if name in spec.inputs or name in spec.outputs:
            raise FieldError(
                path, f"{expression.text!r}: {name} is a tensor; use shape, numel, dtype or given"
            )
        raise FieldError(
            path, f"{expression.text!r}: unknown name {name!r}; there are {', '.join(sorted(bound))}"
        )
    tensors = {*spec.inputs, *(spec.outputs if path[0] == "roofline" else ())}
    for function, name in sorted(expression.tensors):
        if name not in tensors:
            known = ", ".join(sorted(tensors)) or "none"
            raise FieldError(
                path, f"{expression.text!r}: {function}({name}): no such tensor here; there are {known}"
            )
