"""A built site to look at: built here in a folder that goes away, or given and refused when it is stale."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .directives import Docs
from .project import BUILD_ENVIRONMENT, Project, Unusable
from .report import Finding

_TAIL = 12  # lines of a failed build that are worth printing


@contextmanager
def built_site(project: Project, docs: Docs, given: Path | None) -> Iterator[Path | Finding]:
    """The folder of the site, or why there is none."""
    if given is not None:
        yield _fresh(project, docs, given if given.is_absolute() else project.root / given)
        return
    with tempfile.TemporaryDirectory(prefix="api-coverage-") as folder:
        yield _build(project, Path(folder) / "site")


def _build(project: Project, folder: Path) -> Path | Finding:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]  # with --quiet no warning would count
    command += ["--config-file", str(project.config), "--site-dir", str(folder)]
    environment = {**os.environ, **BUILD_ENVIRONMENT}
    done = subprocess.run(
        command, cwd=project.root, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return folder
    said = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    said = [line for line in said if not line.startswith(("INFO", "DEBUG"))]
    problem = "`mkdocs build --strict` fails:\n" + "\n".join(said[-_TAIL:])
    return Finding("build-failed", "site", problem, file=project.config.name, line=1)


def _fresh(project: Project, docs: Docs, folder: Path) -> Path | Finding:
    """The given site if each of its pages was written after the last change of a source."""
    name = project.relative(folder)
    pages = list(folder.rglob("*.html"))
    if not pages:
        raise Unusable(f"{name}: there is no built site in it", name)
    oldest = min(pages, key=lambda path: path.stat().st_mtime_ns)
    newest = max(_sources(project, docs), key=lambda path: path.stat().st_mtime_ns)
    if newest.stat().st_mtime_ns <= oldest.stat().st_mtime_ns:
        return folder
    source, page = project.relative(newest), project.relative(oldest)
    problem = f"it is stale: {source} changed after {page} was written; build it again"
    return Finding("stale-site", name, problem, file=source)


def _sources(project: Project, docs: Docs) -> Iterator[Path]:
    """What the site is made from: configuration, docs, templates, packages, manifest, extensions."""
    yield project.config
    theme = docs.config.theme.custom_dir
    templates = docs.config.plugins["mkdocstrings"].config.custom_templates
    folders = {Path(docs.config.docs_dir), *map(Path, docs.config.watch)}
    folders |= {project.manifest} if project.manifest else set()
    folders |= {project.root / str(path) for path in (theme, templates) if path}
    tops = {name.partition(".")[0] for name in project.packages}
    folders |= {
        at / top for at in (project.root, *project.search_paths) for top in tops if (at / top).exists()
    }
    for name in _extensions(docs):
        package = name.partition(":")[0].partition(".")[0]
        folders |= {
            path for path in (project.root / package, project.root / f"{package}.py") if path.exists()
        }
    for folder in folders:
        paths = folder.rglob("*") if folder.is_dir() else [folder]
        yield from (path for path in paths if path.is_file() and not _ignored(path, folder))


def _extensions(docs: Docs) -> Iterator[str]:
    """The names of the Markdown and griffe extensions; those that lie in the checkout are sources too."""
    for extension in docs.config.markdown_extensions:
        if isinstance(extension, str):
            yield extension
    for extension in (docs.handler.get("options") or {}).get("extensions") or []:
        yield str(next(iter(extension))) if isinstance(extension, dict) else str(extension)


def _ignored(path: Path, folder: Path) -> bool:
    return any(part == "__pycache__" or part.startswith(".") for part in path.relative_to(folder).parts)
