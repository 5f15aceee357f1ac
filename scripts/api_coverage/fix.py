"""`--fix`: puts missing entries where they belong, in the style of the page, and changes nothing else.

An entry is written beside those of the same module, in the order of the source, with what stands before and
between them: indentation, list marks, heading levels, blank lines, options, line ends. A name that a list of
`members` leaves out goes into that list. A page that does not exist is made; its line in the nav is the
reader's to choose.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .directives import Directive, Docs
from .placement import page_for, paste_lines
from .project import Project
from .rendered import Rendering
from .report import Finding
from .surface import Required, Surface

_FIXED = ("missing", "missing-member")


@dataclass(frozen=True)
class Edit:
    """Lines to put before line `at` of a file, counted from 0; with `replace`, in its place."""

    at: int
    lines: tuple[str, ...]
    replace: bool = False


def fix(
    project: Project, surface: Surface, docs: Docs, rendering: Rendering, findings: Iterable[Finding]
) -> list[str]:
    """Write what is missing; the names that were written, each with its page."""
    edits: dict[str, list[Edit]] = {}
    made: dict[str, list[str]] = {}
    done = []
    by_name = {required.name: required for required in surface.required.values()}
    for finding in findings:
        required = by_name.get(finding.subject)
        if finding.code not in _FIXED or required is None:
            continue
        listed = _into_a_list(project, rendering, required)
        if listed is not None:
            page, edit = listed
            edits.setdefault(page, []).append(edit)
        elif finding.code == "missing":
            page = page_for(project, docs, rendering, required)
            lines = paste_lines(docs, rendering, required, page)
            if page in docs.pages:
                edits.setdefault(page, []).append(_beside(project, rendering, required, page, lines))
            else:
                made.setdefault(page, []).append("\n".join(lines))
        else:
            continue
        done.append(f"{required.name} in {page}")
    for page, found in edits.items():
        _apply(project.root / page, found)
    for page, entries in made.items():
        title = Path(page).stem.replace("_", " ").capitalize()
        (project.root / page).parent.mkdir(parents=True, exist_ok=True)
        (project.root / page).write_text("\n\n".join([f"# {title}", *entries]) + "\n", encoding="utf-8")
    return done


def _read(path: Path) -> list[str]:
    return path.read_bytes().decode("utf-8").splitlines(keepends=True)


def _apply(path: Path, edits: list[Edit]) -> None:
    lines = _read(path)
    end = "\r\n" if any(line.endswith("\r\n") for line in lines) else "\n"
    merged: dict[int, list[Edit]] = {}
    for edit in edits:
        merged.setdefault(edit.at, []).append(edit)
    for at in sorted(merged, reverse=True):
        new = [f"{line}{end}" for edit in merged[at] for line in edit.lines]
        if at >= len(lines) and lines and not lines[-1].endswith("\n"):
            lines[-1] += end
            new[-1] = new[-1].removesuffix(end)  # the file ends as it did
        replaced = [edit for edit in merged[at] if edit.replace]
        if len(replaced) > 1:  # several names into one list of one line
            new = [f"{_join(lines[at], replaced)}{end}"]
        lines[at : at + bool(replaced)] = new
    path.write_bytes("".join(lines).encode("utf-8"))


# ------------------------------------------------------------------------------------- beside its neighbours
def _beside(
    project: Project, rendering: Rendering, required: Required, page: str, lines: tuple[str, ...]
) -> Edit:
    text = [line.rstrip("\r\n") for line in _read(project.root / page)]
    here = [(d, obj) for d, obj, _ in rendering.targets if d.page == page and d.line and not d.within]
    siblings = [pair for pair in here if _module(pair[1]) == _module(required.obj)] or here
    if not siblings:
        end = len(text)
        while end and not text[end - 1].strip():
            end -= 1
        return Edit(end, ("", *lines) if end else lines)
    line = required.obj.lineno or 0
    before = [
        pair for pair in siblings if _module(pair[1]) == _module(required.obj) and pair[1].lineno < line
    ]
    after_it = before or (siblings if _module(siblings[0][1]) != _module(required.obj) else [])
    if after_it:
        anchor = max(after_it, key=lambda pair: pair[0].line)[0]
        at = _end(text, anchor)
        return Edit(at, (*_between(text, here, anchor, required), *_prefixed(text, anchor, lines)))
    anchor = min(siblings, key=lambda pair: pair[0].line)[0]
    between = _between(text, here, anchor, required)
    own = tuple(part for part in between if part.strip(" >"))
    head = _start(text, anchor, len(own))
    blank = tuple(part for part in between if not part.strip(" >"))[:1]
    above = (*own, *blank) if own else ()
    return Edit(head, (*above, *_prefixed(text, anchor, lines), *blank))


def _module(obj: Any) -> str:
    while not obj.is_module:
        obj = obj.parent
    return str(obj.path)


def _prefix(line: str) -> str:
    """What stands before the colons."""
    return line[: line.index(":::")]


def _prefixed(text: list[str], anchor: Directive, lines: tuple[str, ...]) -> list[str]:
    prefix = _prefix(text[anchor.line - 1])
    first = f"{prefix}{lines[0][lines[0].index(':::') :]}"
    rest = re.sub(r"[-*+]|\d+[.)]|#+ ?", lambda found: " " * len(found[0]), prefix)
    rest = rest if prefix.strip(" #") else ""
    return [first, *(f"{rest}{line}".rstrip() for line in lines[1:])]


def _end(text: list[str], directive: Directive) -> int:
    """The first line behind an entry and its options."""
    line = text[directive.line - 1]
    indent, at = len(line) - len(line.lstrip()), directive.line
    end = at
    while at < len(text):
        if text[at].strip(" >"):
            width = len(text[at].replace(">", " ")) - len(text[at].replace(">", " ").lstrip())
            if width < indent + 4 or text[at].lstrip(" >-*+").startswith(":::"):
                break
            end = at + 1
        at += 1
    return end


def _start(text: list[str], directive: Directive, own: int) -> int:
    """The first line of an entry, with as many lines of its own above it as there are between entries."""
    at = directive.line - 1
    while own and at:
        at -= 1
        own -= bool(text[at].strip(" >"))
    return at


def _between(
    text: list[str], here: list[tuple[Directive, Any]], anchor: Directive, required: Required
) -> list[str]:
    """What the page has between two entries: blank lines, and headings that name the entry."""
    ordered = sorted((d for d, _ in here), key=lambda d: d.line)
    for first, second in itertools.pairwise(ordered):
        lines = text[_end(text, first) : second.line - 1]
        said = [line for line in lines if line.strip(" >")]
        name = second.identifier.rpartition(".")[2]
        if all(re.search(rf"\b{re.escape(name)}\b", line) and line.lstrip().startswith("#") for line in said):
            return [re.sub(rf"\b{re.escape(name)}\b", required.obj.name, line) for line in lines]
    prefix = _prefix(text[anchor.line - 1])
    return [prefix.rstrip() if prefix.strip() == ">" else ""]


# ---------------------------------------------------------------------------------- into a list of members
def _into_a_list(project: Project, rendering: Rendering, required: Required) -> tuple[str, Edit] | None:
    """The edit that adds a name to the `members` of the entry around it, where that is a list."""
    around = [
        (d, obj, o)
        for d, obj, o in rendering.targets
        if d.line and not d.within and obj.path == required.canonical.rpartition(".")[0]
    ]
    if not around or not isinstance(around[0][2].members, list):
        return None
    directive, obj, _ = around[0]
    text = [line.rstrip("\r\n") for line in _read(project.root / directive.page)]
    for at in range(directive.line, _end(text, directive)):
        line = text[at]
        if re.match(r"^[ >]*members: *\[[^\]]*\] *$", line):
            return directive.page, Edit(at, (_added(line, required.obj.name),), replace=True)
        if re.match(r"^[ >]*members: *$", line):
            names = [m.name for m in obj.members.values()]
            last = at
            for row in range(at + 1, _end(text, directive)):
                found = re.match(r"^[ >]*- *[\"']?(\w+)[\"']? *$", text[row])
                if not found:
                    break
                if names.index(found[1]) < names.index(required.obj.name) if found[1] in names else True:
                    last = row
            model = text[last] if last > at else text[at + 1]
            return directive.page, Edit(last + 1, (re.sub(r"\w+", required.obj.name, model, count=1),))
    return None


def _added(line: str, name: str) -> str:
    quote = next((mark for mark in "\"'" if mark in line), "")
    comma = ", " if re.search(r"\[ *[^\] ]", line) else ""
    return re.sub(r" *\]( *)$", rf"{comma}{quote}{name}{quote}]\1", line)


def _join(line: str, edits: list[Edit]) -> str:
    """One line with what each of several edits adds to it."""
    out = line.rstrip("\r\n")
    for edit in edits:
        name = re.findall(r"\w+", edit.lines[0])[-1]
        out = _added(out, name)
    return out
