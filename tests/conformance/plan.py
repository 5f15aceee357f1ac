"""Which calls the conformance suite makes: operators x cases x dtype rows, from the manifest."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tileops.provenance import kernel_hash
from tileops.runner import verdicts
from tileops.spec import BoundCase, OpSpec, all_specs, bind_case, load
from tileops.spec.errors import RuleBroken
from tileops.testing import Bound, bound_operator, case_facts, case_params

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


@dataclass(frozen=True)
class Call:
    """One call: an operator with the params, shapes and dtypes of a case."""

    spec: OpSpec
    index: int
    bound: BoundCase
    row: str

    @property
    def id(self) -> str:
        return f"{self.spec.name}-{self.index}-{self.row}"

    @property
    def params(self) -> dict[str, Any]:
        """Params, and the numbers of the call."""
        return case_params(self.spec, self.bound)

    def op(self, implementation: str | None = None, device: str = "cpu") -> Bound:
        """The operator, called with tensors only."""
        return bound_operator(self.spec, self.params, device=device, implementation=implementation)

    def implementations(self, target: str) -> list[str]:
        """Every implementation that serves the call, not only the one that would be chosen."""
        facts = case_facts(self.spec, self.bound)
        return [v.implementation for v in verdicts(self.spec, facts, target) if not v.reasons]


def specs(implemented: bool = True) -> list[OpSpec]:
    return [spec for spec in all_specs().values() if spec.implemented == implemented]


@functools.cache
def calls(all_rows: bool, implemented: bool = True) -> list[Call]:
    """The calls of a run: every case with one dtype row, in turn, so that every row is met; or all rows."""
    return [call for spec in specs(implemented) for call in calls_of(spec, all_rows)]


def calls_of(spec: OpSpec, all_rows: bool) -> Iterator[Call]:
    met: set[str] = set()
    pending: list[Call] = []
    for index, case in enumerate(spec.cases):
        found = [
            call
            for call in _rows_of(spec, index, case)
            if not spec.implemented or call.implementations("cpu")
        ]
        fresh = [call for call in found if call.row not in met]
        for call in found if all_rows else fresh[:1] or found[index % len(found) :][:1]:
            met.add(call.row)
            yield call
        pending += [] if all_rows else fresh[1:]
    for call in pending:  # more rows than cases
        if call.row not in met:
            met.add(call.row)
            yield call


def _rows_of(spec: OpSpec, index: int, case: dict[str, Any]) -> Iterator[Call]:
    for row in spec.rows:
        try:
            yield Call(spec, index, bind_case(spec, case, row=row), "-".join(dict.fromkeys(row.values())))
        except RuleBroken:
            continue  # a row that the case's own rules exclude, as float8 without scales


def first_calls(implemented: bool = True) -> list[Call]:
    """The first case of every operator, with its first row."""
    seen: dict[str, Call] = {}
    for call in calls(False, implemented):
        seen.setdefault(call.spec.name, call)
    return list(seen.values())


RECORD = Path(__file__).parents[2] / "docs" / "data" / "h200" / "verification.json"


@functools.cache
def verified() -> frozenset[str]:
    """Operators whose programs passed on an H200 as they are now, compiled by the same TileLang."""
    runs = json.loads(RECORD.read_text())["ops"] if RECORD.is_file() else {}
    return frozenset(name for name, run in runs.items() if not run["failed"] and _is_current(name, run))


def _is_current(name: str, run: dict[str, Any]) -> bool:
    same_compiler = run["versions"]["tilelang"] == importlib.metadata.version("tilelang")
    return same_compiler and run["kernel_hash"] == kernel_hash(name)


@functools.cache
def plan(name: str, target: str, all_rows: bool, winners: bool) -> dict[str, list[str]]:
    """Implementations that a run tests, by call: every one that serves it when all rows are asked for.

    Otherwise those that no earlier call has reached and, with `winners`, the one that would be chosen.
    """
    out: dict[str, list[str]] = {}
    reached: set[str] = set()
    for call in calls_of(load(name), all_rows):
        names = call.implementations(target)
        out[call.id] = (
            names if all_rows else [n for n in names if n not in reached or (winners and n == names[0])]
        )
        reached.update(names)
    return out
