"""What an entry shows: its object and the members that mkdocstrings' templates render for its options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml
from griffe import AliasResolutionError
from mkdocstrings_handlers.python import PythonConfig, PythonOptions, do_filter_objects

from .directives import Directive, Docs
from .project import Project, Unusable
from .report import Finding
from .surface import Surface


@dataclass(frozen=True)
class Shown:
    """One object in one place. `own` says that the entry names it; `heading` that it has one of its own."""

    canonical: str
    directive: Directive
    own: bool
    heading: bool
    in_inventory: bool = True


@dataclass
class Rendering:
    """All that the site shows, and the entries that could not be followed."""

    shown: list[Shown] = field(default_factory=list)
    targets: list[tuple[Directive, Any, PythonOptions]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    unknown: list[Directive] = field(default_factory=list)

    def of(self, canonical: str) -> list[Shown]:
        return [shown for shown in self.shown if shown.canonical == canonical]


def handler_config(docs: Docs, project: Project) -> PythonConfig:
    """The settings of the Python handler, as mkdocstrings reads them."""
    try:
        return PythonConfig.from_data(**docs.handler)
    except Exception as error:
        name = project.config.name
        raise Unusable(f"{name}: options of the python handler: {error}", name) from error


def follow(docs: Docs, config: PythonConfig, surface: Surface) -> Rendering:
    """Follow every entry of every shown page, and the entries in the docstrings that those show."""
    rendering = Rendering()
    todo = [directive for page in docs.shown for directive in page.directives]
    seen: set[tuple[str, str]] = set()
    while todo:
        directive = todo.pop(0)
        read = _read_options(docs, config, directive)
        if isinstance(read, Finding):
            rendering.findings.append(read)
            continue
        if read is None:
            continue  # another language's handler
        obj = surface.resolve(directive.identifier)
        if obj is None:
            rendering.unknown.append(directive)
            continue
        rendering.targets.append((directive, obj, read))
        heading = read.show_root_heading
        in_inventory = not read.skip_local_inventory
        rendering.shown.append(Shown(obj.path, directive, True, heading, in_inventory))
        members = list(_members(obj, read, read.members))
        rendering.shown += [Shown(member.path, directive, False, True, in_inventory) for member in members]
        for part in [obj, *members]:
            if (directive.page, part.path) not in seen:
                seen.add((directive.page, part.path))
                todo += _in_docstring(docs, part, directive)
    return rendering


def why_not_shown(obj: Any, directive: Directive, target: Any, options: PythonOptions) -> str:
    """Why the entry of something around `obj`, whose object is `target`, leaves it out."""
    entry = f"`::: {directive.identifier}`"
    while obj.parent is not None and obj.parent.path != target.path:
        obj = obj.parent  # the part of it that the entry could show
    if obj.is_module and not options.show_submodules:
        return f"{entry} has `show_submodules: false`, and it is in the submodule {obj.name}"
    if obj.parent is None:
        return f"{entry} only imports it, and shows what is imported when `__all__` or `members` names it"
    if options.members is False or options.members == []:
        return f"{entry} has `members: {str(options.members).lower()}`"
    if isinstance(options.members, list) and obj.name not in options.members:
        return f"{entry} lists its `members`, without this one"
    if not options.show_if_no_docstring and not obj.has_docstring:
        return f"{entry} leaves out what has no docstring"
    if options.members is None and options.filters:
        return f"{entry} has `filters` that leave it out ({', '.join(_filters(options))})"
    return f"{entry} does not show it"


def _filters(options: PythonOptions) -> list[str]:
    """The filters as they are written."""
    if isinstance(options.filters, str):
        return [options.filters]
    return [f"{'!' * excludes}{pattern.pattern}" for pattern, excludes in options.filters]


def _read_options(docs: Docs, config: PythonConfig, directive: Directive) -> PythonOptions | Finding | None:
    def refuse(error: object) -> Finding:
        problem = f"the options of the entry cannot be read: {' '.join(str(error).split())}"
        return Finding("bad-options", directive.identifier, problem, file=directive.page, line=directive.line)

    try:
        local = yaml.safe_load(directive.options) or {}
    except yaml.YAMLError as error:
        return refuse(error)
    if not isinstance(local, dict) or not isinstance(local.get("options") or {}, dict):
        return refuse("they are not a mapping")
    if local.get("handler", docs.config.plugins["mkdocstrings"].config.default_handler) != "python":
        return None
    options: dict[str, Any] = dict(local.get("options") or {})
    if not isinstance(options.get("heading", ""), str):
        return refuse("heading must be a text; to name it as it is, leave the option out")
    if directive.heading:
        options["heading_level"] = directive.heading
    base: Mapping[str, Any] = config.options
    extra = {**base.get("extra", {}), **options.get("extra", {})}
    try:
        return PythonOptions.from_data(**{**base, **options, "extra": extra})
    except Exception as error:  # noqa: BLE001  # whatever the handler's own validation raises
        return refuse(error)


def _members(obj: Any, options: PythonOptions, members: bool | list[str] | None) -> Iterator[Any]:
    """The members that `children.html.jinja` of mkdocstrings-python renders, and theirs."""
    if not (obj.is_class or obj.is_module):
        return
    kept = do_filter_objects(
        obj.all_members,
        filters=options.filters,
        members_list=members,
        inherited_members=options.inherited_members,
        keep_no_docstrings=options.show_if_no_docstring,
    )
    for child in kept:
        try:
            target = child.final_target if child.is_alias else child
        except AliasResolutionError:
            continue
        explicit = options.filters == "public" or members is not None
        if not explicit and child.is_imported and not child.is_public:
            continue
        if target.is_module and not options.show_submodules:
            continue
        if obj.is_class and child.name == "__init__" and options.merge_init_into_class:
            continue
        yield target
        yield from _members(target, options, None)


def _in_docstring(docs: Docs, obj: Any, directive: Directive) -> list[Directive]:
    """The entries in an object's docstring, which are shown with it."""
    if obj.docstring is None or ":::" not in obj.docstring.value:
        return []
    found = []
    for text in _texts(obj.docstring.parsed):
        for identifier, heading, options in docs.recorder.entries(text):
            found.append(Directive(directive.page, directive.line, identifier, heading, options, obj.path))
    return found


def _texts(sections: list[Any]) -> Iterator[str]:
    """Every Markdown text of the parsed sections of a docstring."""
    for section in sections:
        if isinstance(section.value, str):
            yield section.value
        elif isinstance(section.value, list):
            for item in section.value:
                text = item[1] if isinstance(item, tuple) else getattr(item, "description", "")
                if ":::" in str(text) and not str(text).lstrip().startswith(">>>"):
                    yield str(text)
        elif isinstance(getattr(section.value, "description", None), str):
            yield section.value.description
