"""The command line: runs the stages, prints the report, gives the exit status."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from . import allow, compare, docstrings, rendered
from .directives import Docs, read_docs
from .manifest import read_manifest
from .pages import check_site
from .project import Project, Unusable, inside
from .report import Finding, Report, render, render_unusable
from .site import built_site
from .surface import Surface, load_sources, read_surface

COMPLETE, MISSING, UNUSABLE = 0, 1, 2


def main(argv: Sequence[str] | None = None, root: Path | None = None) -> int:
    """Run the check; the exit status is 0, 1 or 2."""
    arguments = _parser(root).parse_args(argv)
    project = Project(Path(arguments.root).resolve())
    try:
        with inside(project):
            report = run(project, arguments.stage, arguments.site)
    except Unusable as error:
        text = render_unusable(str(error), error.file, error.line, arguments.format)
        print(text, file=sys.stderr if arguments.format == "text" else sys.stdout)
        return UNUSABLE
    print(render(report, arguments.format))
    return COMPLETE if report.complete else MISSING


def run(project: Project, stage: str = "all", site: Path | None = None) -> Report:
    """Check a project. Stage 2 waits until stage 1 is complete, whose findings explain its own."""
    report = Report()
    start = time.perf_counter()
    surface, docs, findings = _stage_1(project)
    report.required = len(surface.required)
    report.operators = sum(required.op is not None for required in surface.required.values())
    report.findings, report.allowed = allow.apply(project, surface, allow.read_allowed(project), findings)
    report.stages["stage 1"] = time.perf_counter() - start
    if stage == "1":
        return report
    if report.findings:
        report.skipped = "stage 2 waits for stage 1"
        return report
    start = time.perf_counter()
    with built_site(project, docs, site) as built:
        found = [built] if isinstance(built, Finding) else check_site(project, docs, surface, built)
    excused = set(report.allowed)
    report.findings = [finding for finding in found if finding.subject not in excused]
    report.stages["stage 2"] = time.perf_counter() - start
    return report


def _stage_1(project: Project) -> tuple[Surface, Docs, list[Finding]]:
    manifest = read_manifest(project)
    docs = read_docs(project)
    config = rendered.handler_config(docs, project)
    style = str(config.options.get("docstring_style") or "google")
    paths = [str((project.root / path).resolve()) for path in config.paths or ["."]]
    surface = read_surface(project, load_sources(project, style, paths), manifest)
    rendering = rendered.follow(docs, config, surface)
    findings = [*surface.findings, *rendering.findings, *compare.compare(project, surface, docs, rendering)]
    for required in surface.required.values():
        findings += docstrings.check(required)
    return surface, docs, findings


def _parser(root: Path | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="check_api_coverage",
        description="Check that every public name and every operator of the manifest is documented.",
        epilog="exit status: 0 complete, 1 something is missing, 2 the input cannot be used",
    )
    parser.add_argument(
        "--format", choices=("text", "json", "github"), default="text", help="how findings are printed"
    )
    parser.add_argument(
        "--stage", choices=("1", "2", "all"), default="all", help="1: sources; 2 and all: also the built site"
    )
    parser.add_argument(
        "--site", type=Path, metavar="DIR", help="check this built site, which must be newer than its sources"
    )
    parser.add_argument(
        "--root", default=str(root or Path.cwd()), metavar="DIR", help="the checkout (default: this one)"
    )
    return parser
