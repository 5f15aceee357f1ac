"""The manifest does what the probes say, and every declared expression matters to one of them."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from tests.conformance.battery import run_battery
from tests.conformance.expected import EXPECTED
from tests.conformance.plan import specs
from tileops.errors import CallError, ManifestError
from tileops.spec import OpSpec
from tileops.spec.errors import CaseError, FieldError, RuleBroken
from tileops.spec.model import Rule
from tileops.spec.patterns import Pattern

SPECS = {spec.name: spec for spec in [*specs(), *specs(False)]}
NAMES = list(SPECS)
NOTICED = (
    *(CallError, ManifestError, FieldError, CaseError, RuleBroken, AssertionError),
    *(AttributeError, IndexError, NotImplementedError, TypeError, ValueError),
)
"""What a check or a program says of a wrong entry; anything else is a crash of these tests."""


def test_every_operator_has_probes() -> None:
    assert set(EXPECTED) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_manifest_does_what_the_probes_say(name: str) -> None:
    run_battery(SPECS[name])


def _replace(spec: OpSpec, field: str, key: object, value: object) -> OpSpec:
    """The spec with one member of a dict or list field replaced."""
    members = getattr(spec, field)
    changed = (
        {**members, key: value}
        if isinstance(members, dict)
        else [value if n == key else m for n, m in enumerate(members)]
    )
    return msgspec.structs.replace(spec, **{field: changed})


def _shape_mutants(spec: OpSpec) -> Iterator[tuple[str, OpSpec]]:
    for kind in ("inputs", "outputs"):
        for name, member in getattr(spec, kind).items():
            for branch, item, text in _changed_items(member.shape):
                changed = msgspec.structs.replace(member, shape=text)
                yield f"{kind}.{name}.shape[{branch}][{item}]", _replace(spec, kind, name, changed)


def _changed_items(shape: str) -> Iterator[tuple[int, str, str]]:
    """The pattern with one item changed: a size plus one, a splat dropped, a condition negated."""
    branches = Pattern.parse(shape).branches
    for b, branch in enumerate(branches):
        for n, item in enumerate(branch.items):
            words = [str(i) for i in branch.items]
            words[n : n + 1] = [] if item.splat else [f"({item.expression.text})+1"]
            yield b, str(item), _joined(branches, b, " ".join(words) or "()")
        if branch.condition is not None:
            items = " ".join(map(str, branch.items)) or "()"
            yield b, "if", _joined(branches, b, items, f"not ({branch.condition.text})")


def _joined(branches: tuple, at: int, items: str, condition: str | None = None) -> str:  # type: ignore[type-arg]
    out = []
    for n, branch in enumerate(branches):
        text = items if n == at else " ".join(map(str, branch.items)) or "()"
        guard = condition if n == at and condition else branch.condition.text if branch.condition else None
        out.append(f"{text} if {guard} else" if guard else text)
    return " ".join(out)


def _dtype_mutants(spec: OpSpec) -> Iterator[tuple[str, OpSpec]]:
    for kind in ("inputs", "outputs"):
        for name, member in getattr(spec, kind).items():
            for text in _changed_dtypes(member.dtype):
                changed = msgspec.structs.replace(member, dtype=text)
                yield f"{kind}.{name}.dtype {text}", _replace(spec, kind, name, changed)
            if kind == "inputs":
                changed = msgspec.structs.replace(member, optional=not member.optional)
                yield f"inputs.{name}.optional", _replace(spec, kind, name, changed)
    if len(spec.rows) > 1 and len({len(row) for row in spec.rows}) == 1 and len(spec.rows[0]) > 1:
        for n in range(len(spec.rows)):
            yield f"rows.{n}", msgspec.structs.replace(spec, rows=spec.rows[:n] + spec.rows[n + 1 :])


def _role_mutants(spec: OpSpec) -> Iterator[tuple[str, OpSpec]]:
    """What is written, returned, kept for the backward, and made for tests."""
    for name, member in spec.inputs.items():
        changes: list[dict[str, object]] = [{"mutated": m} for m in (True, False) if m is not member.mutated]
        if member.make is not None:
            changes += [{"make": None}, {"make": member.make[:-1] + " + 1)"}]
        if member.values is not None:
            changes += [{"values": None}, {"values": member.values[:-1] + " + 1)"}]
        for change in changes:
            yield (
                f"inputs.{name} {change}",
                _replace(spec, "inputs", name, msgspec.structs.replace(member, **change)),
            )
    for name, output in spec.outputs.items():
        changes = [{"saved": not output.saved}]
        if not output.saved:  # nobody sees whether one that is not returned is an input
            changes += [{"alias": n} for n in (None, *spec.inputs) if n != output.alias]
        for change in changes:
            yield (
                f"outputs.{name} {change}",
                _replace(spec, "outputs", name, msgspec.structs.replace(output, **change)),
            )


def _changed_dtypes(text: str) -> Iterator[str]:
    choices = [c.strip() for c in text.split("|")]
    if len(choices) > 1:
        yield from (" | ".join(c for c in choices if c != choice) for choice in choices)
        yield text + " | float64"
    else:
        yield "float64"


def _expression_mutants(spec: OpSpec) -> Iterator[tuple[str, OpSpec]]:
    for name, text in spec.let.items():
        yield f"let.{name}", _replace(spec, "let", name, f"2 * ({text}) + 1")
    for n, rule in enumerate(spec.rules):
        yield f"rules.{n} dropped", _replace(spec, "rules", n, Rule(rule="True", message=rule.message))
        yield (
            f"rules.{n} negated",
            _replace(spec, "rules", n, Rule(rule=f"not ({rule.rule})", message=rule.message)),
        )
        yield f"rules.{n}.message", _replace(spec, "rules", n, Rule(rule=rule.rule, message="changed"))
    flops = msgspec.structs.replace(spec.roofline, flops=f"({spec.roofline.flops}) + 1")
    yield "roofline.flops", msgspec.structs.replace(spec, roofline=flops)
    if spec.roofline.bytes is not None:
        moved = msgspec.structs.replace(spec.roofline, bytes=f"({spec.roofline.bytes}) + 1")
        yield "roofline.bytes", msgspec.structs.replace(spec, roofline=moved)
    for name, param in spec.params.items():
        if not param.required:
            other = {bool: not param.default, int: 7, float: 0.25, str: "x"}.get(type(param.default), 3)
            yield (
                f"params.{name}.default",
                _replace(spec, "params", name, msgspec.structs.replace(param, default=other)),
            )


def _implementation_mutants(spec: OpSpec) -> Iterator[tuple[str, OpSpec]]:
    for name, own in spec.implementations.items():
        changes = {"program": {"program": "missing"}}
        if len(spec.implementations) > len({i.channels_last for i in spec.implementations.values()}):
            top = max(i.rank for i in spec.implementations.values())
            changes["rank"] = {"rank": -1 if own.rank == top else top + 1}
        for static, text in own.static.items():
            changes[f"static.{static}"] = {"static": {**own.static, static: f"({text}) + 1"}}
        for n in range(len(own.scalars)):
            changes[f"scalars.{n}"] = {"scalars": own.scalars[:n] + own.scalars[n + 1 :]}
        for n, rule in enumerate(own.domain):
            for what, changed in (("dropped", "True"), ("negated", f"not ({rule.rule})")):
                domain = [
                    Rule(rule=changed, message=r.message) if i == n else r for i, r in enumerate(own.domain)
                ]
                changes[f"domain.{n} {what}"] = {"domain": domain}
        for what, change in changes.items():
            changed = msgspec.structs.replace(own, **change)
            yield f"implementations.{name}.{what}", _replace(spec, "implementations", name, changed)


def mutants(spec: OpSpec) -> Iterator[tuple[str, OpSpec]]:
    """Every way in which one declared expression of an entry can be wrong, with the entry that has it."""
    kinds = (_shape_mutants, _dtype_mutants, _role_mutants, _expression_mutants, _implementation_mutants)
    for kind in kinds:
        yield from kind(spec)


@pytest.mark.parametrize("name", NAMES)
def test_a_changed_expression_turns_a_probe_red(name: str) -> None:
    run_battery(SPECS[name])  # green before, so that red afterwards means the change
    survivors = []
    for what, mutant in mutants(SPECS[name]):
        try:
            run_battery(mutant)
        except NOTICED:
            continue
        survivors.append(what)
    assert not survivors, f"{name}: no probe notices a change of {', '.join(survivors)}"
