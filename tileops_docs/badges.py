"""The badges of an operator: status, dtypes, compile, autograd, in place, and whether it ran on an H200."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tileops_docs.page import OpPage

__all__ = ["Badge", "badges"]


@dataclass(frozen=True)
class Badge:
    """A fact in two words; `kind` is its colour and `title` what a pointer over it says."""

    text: str
    kind: str
    title: str


def badges(page: OpPage) -> list[Badge]:
    """The badges of an operator, the status first."""
    spec = page.spec
    if not spec.implemented:
        return [
            Badge(
                "specified, not implemented",
                "todo",
                "Arguments are checked and shapes are known; nothing is computed",
            ),
            *_dtype_badges(page),
            *_in_place(page),
        ]
    return [
        Badge("implemented", "good", "Runs on the H200 and, as the same program, on the CPU"),
        *_dtype_badges(page),
        Badge("torch.compile", "good", f"fullgraph=True works: torch.ops.tileops.{spec.torch_name}"),
        _autograd(page),
        *_in_place(page),
        _verified(page),
    ]


def _dtype_badges(page: OpPage) -> list[Badge]:
    if not page.slots:
        return []
    first = page.slots[0]
    seen: dict[str, bool] = {}
    for row in page.spec.rows:
        runs = bool(page.serving(row)) or not page.spec.implemented
        seen[row[first]] = seen.get(row[first], False) or runs
    return [
        Badge(
            name,
            "dtype" if runs else "todo",
            f"{first} may be {name}" + ("" if runs else "; specified, not implemented"),
        )
        for name, runs in seen.items()
    ]


def _in_place(page: OpPage) -> list[Badge]:
    if not page.mutates:
        return []
    return [Badge("in place", "warn", f"A call writes {', '.join(page.mutates)}")]


def _autograd(page: OpPage) -> Badge:
    if page.backward:
        return Badge("autograd", "good", f"Gradients are computed by {page.backward}")
    return Badge("no autograd", "plain", "There is no backward; a call that would lose a gradient raises")


def _verified(page: OpPage) -> Badge:
    run = page.verification
    if run is None:
        return Badge("not run on an H200", "plain", "No run of the conformance suite on an H200 is recorded")
    if not run.passed:
        return Badge("fails on H200", "bad", "The recorded run of the conformance suite had failures")
    if run.stale:
        return Badge("H200 run is stale", "warn", "The kernels changed since the recorded run")
    return Badge(
        "verified on H200",
        "good",
        f"The conformance suite passed there on {run.facts.get('date', 'an unknown date')}",
    )
