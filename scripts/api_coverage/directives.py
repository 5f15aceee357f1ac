"""Which `:::` entries the site renders: its own Markdown parser, with mkdocstrings' processor recording."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import markdown
import yaml
from markdown.extensions import Extension
from mkdocs.config import load_config
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import ConfigurationError, MkDocsException
from mkdocs.structure.files import File, Files, InclusionLevel, get_files, set_exclusions
from mkdocs.structure.nav import get_navigation
from mkdocs.utils import meta
from mkdocstrings import AutoDocProcessor

from .lost import mentions, reason_lost
from .project import Project, Unusable

_MAKES_NAV = {"literate-nav", "awesome-nav", "awesome-pages", "section-index", "monorepo", "api-autonav"}


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
    neutral: str = ""  # its path without the language, the same for all translations
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

    def __init__(self, config: MkDocsConfig, without: Sequence[str] = ()) -> None:
        self._found: list[tuple[str, int, str]] = []
        extensions = [*config.markdown_extensions, _RecorderExtension(self._found)]
        self._md = markdown.Markdown(extensions=extensions, extension_configs=config.mdx_configs or {})
        for name in without:
            if name in self._md.preprocessors:
                self._md.preprocessors.deregister(name)

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
    recorder = Recorder(config, project.without)
    files = get_files(config)
    if project.generated_pages:
        files = _with_generated(project, files, config)
    set_exclusions(files, config)
    nav = _nav(files, config)
    languages = translated_to(project, config)
    pages: dict[str, Page] = {}
    for file in sorted((f for f in files if f.is_documentation_page()), key=lambda f: f.src_uri):
        page = _read_page(project, file)
        page.in_nav = nav is None or file.src_uri in nav
        page.neutral = neutral(page.uri, languages)
        if page.state == "shown":
            page.directives = list(_record(recorder, page))
        pages[page.file] = page
    return Docs(config, pages, dict(handlers.get("python") or {}), recorder)


def _nav(files: Files, config: MkDocsConfig) -> set[str] | None:
    """The pages that readers reach by the navigation; `None` where a plugin makes it and only it knows."""
    if _MAKES_NAV & set(config.plugins):
        return None
    return {page.file.src_uri for page in get_navigation(files, config).pages}


def _with_generated(project: Project, files: Files, config: MkDocsConfig) -> Files:
    """The files with those that hooks and plugins add."""
    try:
        config.plugins.on_startup(command="build", dirty=False)
        return config.plugins.on_files(files, config=config)
    except Exception as error:
        name = project.relative(project.config)
        raise Unusable(f"{name}: the pages that are generated: {error}", name) from error


def translated_to(project: Project, config: MkDocsConfig) -> set[str]:
    """The languages of the site: of the project's settings, of the i18n plugin, of the theme's selector."""
    found = set(project.languages)
    plugin = config.plugins.get("i18n")
    for language in getattr(getattr(plugin, "config", None), "languages", None) or []:
        found.add(str(language.get("locale") if isinstance(language, dict) else language.locale))
    for other in config.extra.get("alternate") or []:
        if isinstance(other, dict) and other.get("lang"):
            found.add(str(other["lang"]))
    return found


def neutral(uri: str, languages: set[str]) -> str:
    """The path of a page without its language: "fr/api.md" and "api.fr.md" are "api.md"."""
    path = PurePosixPath(uri)
    parts = [
        part for n, part in enumerate(path.parts) if n != 0 or part not in languages or len(path.parts) == 1
    ]
    stem, _, language = path.stem.rpartition(".")
    if stem and language in languages:
        parts[-1] = f"{stem}{path.suffix}"
    return "/".join(parts)


def _load(project: Project) -> MkDocsConfig:
    name = project.relative(project.config)
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
    path = Path(str(file.abs_src_path)) if file.abs_src_path else None
    name = project.relative(path) if path else file.src_uri  # a page that is made at build has no file
    try:
        source = path.read_text(encoding="utf-8-sig") if path else file.content_string
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
