"""Which `:::` entries the site renders: its own Markdown parser, with mkdocstrings' processor recording."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import markdown
import yaml
from markdown.extensions import Extension
from mkdocs.config import load_config
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import ConfigurationError, MkDocsException
from mkdocs.structure.files import File, InclusionLevel, get_files, set_exclusions
from mkdocs.structure.nav import get_navigation
from mkdocs.utils import meta
from mkdocstrings import AutoDocProcessor

from .lost import mentions, reason_lost
from .project import Project, Unusable


@dataclass(frozen=True)
class Directive:
    """One entry as the parser met it. `within` is the object whose docstring holds it, if one does."""

    page: str
    line: int
    identifier: str
    heading: int
    options: str
    within: str = ""


@dataclass
class Page:
    """A Markdown file of the docs folder: `state` is `shown`, `draft` or `excluded`."""

    file: str
    uri: str
    source: str
    content: str
    state: str
    in_nav: bool = False
    directives: list[Directive] = field(default_factory=list)

    @property
    def urls(self) -> tuple[str, ...]:
        """Where the page may be in the built site: a plugin may still choose between the two layouts."""
        path = PurePosixPath(self.uri)
        if path.stem in ("index", "README"):
            return (str(path.with_name("index.html")),)
        return (str(path.with_suffix(".html")), str(path.with_suffix("") / "index.html"))


@dataclass
class Docs:
    """The site as configured: its pages by source path, and mkdocstrings' settings."""

    config: MkDocsConfig
    pages: dict[str, Page]
    handler: dict[str, Any]
    recorder: Recorder

    @property
    def shown(self) -> list[Page]:
        return [page for page in self.pages.values() if page.state == "shown"]


class _Quiet:
    outer_layer = False


class _Processor(AutoDocProcessor):
    """Parses an entry exactly as mkdocstrings does and writes it down in place of rendering it."""

    def __init__(self, md: markdown.Markdown, found: list[tuple[str, int, str]]) -> None:
        super().__init__(md, handlers=None, autorefs=None)
        self.found = found

    def _process_block(self, identifier: str, yaml_block: str, heading_level: int = 0) -> Any:
        self.found.append((identifier, heading_level, yaml_block))
        return "", _Quiet(), None


class _RecorderExtension(Extension):
    def __init__(self, found: list[tuple[str, int, str]]) -> None:
        super().__init__()
        self.found = found

    def extendMarkdown(self, md: markdown.Markdown) -> None:
        md.parser.blockprocessors.register(_Processor(md, self.found), "mkdocstrings", priority=75)


class Recorder:
    """Finds the entries of a Markdown text."""

    # The tree processors run on inline text and cannot meet an entry, apart from these, which parse blocks.
    _PARSING = ("footnote",)

    def __init__(self, config: MkDocsConfig) -> None:
        self._found: list[tuple[str, int, str]] = []
        extensions = [*config.markdown_extensions, _RecorderExtension(self._found)]
        self._md = markdown.Markdown(extensions=extensions, extension_configs=config.mdx_configs or {})

    def entries(self, text: str) -> list[tuple[str, int, str]]:
        """Identifier, heading level and option block of each entry, in order."""
        self._found.clear()
        self._md.reset()
        lines = text.split("\n")
        for preprocessor in self._md.preprocessors:
            lines = preprocessor.run(lines)
        root = self._md.parser.parseDocument(lines).getroot()
        for name in self._PARSING:
            if root is not None and name in self._md.treeprocessors:
                self._md.treeprocessors[name].run(root)
        return list(self._found)


def read_docs(project: Project) -> Docs:
    """Load the configuration and record the entries of every page."""
    config = _load(project)
    plugin = config.plugins.get("mkdocstrings")
    if plugin is None:
        raise Unusable(f"{project.config.name}: there is no mkdocstrings plugin in it", project.config.name)
    handlers = plugin.config.handlers or {}
    recorder = Recorder(config)
    files = get_files(config)
    set_exclusions(files, config)
    nav = {page.file.src_uri for page in get_navigation(files, config).pages}
    pages: dict[str, Page] = {}
    for file in sorted((f for f in files if f.is_documentation_page()), key=lambda f: f.src_uri):
        page = _read_page(project, file)
        page.in_nav = file.src_uri in nav
        if page.state == "shown":
            page.directives = list(_record(recorder, page))
        pages[page.file] = page
    return Docs(config, pages, dict(handlers.get("python") or {}), recorder)


def _load(project: Project) -> MkDocsConfig:
    name = project.config.name
    if not project.config.is_file():
        raise Unusable(f"{name}: not found in {project.root}", name)
    try:
        config = load_config(str(project.config))
    except (ConfigurationError, yaml.YAMLError) as error:
        line = re.search(r"line (\d+)", str(error))
        raise Unusable(f"{name}: {error}", name, int(line[1]) if line else 0) from error
    except MkDocsException as error:
        raise Unusable(f"{name}: {_refused(project) or error}", name) from error
    if not Path(config.docs_dir).is_dir():
        raise Unusable(f"{name}: docs_dir {config.docs_dir} does not exist", name)
    return config


def _refused(project: Project) -> str:
    """What MkDocs said to its log, which is silent here, when it refused the configuration."""
    config = MkDocsConfig(config_file_path=str(project.config))
    with project.config.open("rb") as file:
        config.load_file(file)
    errors, _ = config.validate()
    return "; ".join(f"{key}: {error}" for key, error in errors)


def _read_page(project: Project, file: File) -> Page:
    path = Path(str(file.abs_src_path))
    name = project.relative(path)
    try:
        source = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Unusable(f"{name}: cannot be read: {error}", name) from error
    content, _ = meta.get_data(source)
    if file.inclusion is InclusionLevel.DRAFT:
        state = "draft"
    else:
        state = "excluded" if file.inclusion.is_excluded() else "shown"
    return Page(name, file.src_uri, source, content, state)


def _record(recorder: Recorder, page: Page) -> Iterator[Directive]:
    try:
        entries = recorder.entries(page.content)
    except Exception as error:
        raise Unusable(f"{page.file}: its Markdown cannot be parsed: {error}", page.file) from error
    places: dict[str, list[int]] = {}
    lines = page.source.splitlines()
    for line, identifier in mentions(page.source):
        if not reason_lost(lines, line):
            places.setdefault(identifier, []).append(line)
    for identifier, heading, options in entries:
        known = places.get(identifier, [])
        yield Directive(page.file, known.pop(0) if known else 0, identifier, heading, options)
