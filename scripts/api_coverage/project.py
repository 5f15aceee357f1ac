"""What is checked: where the packages, the manifest, the site's configuration and the allow-list are."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path

# Silences a banner of the theme that is no word about the site; it must be set before the theme is imported.
BUILD_ENVIRONMENT = {"NO_MKDOCS_2_WARNING": "1"}


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
        packages: Modules whose `__all__` is public; modules that an `__all__` names are public too.
        operators: The module of `packages` that exports the operators of the manifest.
    """

    root: Path
    packages: tuple[str, ...] = ("tileops", "tileops.ops")
    operators: str = "tileops.ops"

    @property
    def config(self) -> Path:
        return self.root / "mkdocs.yml"

    @property
    def manifest(self) -> Path:
        return self.root / "manifest"

    @property
    def allow(self) -> Path:
        return self.root / "scripts" / "api_coverage_allow.yaml"

    def relative(self, path: Path | str) -> str:
        """The path as findings show it."""
        try:
            return Path(path).resolve().relative_to(self.root.resolve()).as_posix()
        except ValueError:
            return str(path)


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
