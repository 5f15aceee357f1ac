"""The manifest's cases meet every implementation and every way in which its static values can come out."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from tests.conformance.plan import Call, calls_of, plan, specs
from tileops.spec import OpSpec
from tileops.spec.expressions import Expression

SPECS = {spec.name: spec for spec in specs()}
Outcome = tuple[str, str, str]  # implementation, what is decided, how


def _choices(text: str) -> Iterator[tuple[str, str]]:
    """What an expression decides, and how it can come out: its own text where it is a condition."""
    yield from _decided(ast.parse(text, mode="eval").body)


def _decided(node: ast.expr) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Compare | ast.BoolOp) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    ):
        yield from ((ast.unparse(node), value) for value in ("True", "False"))
    elif isinstance(node, ast.IfExp):
        yield from ((ast.unparse(node.test), value) for value in ("True", "False"))
        yield from _decided(node.body)
        yield from _decided(node.orelse)
    elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("min", "max"):
        yield from ((ast.unparse(node), ast.unparse(argument)) for argument in node.args)


def _came_out(node: ast.expr, names: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What an expression decided for one call; branches that were not taken decided nothing."""
    if isinstance(node, ast.IfExp):
        holds = bool(_value(node.test, names))
        yield ast.unparse(node.test), str(holds)
        yield from _came_out(node.body if holds else node.orelse, names)
    elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("min", "max"):
        values = [_value(argument, names) for argument in node.args]
        best = _value(node, names)
        for argument, value in zip(node.args, values, strict=True):
            if value == best and values.count(best) == 1:
                yield ast.unparse(node), ast.unparse(argument)
    elif dict(_decided(node)):
        yield ast.unparse(node), str(bool(_value(node, names)))


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    return Expression(ast.unparse(node)).evaluate(names)


def demanded(spec: OpSpec) -> set[Outcome]:
    """Everything that some case has to bring about."""
    flags = {name for name, param in spec.params.items() if param.type == "bool"}
    out: set[Outcome] = set()
    for name, own in spec.implementations.items():
        out.add((name, "it", "serves"))
        for text in own.static.values():
            found = [(text, v) for v in ("True", "False")] if text in flags else _choices(text)
            out |= {(name, *choice) for choice in found}
    return out


def met(spec: OpSpec, calls: Sequence[Call]) -> set[Outcome]:
    """What the calls bring about, with the implementations that a commit's run tests on each."""
    tested = plan(spec.name, "cpu", False, True)
    out: set[Outcome] = set()
    for call in calls:
        for name in tested[call.id]:
            out.add((name, "it", "serves"))
            for text in spec.implementations[name].static.values():
                node, names = ast.parse(text, mode="eval").body, call.bound.variables
                found = (
                    [(text, str(_value(node, names)))]
                    if isinstance(node, ast.Name)
                    else _came_out(node, names)
                )
                out |= {(name, *choice) for choice in found}
    return out


@pytest.mark.parametrize("name", SPECS)
def test_some_case_meets_every_implementation_and_static_value(name: str) -> None:
    spec = SPECS[name]
    missing = sorted(demanded(spec) - met(spec, list(calls_of(spec, False))))
    assert not missing, f"{name}: no case has {missing}"


def test_a_case_that_is_gone_is_missed() -> None:
    spec = SPECS["GemmFwdOp"]
    first = [call for call in calls_of(spec, False) if call.index == 0]
    missing = demanded(spec) - met(spec, first)
    assert ("split", "it", "serves") in missing
    assert ("split", "M <= 64", "True") in missing
    assert ("tma", "trans_a", "True") in missing
    assert ("tma", "t256 <= min(t192, t128, t64)", "True") in missing
    assert ("tma", "t256 <= min(t192, t128, t64)", "False") not in missing
    assert ("general", "it", "serves") not in missing
