"""The tables of operators as HTML: by family, and by the PyTorch function that an operator replaces.

A script filters and sorts the large one (`operator-index.js`); without it the tables are whole and in order.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from functools import cached_property
from html import escape

from tileops.spec import OpSpec, all_specs, load_family
from tileops_docs import where
from tileops_docs.page import OpPage, op_page
from tileops_docs.performance import VERDICTS, Performance, performance
from tileops_docs.text import family_title, short_dtype, words

__all__ = ["operator_index", "operator_replaces"]

HEAD = {
    "name": ("Operator", ""),
    "family": ("Family", ""),
    "dtypes": ("dtypes", ""),
    "replaces": ("Replaces", "The PyTorch function that computes the same"),
    "status": ("Status", ""),
    "speed": ("Speed of light, %", "Median share over the recorded workloads on an H200"),
    "ratio": (
        "Peer / ours",
        "The worst recorded workload: time of the strongest peer over ours; above 1 we are faster",
    ),
    "verified": ("H200", "Whether the conformance suite passed there with these kernel sources"),
}
SORTED = ("name", "family", "status", "speed", "ratio")


@dataclass(frozen=True)
class Row:
    """One operator of a table."""

    spec: OpSpec

    @cached_property
    def page(self) -> OpPage:
        return op_page(self.spec.name)

    @cached_property
    def measured(self) -> Performance | None:
        return performance(self.spec.name) if self.spec.implemented else None

    @cached_property
    def dtypes(self) -> list[str]:
        """The dtypes of the first tensor with a choice, those that run before those that are specified."""
        badges = [badge for badge in self.page.badges if badge.title.endswith(f"may be {badge.text}")]
        return [badge.text for badge in badges]

    @cached_property
    def speed(self) -> float | None:
        """Median share of the speed of light, in percent."""
        shares = sorted(row.share for row in (self.measured.measured if self.measured else []) if row.share)
        return 100 * shares[len(shares) // 2] if shares else None

    @cached_property
    def ratio(self) -> tuple[float, str] | None:
        """The worst ratio to the strongest peer, and its verdict."""
        rows = [row for row in (self.measured.measured if self.measured else []) if row.ratio is not None]
        worst = min(rows, key=lambda row: row.ratio or 0.0, default=None)
        return (worst.ratio or 0.0, worst.verdict or "level") if worst else None

    def html(self, columns: list[str]) -> str:
        """The `tr` element; what the script filters and sorts by is in its attributes."""
        data = {
            "name": self.spec.name.lower(),
            "words": " ".join([*self.page.aliases, self.spec.ref_api or "", self.spec.family]).lower(),
            "family": self.spec.family,
            "dtypes": " ".join(self.dtypes),
            "status": self.spec.status,
            "speed": f"{self.speed:.2f}" if self.speed is not None else "",
            "ratio": f"{self.ratio[0]:.3f}" if self.ratio else "",
        }
        cells = "".join(f"<td{_class(column)}>{getattr(self, f'_{column}')()}</td>" for column in columns)
        attributes = " ".join(f'data-{name}="{escape(value)}"' for name, value in data.items())
        return f"<tr {attributes}>{cells}</tr>"

    def _name(self) -> str:
        return link(self.spec)

    def _family(self) -> str:
        url = posixpath.relpath(where.page(self.spec.name).removesuffix(".md") + ".html", "api")
        return f'<a href="{url}">{escape(family_title(self.spec.family))}</a>'

    def _dtypes(self) -> str:
        return f'<span title="{", ".join(self.dtypes)}">{" ".join(map(short_dtype, self.dtypes))}</span>'

    def _replaces(self) -> str:
        name = escape(self.spec.ref_api or "").replace(".", ".<wbr>").replace("_", "_<wbr>")
        return f"<code>{name}</code>" if name else ""

    def _status(self) -> str:
        return status(self.spec)

    def _speed(self) -> str:
        return f"{self.speed:.0f}" if self.speed is not None else ""

    def _ratio(self) -> str:
        if self.ratio is None:
            return ""
        ratio, verdict = self.ratio
        return badge(VERDICTS[verdict], f"{ratio:.2f}", verdict)

    def _verified(self) -> str:
        run = self.page.verification
        if run is None:
            return "–" if self.spec.implemented else ""
        kind, text = (
            ("warn", "stale") if run.stale else ("good", "verified") if run.passed else ("bad", "failed")
        )
        return badge(kind, text, run.facts.get("date", ""))


def operator_index(group: str | None = None) -> list[str]:
    """The table of operators: of a family, of one of its modules, or of all with a form to filter it."""
    specs = _of(group) if group else all_specs()
    same = {"family", "status"} if all(spec.implemented for spec in specs.values()) else {"family"}
    columns = [name for name in HEAD if not (group and name in same)]
    rows = [Row(spec) for spec in sorted(specs.values(), key=_order)]
    widths = "".join(f'<col class="op-col--{name}">' for name in columns)  # else they move as rows arrive
    head = "".join(_head(name, sort=not group) for name in columns)
    body = "".join(row.html(columns) for row in rows)
    table = (
        f'<table class="op-table op-index"><colgroup>{widths}</colgroup>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
    return ["", f'<div class="op-index-frame">{"" if group else _form(rows)}{table}</div>', ""]


def operator_replaces(_: str | None = None) -> list[str]:
    """The table from PyTorch functions to operators."""
    found = sorted((s for s in all_specs().values() if s.ref_api), key=lambda s: (s.ref_api or "", s.name))
    rows = "".join(
        f'<tr data-replaces="{escape(s.ref_api or "")}"><td><code>{escape(s.ref_api or "")}</code></td>'
        f"<td>{link(s)}</td><td>{_params(s)}</td><td>{status(s)}</td></tr>"
        for s in found
    )
    head = "<th>PyTorch</th><th>Operator</th><th>Params</th><th>Status</th>"
    table = f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody>"
    return ["", f'<div class="op-index-frame"><table class="op-table">{table}</table></div>', ""]


def _params(spec: OpSpec) -> str:
    return ", ".join(f"<code>{name}</code>" for name in spec.params)


def _of(group: str) -> dict[str, OpSpec]:
    wanted = group.replace(".", "_")
    found = {n: s for n, s in all_specs().items() if wanted in (s.family, where.module(n).replace(".", "_"))}
    return found or load_family(group)


def _order(spec: OpSpec) -> tuple[str, bool, str]:
    return where.module(spec.name), not spec.implemented, spec.name


def _class(column: str) -> str:
    classes = {"speed": "op-number", "dtypes": "op-dtypes", "replaces": "op-wrap"}
    return f' class="{classes[column]}"' if column in classes else ""


def _head(name: str, sort: bool) -> str:
    text, title = HEAD[name]
    about = f' title="{escape(title)}"' if title else ""
    if not sort or name not in SORTED:
        return f"<th{about}>{text}</th>"
    return f'<th{about} aria-sort="none"><button type="button" data-sort="{name}">{text}</button></th>'


def _form(rows: list[Row]) -> str:
    """The fields; a style hides them where no script runs."""
    families = {row.spec.family: family_title(row.spec.family) for row in rows}
    dtypes = {name: name for row in rows for name in row.dtypes}
    fields = [
        '<label class="op-field op-field--wide"><span class="op-field__name">Name, or what it replaces</span>'
        '<input type="search" name="words" placeholder="rms_norm, torch.nn.functional…" autocomplete="off">'
        "</label>",
        _select("family", "Family", families),
        _select("dtypes", "dtype", dict(sorted(dtypes.items()))),
        _select("status", "Status", {"implemented": "implemented", "spec-only": "spec-only"}),
        _select(
            "sort",
            "Order",
            {"speed": "by speed of light", "ratio": "by ratio to peers", "name": "by name"},
            "by family",
        ),
    ]
    count = f'<p class="op-count" role="status">{len(rows)} of {len(rows)} operators</p>'
    return f'<form class="op-filter op-form" data-search-exclude>{"".join(fields)}{count}</form>'


def _select(name: str, title: str, choices: dict[str, str], every: str = "all") -> str:
    options = "".join(
        f'<option value="{escape(value)}">{escape(text)}</option>' for value, text in choices.items()
    )
    return (
        f'<label class="op-field"><span class="op-field__name">{title}</span>'
        f'<select name="{name}"><option value="">{every}</option>{options}</select></label>'
    )


def link(spec: OpSpec) -> str:
    """The operator's name as a link to its entry, with places for a line to break."""
    name = "<wbr>".join(words(spec.name)).removesuffix("<wbr>Op") + "Op"
    return f'<autoref identifier="{where.identifier(spec.name)}"><code>{name}</code></autoref>'


def status(spec: OpSpec) -> str:
    """The badge of an operator's status."""
    return badge("good", "implemented") if spec.implemented else badge("todo", "spec-only")


def badge(kind: str, text: str, title: str = "") -> str:
    """A fact in a word or two, coloured."""
    about = f' title="{escape(title)}"' if title else ""
    return f'<span class="op-badge op-badge--{kind}"{about}>{escape(text)}</span>'
