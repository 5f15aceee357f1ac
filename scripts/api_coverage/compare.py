"""Stage 1: each required name has exactly one entry, on a page that readers reach; nothing else has one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import Any

from mkdocstrings_handlers.python import PythonOptions

from .directives import Directive, Docs, Page
from .lost import mentions, reason_lost
from .placement import page_for, paste_lines
from .project import Project
from .rendered import Rendering, Shown, why_not_shown
from .report import Finding
from .surface import Required, Surface


def compare(project: Project, surface: Surface, docs: Docs, rendering: Rendering) -> Iterator[Finding]:
    """Everything that is missing, in the order of the required names, then what should not be there."""
    if not surface.required:
        modules = ", ".join(project.packages)
        problem = f"nothing is required: no `__all__` of {modules} and no manifest entry names anything"
        yield Finding("nothing-required", project.packages[0], problem)
    comparison = _Comparison(project, surface, docs, rendering)
    for required in surface.required.values():
        yield from comparison.check(required)
    yield from comparison.reverse()


class _Comparison:
    def __init__(self, project: Project, surface: Surface, docs: Docs, rendering: Rendering) -> None:
        self.project, self.surface, self.docs, self.rendering = project, surface, docs, rendering
        self.by_canonical: dict[str, list[Shown]] = {}
        for shown in rendering.shown:
            self.by_canonical.setdefault(shown.canonical, []).append(shown)
        self.lost = {page.file: _lost(page) for page in docs.pages.values()}

    def check(self, required: Required) -> Iterator[Finding]:
        shown = self.by_canonical.get(required.canonical, [])
        own = [s for s in shown if s.own]
        in_nav = [s for s in shown if self._reached(s)]
        if required.parent and not shown:
            yield from self._method(required)
            return
        if required.op and not own and self.project.requires("pages"):
            yield self._missing(required, shown)
            return
        if not shown:
            yield self._missing(required, shown)
            return
        if not in_nav:
            at = shown[0].directive
            problem = f"its only entry is on {at.page}, which is not in the nav"
            yield self._finding(required, "outside-nav", problem, at)
            return
        if self.project.requires("unique") and self._twice(shown):
            yield self._duplicate(required, shown)
        for place in own if self.project.requires("pages") else ():
            yield from self._heading(required, place)
        if required.op and own and self.project.requires("pages"):
            yield from self._wrong_page(required, own[0])

    def _twice(self, shown: list[Shown]) -> bool:
        """Whether one page, or two that are no translations of each other, show it twice."""
        places = [self.docs.pages[s.directive.page] for s in shown]
        return len({page.file for page in places}) < len(places) or len({page.neutral for page in places}) > 1

    def _reached(self, shown: Shown) -> bool:
        """Whether its page, or one that it is a translation of, is in the nav."""
        page = self.docs.pages[shown.directive.page]
        return page.in_nav or any(p.in_nav for p in self.docs.shown if p.neutral == page.neutral)

    def _finding(self, required: Required, code: str, problem: str, at: Directive | None = None) -> Finding:
        why = "; ".join(required.why)
        if at is not None:
            return Finding(code, required.name, problem, why, at.page, file=at.page, line=at.line)
        return Finding(code, required.name, problem, why, file=required.file, line=required.line)

    def _missing(self, required: Required, shown: list[Shown]) -> Finding:
        page = page_for(self.project, self.docs, self.rendering, required)
        paste = paste_lines(self.docs, self.rendering, required, page)
        problem, line = "it has no entry on the site", 0
        near = self._near_miss(required)
        file = page
        if shown:
            at = shown[0].directive
            problem = f"an operator needs its own entry; only `::: {at.identifier}` on {at.page} shows it"
            file, line = at.page, at.line
        elif near:
            hint, file, line = near
            problem = f"{problem}: {hint}"
        return Finding("missing", required.name, problem, "; ".join(required.why), page, paste, file, line)

    def _near_miss(self, required: Required) -> tuple[str, str, int] | None:
        """Text that was meant to be it: lost, on a page that is not built, misspelled; or what omits it."""
        spellings = {required.canonical, required.entry}
        for page in self.docs.pages.values():
            for line, identifier, reason in self.lost[page.file]:
                obj = self.surface.resolve(identifier)
                if identifier not in spellings and (obj is None or obj.path != required.canonical):
                    continue
                if page.state != "shown":
                    state = "a draft" if page.state == "draft" else "excluded from the build"
                    return f"{page.file}:{line} has it, and that page is {state}", page.file, line
                return f"{page.file}:{line} has it, and {reason}", page.file, line
        names = {d.identifier.rpartition(".")[2]: d for d in self.rendering.unknown}
        if close := _closest(required.entry, names):
            at = names[close]
            return f"`::: {at.identifier}` in {at.page} may be meant for it", at.page, at.line
        if around := self._around(required):
            at, obj, options = around
            why = why_not_shown(required.obj, at, obj, options)
            return f"in scope but not rendered: {why}", at.page, at.line
        return None

    def _around(self, required: Required) -> tuple[Directive, Any, PythonOptions] | None:
        """The entry of the nearest module or class that the name is in, or of a module that imports it."""
        paths = [required.canonical, required.entry]
        found = [
            (directive, obj, options)
            for directive, obj, options in self.rendering.targets
            if any(path.startswith(f"{obj.path}.") for path in paths)
            and (obj.is_module or obj.path == required.parent)
        ]
        return max(found, key=lambda each: len(each[1].path), default=None)

    def _method(self, required: Required) -> Iterator[Finding]:
        if required.parent not in self.by_canonical:
            return  # the class is missing as a whole, and said to be
        around = self._around(required)
        if around is None:
            at = self.by_canonical[required.parent][0].directive
            yield self._finding(required, "missing-member", f"`::: {at.identifier}` does not show it", at)
            return
        at, obj, options = around
        why = f"in scope but not rendered: {why_not_shown(required.obj, at, obj, options)}"
        yield self._finding(required, "missing-member", why, at)

    def _duplicate(self, required: Required, shown: list[Shown]) -> Finding:
        places = [f"`::: {s.directive.identifier}` in {_place(s.directive)}" for s in shown]
        problem = f"it is shown {len(shown)} times: {', '.join(places)}; keep one"
        return self._finding(required, "duplicate", problem, shown[-1].directive)

    def _heading(self, required: Required, place: Shown) -> Iterator[Finding]:
        if not place.heading:
            problem = (
                "its entry has no heading (`show_root_heading: false`), so readers cannot find or link it"
            )
            yield self._finding(required, "headless", problem, place.directive)
        if not place.in_inventory:
            problem = "its entry has `skip_local_inventory: true`, so no other site can link it"
            yield self._finding(required, "no-inventory", problem, place.directive)

    def _wrong_page(self, required: Required, place: Shown) -> Iterator[Finding]:
        have = place.directive.page.rpartition("/")[2].removesuffix(".md")
        family = required.op.family if required.op else have
        if have != family and not have.startswith(f"{family}_"):
            page = page_for(self.project, self.docs, self.rendering, required)
            problem = f"its entry is on {place.directive.page}, and its family is {family}"
            at = place.directive
            why = "; ".join(required.why)
            yield Finding("wrong-page", required.name, problem, why, page, file=at.page, line=at.line)

    def reverse(self) -> Iterator[Finding]:
        """Entries for what is not public, and entries for what does not exist."""
        known = {r.entry.rpartition(".")[2]: r.entry for r in self.surface.required.values()}
        for directive in self.rendering.unknown:
            if not self._is_read(directive.identifier):
                continue
            problem = "no such name in the sources"
            if close := _closest(directive.identifier, known):
                problem += f"; perhaps `::: {known[close]}`"
            yield Finding("unknown", directive.identifier, problem, file=directive.page, line=directive.line)
        for directive, obj, _ in self.rendering.targets if self.project.requires("public") else ():
            if not self._is_public(obj):
                problem = "it has an entry and is not public: no `__all__` names it"
                yield Finding(
                    "not-public", directive.identifier, problem, file=directive.page, line=directive.line
                )

    def _is_read(self, identifier: str) -> bool:
        """Whether a path is of a package that is checked; where `public` is required, every path is to be."""
        top = identifier.partition(".")[0]
        return self.project.requires("public") or top in {p.partition(".")[0] for p in self.project.packages}

    def _is_public(self, obj: Any) -> bool:
        if obj.path in self.surface.required or obj.path in self.surface.modules:
            return True
        if obj.is_module:  # a module that holds public names, such as a family's
            return any(r.canonical.startswith(f"{obj.path}.") for r in self.surface.required.values())
        if any(part.startswith("_") for part in obj.path.split(".")):
            return False
        while not obj.parent.is_module:  # a member is as public as its class
            obj = obj.parent
        return obj.path in self.surface.required or obj.name in (obj.parent.exports or ())


def _closest(path: str, names: Iterable[str]) -> str:
    return next(iter(difflib.get_close_matches(path.rpartition(".")[2], names, n=1, cutoff=0.8)), "")


def _place(directive: Directive) -> str:
    return f"{directive.page}:{directive.line}" if directive.line else directive.page


def _lost(page: Page) -> list[tuple[int, str, str]]:
    """The mentions that are not entries, as line, identifier, reason; all, on a page that is not built."""
    lines = page.source.splitlines()
    taken = {directive.line for directive in page.directives}
    found = []
    for line, identifier in mentions(page.source):
        if line not in taken:
            reason = reason_lost(lines, line) or "the site's Markdown does not make it an entry"
            found.append((line, identifier, reason))
    return found
