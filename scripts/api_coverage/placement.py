"""Where a missing entry belongs, and the lines to paste, in the style of the page."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import PurePosixPath

from .directives import Directive, Docs
from .project import Project
from .rendered import Rendering
from .surface import Required


def page_for(project: Project, docs: Docs, rendering: Rendering, required: Required) -> str:
    """The page that should hold the entry: the family's, else the one that holds its neighbours."""
    api = _api_folder(project, docs)
    if required.op and required.op.family:
        family = required.op.family
        of_family = re.compile(rf"{re.escape(family)}(_\w+)?\.md")
        pages = [name for name in docs.pages if of_family.fullmatch(PurePosixPath(name).name)]
        siblings = _pages_of_module(rendering, required)
        for page in siblings:
            if page in pages:
                return page
        return next((page for page in pages if PurePosixPath(page).stem == family), f"{api}/{family}.md")
    neighbours = _pages_of_module(rendering, required)
    if neighbours:
        return neighbours[0]
    return f"{api}/{required.canonical.split('.')[-2]}.md"


def paste_lines(docs: Docs, rendering: Rendering, required: Required, page: str) -> tuple[str, ...]:
    """The entry as the others of the page, else of the site, are written: heading, path, options."""
    like = [d for d, obj, _ in rendering.targets if not d.within and obj.is_class == required.obj.is_class]
    here = [d for d in like if d.page == page] or like
    heading = Counter(d.heading for d in here).most_common(1)[0][0] if here else 0
    options = Counter(d.options.strip("\n") for d in here).most_common(1)[0][0] if here else ""
    prefix = "#" * heading + " " if heading else ""
    identifier = required.canonical if _writes_canonical(here, rendering) else required.entry
    indented = [f"    {line}" if line else "" for line in options.splitlines()]
    return (f"{prefix}::: {identifier}", *indented)


def _writes_canonical(here: list[Directive], rendering: Rendering) -> bool:
    canonical = {d: obj.path for d, obj, _ in rendering.targets}
    return bool(here) and sum(d.identifier == canonical[d] for d in here) > len(here) / 2


def _api_folder(project: Project, docs: Docs) -> str:
    """The folder that holds most entries."""
    folders = Counter(p.file.rpartition("/")[0] for p in docs.shown for _ in p.directives)
    return folders.most_common(1)[0][0] if folders else f"{project.relative(docs.config.docs_dir)}/api"


def _pages_of_module(rendering: Rendering, required: Required) -> list[str]:
    module = required.canonical.rpartition(".")[0]
    around = [d.page for d, obj, _ in rendering.targets if obj.is_module and obj.path == module]
    pages = [d.page for d, obj, _ in rendering.targets if obj.path.rpartition(".")[0] == module]
    public = required.entry.rpartition(".")[0]
    spelled = [d.page for d, _, _ in rendering.targets if d.identifier.rpartition(".")[0] == public]
    return [page for page, _ in Counter(around + pages or spelled).most_common()]
