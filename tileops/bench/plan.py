"""Which calls are measured: operators x workloads (or small cases) x dtype rows, from the manifest."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tileops.roofline import Roofline, roofline
from tileops.runner import choose
from tileops.spec import BoundCase, OpSpec, bind_case
from tileops.spec.cases import WORKLOAD_KEYS, CaseError
from tileops.testing import Bound, bound_operator, case_facts, case_params

__all__ = ["Case", "cases"]


@dataclass(frozen=True)
class Case:
    """One call to measure: an operator with the params, shapes and dtypes of an entry of the manifest.

    Attributes:
        label: What the manifest calls the workload; a case without a label is called by its sizes.
        sizes: Its sizes and params, as text.
        row: dtype of every slot that has its own.
    """

    spec: OpSpec
    label: str
    sizes: str
    bound: BoundCase
    row: Mapping[str, str]

    @property
    def dtypes(self) -> str:
        """The row in short: "bfloat16", or "float8_e4m3fn, bfloat16"."""
        return ", ".join(dict.fromkeys(self.row.values()))

    @property
    def key(self) -> str:
        """What identifies the call in a results file: everything that decides it."""
        return f"{self.sizes} | {', '.join(f'{slot} = {dtype}' for slot, dtype in self.row.items())}"

    @cached_property
    def params(self) -> dict[str, Any]:
        """Params, and the numbers of the call."""
        return case_params(self.spec, self.bound)

    def op(self, device: str | None = None) -> Bound:
        """The operator, constructed."""
        return bound_operator(self.spec, self.params, device=device)

    @cached_property
    def facts(self) -> Any:
        """What a call finds, without memory."""
        return case_facts(self.spec, self.bound)

    @cached_property
    def cost(self) -> Roofline:
        """The least operations and bytes of the call."""
        return roofline(self.spec, self.facts)

    def served(self, target: str) -> bool:
        """Whether an implementation serves the call on a target, and it computes anything."""
        if any(0 in shape for shape in self.bound.outputs.values()):
            return False
        try:
            self.chosen(target)
        except NotImplementedError:
            return False
        return True

    def chosen(self, target: str) -> str:
        """The implementation that serves the call on a target."""
        return choose(self.spec, self.facts, target, None)


def cases(spec: OpSpec, target: str, *, small: bool, limit: int | None = None) -> list[Case]:
    """The calls of one operator that a target serves: its workloads, or with `small` its test cases."""
    found = [case for case in _every(spec, small) if case.served(target)]
    return found if limit is None else found[:limit]


def _every(spec: OpSpec, small: bool) -> Iterator[Case]:
    for entry in spec.cases if small else spec.workloads:
        for row in spec.rows:
            if next(iter(row.values())) not in entry.get("dtypes", row.values()):
                continue
            try:
                bound = bind_case(spec, entry, row=row)
            except CaseError:
                continue  # the rules exclude this row: scales that are absent, say
            sizes = _sizes(entry)
            yield Case(spec, str(entry.get("label", sizes)), sizes, bound, row)


def _sizes(entry: Mapping[str, Any]) -> str:
    shown = {name: value for name, value in entry.items() if name not in WORKLOAD_KEYS}
    text = ", ".join(f"{name} = {_value(value)}" for name, value in shown.items())
    absent = entry.get("absent", [])
    missing = [absent] if isinstance(absent, str) else list(absent)
    last = f", {', '.join(entry['channels_last'])} channels-last" if "channels_last" in entry else ""
    return text + last + (f", without {', '.join(missing)}" if missing else "")


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
