"""The command line: runs the stages, prints the report, gives the exit status."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import allow, compare, docstrings, rendered
from .directives import Docs, read_docs
from .fix import fix
from .manifest import read_manifest
from .pages import check_site
from .project import REQUIREMENTS, TABLE, Project, Unusable, inside, read_project
from .rendered import Rendering
from .report import Finding, Report, render, render_unusable
from .site import built_site
from .surface import Surface, load_sources, read_surface, search_paths

COMPLETE, MISSING, UNUSABLE = 0, 1, 2


def main(argv: Sequence[str] | None = None, root: Path | None = None) -> int:
    """Run the check; the exit status is 0, 1 or 2."""
    arguments = _parser().parse_args(argv)
    try:
        project = read_project(_root(arguments, root), _given(arguments))
        with inside(project):
            report = run(project, arguments.stage, arguments.site, arguments.fix)
    except Unusable as error:
        text = render_unusable(str(error), error.file, error.line, arguments.format)
        print(text, file=sys.stderr if arguments.format == "text" else sys.stdout)
        return UNUSABLE
    print(render(report, arguments.format))
    return COMPLETE if report.complete else MISSING


def _root(arguments: argparse.Namespace, own: Path | None) -> Path | None:
    """The checkout: the one that is named, else that of a named configuration, else the script's own."""
    if arguments.root is not None:
        return Path(arguments.root)
    return None if arguments.mkdocs_config else own


def _given(arguments: argparse.Namespace) -> dict[str, Any]:
    """What the command line says, by the keys of `pyproject.toml`."""
    keys = ("mkdocs-config", "packages", "search-paths", "manifest", "require", "generated-pages")
    return {key: getattr(arguments, key.replace("-", "_")) or None for key in keys}


def run(project: Project, stage: str = "all", site: Path | None = None, write: bool = False) -> Report:
    """Check a project. Stage 2 waits until stage 1 is complete, whose findings explain its own."""
    report = Report()
    start = time.perf_counter()
    surface, docs, rendering, findings = _stage_1(project)
    if write and (fixed := fix(project, surface, docs, rendering, findings)):
        report.fixed = fixed
        surface, docs, rendering, findings = _stage_1(project)
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


def _stage_1(project: Project) -> tuple[Surface, Docs, Rendering, list[Finding]]:
    manifest = read_manifest(project)
    docs = read_docs(project)
    config = rendered.handler_config(docs, project)
    style = str(config.options.get("docstring_style") or "google")
    paths = search_paths(project, [str(path) for path in config.paths or ["."]])
    surface = read_surface(project, load_sources(project, style, paths), manifest)
    rendering = rendered.follow(docs, config, surface)
    findings = [*surface.findings, *rendering.findings, *compare.compare(project, surface, docs, rendering)]
    for required in surface.required.values() if project.requires("docstrings") else ():
        findings += docstrings.check(required)
    return surface, docs, rendering, findings


def _parser() -> argparse.ArgumentParser:
    known = "\n".join(f"  {name:11} {text}" for name, text in REQUIREMENTS.items())
    parser = argparse.ArgumentParser(
        prog="check_api_coverage",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Check that every public name of a package has its entry on an mkdocstrings site.\n"
        f"What is not said here is read from [tool.{TABLE}] of the checkout's pyproject.toml.",
        epilog=f"what can be required:\n{known}\n\n"
        "exit status: 0 complete, 1 something is missing, 2 the input cannot be used",
    )
    add = parser.add_argument
    add("--format", choices=("text", "json", "github"), default="text", help="how findings are printed")
    stages = "1: sources; 2 and all: also the built site"
    add("--stage", choices=("1", "2", "all"), default="all", help=stages)
    site = "check this built site, which must be newer than its sources"
    add("--site", type=Path, metavar="DIR", help=site)
    add("--root", metavar="DIR", help="the checkout (default: that of the configuration, else this one)")
    add("--mkdocs-config", metavar="FILE", help="the site's configuration (default: mkdocs.yml)")
    package = "a module whose `__all__` is public; may be given several times"
    add("--package", dest="packages", action="append", default=[], metavar="NAME", help=package)
    path = "a folder that holds the package; may be given several times"
    add("--search-path", dest="search_paths", action="append", default=[], metavar="DIR", help=path)
    add("--manifest", metavar="DIR", help="folder of YAML files: names with a `status`, which need an entry")
    add("--require", metavar="WHAT", help="what must hold, with commas (default: exports,manifest)")
    generated = "let hooks and plugins add their pages before the check looks at them"
    add("--generated-pages", action="store_true", help=generated)
    add("--fix", action="store_true", help="write the missing entries into their pages")
    return parser
