"""What is checked: where the packages, the manifest, the site's configuration and the allow-list are.

All of it can stand in `pyproject.toml`, in the table `[tool.api-coverage]`, and be said on the command line.
"""

from __future__ import annotations

import logging
import os
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Silences a banner of the theme that is no word about the site; it must be set before the theme is imported.
BUILD_ENVIRONMENT = {"NO_MKDOCS_2_WARNING": "1"}
TABLE = "api-coverage"
REQUIREMENTS = {
    "exports": "every name of the packages' `__all__`",
    "methods": "the public methods and properties of exported classes",
    "manifest": "every name of the manifest",
    "unique": "not more than one entry a name",
    "public": "no entry for what is not public, and a literal `__all__` in each public module",
    "docstrings": "a summary, arguments that match the signature, an example, of manifest names a formula",
    "pages": "manifest names have their own entry on their family's page, with a manifest block; no raw TeX "
    "and nothing loaded from elsewhere",
}
DEFAULT = ("exports", "manifest")


class Unusable(Exception):
    """The input cannot be checked. The message is one line; `file` and `line` say where, if that is known."""

    def __init__(self, message: str, file: str = "", line: int = 0) -> None:
        super().__init__(" ".join(message.split()))
        self.file, self.line = file, line


@dataclass(frozen=True)
class Project:
    """One checkout.

    Attributes:
        root: The checkout. Paths in findings are relative to it.
        config: The site's configuration.
        packages: Modules whose `__all__` is public; modules that an `__all__` names are public too.
        search_paths: Folders where the packages lie, before those that the configuration names.
        manifest: Folder of YAML files with the declared names, if there is one.
        require: What must hold, of `REQUIREMENTS`.
        allow: File of the names that need no entry.
        languages: Languages of a translated site, beside those that its configuration tells.
        generated_pages: Whether hooks and plugins may add pages before the check looks at them.
        without: Markdown preprocessors that write no entries and need not run.
    """

    root: Path
    config: Path
    packages: tuple[str, ...]
    search_paths: tuple[Path, ...] = ()
    manifest: Path | None = None
    require: frozenset[str] = field(default_factory=lambda: frozenset(DEFAULT))
    allow: Path = Path("api_coverage_allow.yaml")
    languages: tuple[str, ...] = ()
    generated_pages: bool = False
    without: tuple[str, ...] = ()

    def requires(self, what: str) -> bool:
        return what in self.require

    @property
    def operators(self) -> str:
        """The module that exports the names of the manifest: the last of the packages."""
        return self.packages[-1]

    def relative(self, path: Path | str) -> str:
        """The path as findings show it."""
        try:
            return Path(path).resolve().relative_to(self.root.resolve()).as_posix()
        except ValueError:
            return str(path)


def read_project(root: Path | None, given: Mapping[str, Any]) -> Project:
    """The project of a folder, with what the command line says before what `pyproject.toml` says.

    Args:
        root: The checkout; `None` for the one that the configuration lies in, else the current folder.
        given: Values by their key in `pyproject.toml`; `None` and empty ones say nothing.
    """
    said = {key: value for key, value in given.items() if value not in (None, [], ())}
    if root is None:
        root = (
            _checkout(Path(said["mkdocs-config"]).resolve().parent) if "mkdocs-config" in said else Path.cwd()
        )
    root = root.resolve()
    file = root / "pyproject.toml"
    values = {**_table(file), **said}
    if unknown := sorted(set(values) - _KEYS):
        raise Unusable(
            f"{file.name}: [tool.{TABLE}] has no key {unknown[0]!r}; it has {', '.join(sorted(_KEYS))}"
        )

    def path(key: str, default: str | None = None) -> Path | None:
        value = values.get(key, default)
        base = Path.cwd() if key in said else root
        return (base / value).resolve() if value is not None else None

    packages = _texts(values, "packages")
    if not packages:
        raise Unusable(f"no package is named: give --package, or `packages` in [tool.{TABLE}] of {file.name}")
    manifest = path("manifest")
    required = _texts(values, "require") or [name for name in DEFAULT if name != "manifest" or manifest]
    if unknown := sorted(set(required) - set(REQUIREMENTS)):
        raise Unusable(f"require: {unknown[0]!r} is not known; there are {', '.join(REQUIREMENTS)}")
    if "manifest" in required and manifest is None:
        raise Unusable(
            f"the manifest is required and none is named: give --manifest or `manifest` in {file.name}"
        )
    base = Path.cwd() if "search-paths" in said else root
    return Project(
        root=root,
        config=path("mkdocs-config", "mkdocs.yml") or root / "mkdocs.yml",
        packages=tuple(packages),
        search_paths=tuple((base / text).resolve() for text in _texts(values, "search-paths")),
        manifest=manifest if "manifest" in required else None,
        require=frozenset(required),
        allow=path("allow", "api_coverage_allow.yaml") or root,
        languages=tuple(_texts(values, "languages")),
        generated_pages=bool(values.get("generated-pages", False)),
        without=tuple(_texts(values, "without-preprocessors")),
    )


_KEYS = {
    *("packages", "search-paths", "mkdocs-config", "manifest", "require", "allow", "languages"),
    *("generated-pages", "without-preprocessors"),
}


def _checkout(folder: Path) -> Path:
    """The nearest folder upwards that looks like a checkout; else the folder itself."""
    marks = ("pyproject.toml", ".git", "setup.py")
    return next(
        (at for at in (folder, *folder.parents) if any((at / mark).exists() for mark in marks)), folder
    )


def _table(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Unusable(f"{file.name}: not TOML: {error}", file.name) from error
    table = data.get("tool", {}).get(TABLE, {})
    return dict(table) if isinstance(table, dict) else {}


def _texts(values: Mapping[str, Any], key: str) -> list[str]:
    found = values.get(key, [])
    if isinstance(found, str):
        return [part.strip() for part in found.split(",") if part.strip()]
    return [part for text in found for part in _texts({key: str(text)}, key)]


@contextmanager
def inside(project: Project) -> Iterator[None]:
    """Work as the site build does: in the root, with the root importable, and without log output."""
    os.environ.update(BUILD_ENVIRONMENT)
    root = str(project.root.resolve())
    path, level = sys.path[:], logging.root.manager.disable
    sys.path.insert(0, root)
    logging.disable(logging.CRITICAL)
    try:
        with chdir(root):
            yield
    finally:
        sys.path[:] = path
        logging.disable(level)
