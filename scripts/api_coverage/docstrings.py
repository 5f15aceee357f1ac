"""What a docstring must hold: a summary, a formula, arguments that match the signature, an example."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from griffe import DocstringSectionKind

from .report import Finding
from .surface import Required

_DISPLAY = re.compile(r"(?:^|\n)[ \t]*\n?[ \t]*\$\$.+?\$\$", re.S)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def check(required: Required) -> Iterator[Finding]:
    """What is wrong with the docstring of a required name."""
    obj = required.obj
    if obj.is_module or (obj.is_attribute and "property" not in obj.labels):
        return
    if obj.docstring is None or not obj.docstring.value.strip():
        yield _finding(required, "no-docstring", _no_docstring(required))
        return
    text, sections = obj.docstring.value, obj.docstring.parsed
    if found := _CONTROL.search(text):
        problem = f'its docstring holds the control character {found[0]!r}: an escape; make it raw (r""")'
        yield _finding(required, "control-character", problem)
    if not _has_summary(sections):
        yield _finding(
            required, "no-summary", "its docstring does not start with a sentence that says what it is"
        )
    if required.op and not _DISPLAY.search(text):
        yield _finding(
            required, "no-formula", "its docstring has no display formula (`$$` on lines of their own)"
        )
    yield from _arguments(required, sections)
    if _wants_example(required) and not _has_example(sections):
        problem = "its docstring has no example (`Examples:` with lines that start with `>>>`)"
        yield _finding(required, "no-example", problem)


def _finding(required: Required, code: str, problem: str) -> Finding:
    return Finding(
        code, required.name, problem, "; ".join(required.why), file=required.file, line=required.line
    )


def _no_docstring(required: Required) -> str:
    if required.obj.docstring is not None:
        return "its docstring is empty"
    if required.obj.is_class and any(base.docstring for base in _bases(required.obj)):
        return "it has no docstring of its own; the one that it inherits describes another class"
    if required.parent and required.obj.parent is not None:
        name = required.obj.name
        owners = [base for base in _bases(required.obj.parent) if name in base.members]
        if any(base.members[name].docstring for base in owners):
            return "it has no docstring of its own; the one that it inherits describes another method"
    return "it has no docstring"


def _bases(obj: Any) -> list[Any]:
    try:
        return list(obj.mro())
    except ValueError:
        return []


def _has_summary(sections: list[Any]) -> bool:
    if not sections or sections[0].kind is not DocstringSectionKind.text:
        return False
    first = sections[0].value.strip().split("\n\n")[0]
    return bool(re.search(r"[A-Za-z]{2}", first)) and not first.startswith(
        ("$$", ">>>", "```", ":::", "|", "#")
    )


def _wants_example(required: Required) -> bool:
    """Operators, classes and functions; not exceptions, and not methods, whose class has one."""
    if required.parent:
        return False
    if required.op or required.obj.is_function:
        return True
    return required.obj.is_class and not _is_exception(required.obj)


def _is_exception(obj: Any) -> bool:
    names = [str(base) for cls in [obj, *_bases(obj)] for base in cls.bases]
    return any(name.rpartition(".")[2].endswith(("Error", "Exception", "Warning")) for name in names)


def _has_example(sections: list[Any]) -> bool:
    examples = [section for section in sections if section.kind is DocstringSectionKind.examples]
    return any(">>>" in text for section in examples for _, text in section.value)


def _arguments(required: Required, sections: list[Any]) -> Iterator[Finding]:
    documented = _documented(sections)
    obj = required.obj
    if obj.is_function:
        accepted = _parameters(obj)
        needed = [name for name in accepted if not name.startswith("*")]
    elif obj.is_class:
        init = obj.members.get("__init__")
        own = _parameters(init) if init is not None and init.is_function else _fields(obj)
        documented = documented | _documented_by(init)
        # `target` and `implementation` are described once, on the base class.
        inherited = _documented_by_bases(obj)
        needed = [name for name in own if name not in inherited and not name.startswith("*")]
        accepted = own
    else:
        return
    forward = obj.members.get("forward") if required.op else None
    unknown = [name for name in documented if name not in accepted]
    if required.op:
        of_call = _documented_by(forward)
        described = documented | of_call
        if forward is not None and forward.is_function:
            unknown += [name for name in of_call if name not in _parameters(forward)]
        needed += [name for name in (*required.op.params, *required.op.inputs) if name not in described]
    problems = []
    if missing := dict.fromkeys(name for name in needed if name not in documented):
        problems.append(f"`Args:` leaves out {', '.join(missing)}")
    if unknown:
        problems.append(f"`Args:` names {', '.join(unknown)}, which the signature has not")
    if problems:
        yield _finding(required, "arguments", "; ".join(problems))


def _documented(sections: list[Any]) -> dict[str, None]:
    kinds = (DocstringSectionKind.parameters, DocstringSectionKind.other_parameters)
    return {item.name: None for section in sections if section.kind in kinds for item in section.value}


def _documented_by(function: Any) -> dict[str, None]:
    if function is None or function.docstring is None:
        return {}
    return _documented(function.docstring.parsed)


def _parameters(function: Any) -> list[str]:
    names = []
    for parameter in function.parameters:
        stars = {"variadic positional": "*", "variadic keyword": "**"}.get(
            str(getattr(parameter.kind, "value", "")), ""
        )
        names.append(stars + parameter.name)
    is_bound = (
        function.parent is not None and function.parent.is_class and "staticmethod" not in function.labels
    )
    return names[1:] if is_bound else names


def _fields(obj: Any) -> list[str]:
    """Without an `__init__` the annotated names of a dataclass are its arguments."""
    if "dataclass" not in obj.labels:
        return []
    return [
        name
        for name, m in obj.members.items()
        if m.is_attribute and m.annotation and "property" not in m.labels
    ]


def _documented_by_bases(obj: Any) -> dict[str, None]:
    found: dict[str, None] = {}
    for base in _bases(obj):
        if base.docstring is not None:
            found |= _documented(base.docstring.parsed)
    return found
