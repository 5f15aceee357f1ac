"""Findings, and the three ways to print them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Finding:
    """One thing that is missing or wrong.

    Attributes:
        code: What kind it is, in one word; stable, for tools.
        subject: The documented name, or the page, that it is about.
        problem: What is wrong, as a sentence.
        why: Why the subject is required; empty where the finding is about a page.
        page: The page that should hold the entry, relative to the checkout.
        paste: The exact lines to paste there.
        file: Where to look, relative to the checkout.
        line: Line in `file`, 0 if unknown.
    """

    code: str
    subject: str
    problem: str
    why: str = ""
    page: str = ""
    paste: tuple[str, ...] = ()
    file: str = ""
    line: int = 0


@dataclass
class Report:
    """The outcome of a run."""

    required: int = 0
    operators: int = 0
    findings: list[Finding] = field(default_factory=list)
    allowed: list[str] = field(default_factory=list)
    stages: dict[str, float] = field(default_factory=dict)
    skipped: str = ""
    fixed: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        return not self.findings


def render(report: Report, form: str) -> str:
    """The report as `text`, `json` or `github` annotations."""
    if form == "json":
        return _json(report)
    lines = _annotations(report.findings) if form == "github" else _text(report.findings)
    lines = [*(f"written: {what}" for what in report.fixed), *lines]
    return "\n".join([*lines, _closing(report)])


def render_unusable(message: str, file: str, line: int, form: str) -> str:
    """One line that says why nothing could be checked."""
    if form == "json":
        return json.dumps({"complete": False, "error": message, "file": file, "line": line})
    if form == "github":
        return _annotation(file, line, "API coverage: unusable input", message)
    return f"check_api_coverage: {message}"


def _closing(report: Report) -> str:
    times = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in report.stages.items())
    counted = f"{report.required} required names"
    counted += f", {report.operators} of them operators" if report.operators else ""
    allowed = f", {len(report.allowed)} excused" if report.allowed else ""
    skipped = f"; {report.skipped}" if report.skipped else ""
    if report.complete:
        return f"API coverage: complete ({counted}{allowed}; {times}{skipped})"
    count = len(report.findings)
    return f"API coverage: {count} finding{'s' if count != 1 else ''} ({counted}{allowed}; {times}{skipped})"


def _text(findings: Sequence[Finding]) -> list[str]:
    lines: list[str] = []
    for finding in findings:
        lines.append(f"{_place(finding)}{finding.subject}: {finding.problem} [{finding.code}]")
        if finding.why:
            lines.append(f"    required: {finding.why}")
        if finding.page and finding.paste:
            lines.append(f"    paste into {finding.page}:")
            lines += [f"        {line}".rstrip() for line in finding.paste]
        elif finding.page and finding.page != finding.file:
            lines.append(f"    page: {finding.page}")
        lines.append("")
    return lines


def _place(finding: Finding) -> str:
    if not finding.file:
        return ""
    return f"{finding.file}:{finding.line}: " if finding.line else f"{finding.file}: "


def _annotations(findings: Sequence[Finding]) -> list[str]:
    lines = []
    for finding in findings:
        message = f"{finding.subject}: {finding.problem}"
        if finding.why:
            message += f"\nrequired: {finding.why}"
        if finding.page and finding.paste:
            message += "\n".join([f"\npaste into {finding.page}:", *finding.paste])
        file = finding.file or finding.page
        lines.append(_annotation(file, finding.line, f"API coverage: {finding.code}", message))
    return lines


def _annotation(file: str, line: int, title: str, message: str) -> str:
    fields = [f"file={_escape(file, True)}"] if file else []
    if file:
        fields.append(f"line={max(line, 1)}")
    fields.append(f"title={_escape(title, True)}")
    return f"::error {','.join(fields)}::{_escape(message, False)}"


def _escape(text: str, is_property: bool) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if is_property else text


def _json(report: Report) -> str:
    data: dict[str, Any] = {"complete": report.complete, **asdict(report)}
    data["stages"] = {name: round(seconds, 3) for name, seconds in report.stages.items()}
    return json.dumps(data, indent=2)
