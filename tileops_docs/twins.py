"""A Markdown twin of each page, and `llms.txt`, which lists them: for tools that read text, not HTML."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from tileops.spec import all_specs
from tileops_docs import where
from tileops_docs.griffe_manifest import found_class, found_object
from tileops_docs.op_markdown import op_markdown, table
from tileops_docs.page import op_page
from tileops_docs.sources import ROOT
from tileops_docs.tables import TABLES, expanded

__all__ = ["describe", "llms_txt", "twin"]

SNIPPET = re.compile(r'^--8<-- "([^"]+)"$', re.MULTILINE)
ENTRY = re.compile(r"^(?:#+ )?::: ?([\w.]+)\n(?:[ ]{4}.*\n|\n(?=[ ]{4}))*", re.MULTILINE)
TAG = r"</?(?:div|span|p|nav|section|wbr)\b[^>]*>"
TAGS = re.compile(TAG)
TOKEN = re.compile(
    r"^(?P<fence>`{3,}|~{3,})[^\n]*\n.*?^(?P=fence)[ ]*$"
    r"|\[(?P<text>(?:`[^`\n]+`|[^\]\n`])+)\]\[(?P<target>[\w.-]+)\]"
    rf"|`[^`\n]+`|(?P<tag>{TAG})",
    re.MULTILINE | re.DOTALL,
)
"""What is code, a reference by name, or markup."""
LENGTH = 180


def twin(source: str, page: str) -> str:
    """The Markdown of a page with its tables and entries in place."""
    text = re.sub(r"\A---\n.*?\n---\n+", "", source, flags=re.DOTALL)
    text = SNIPPET.sub(lambda found: (ROOT / found[1]).read_text(encoding="utf-8"), text)
    text = "\n".join(
        expanded(text.splitlines(), {**TABLES, "operator-index": _index, "operator-replaces": _replaces})
    )
    text = ENTRY.sub(lambda found: _entry(found[1]) + "\n\n", text + "\n")
    text = TOKEN.sub(lambda found: _token(found, page), text)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def describe(source: str) -> str:
    """What a page is about: its first paragraph without markup, cut at a sentence."""
    text = re.sub(r"\A---\n.*?\n---\n+", "", source, flags=re.DOTALL)
    for block in re.split(r"\n\s*\n", text):
        first = TAGS.sub("", block).strip()
        if re.match(r"[A-Za-z`*\[]", first) and not first.startswith(("::", "---")):
            plain = re.sub(r"\[([^\]]+)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", first)
            plain = " ".join(re.sub(r"[`*$\\]|\{\{.*?\}\}", "", plain).split())
            if len(plain) <= LENGTH:
                return plain
            cut = plain[:LENGTH]
            end = cut.rfind(". ")
            return cut[: end + 1] if end > LENGTH // 3 else cut.rpartition(" ")[0] + " …"
    return ""


def llms_txt(pages: list[tuple[str, str, str]], name: str, about: str, site_url: str) -> str:
    """The list of all that there is to read: pages as (title, Markdown file, description), then operators."""
    lines = [f"# {name}", "", f"> {about}", ""]
    lines += [
        "Operators are imported from `tileops`. Every page below is Markdown; its HTML is beside it.",
        "",
    ]
    lines += ["## Pages", ""]
    lines += [f"- [{title}]({site_url}{file}): {said}".removesuffix(": ") for title, file, said in pages]
    lines += ["", "## Operators", ""]
    for spec in sorted(all_specs().values(), key=lambda spec: (spec.family, spec.name)):
        replaces = f"; replaces `{spec.ref_api}`" if spec.ref_api else ""
        said = f"{spec.family}, {spec.status}{replaces}. {_summary(spec.name)}".strip()
        lines.append(f"- [{spec.name}]({site_url}{where.page(spec.name)}): {said}")
    return "\n".join([*lines, ""])


def _summary(name: str) -> str:
    cls = found_class(name)
    return " ".join(cls.docstring.value.strip().partition("\n\n")[0].split()) if cls and cls.docstring else ""


def _entry(path: str) -> str:
    name = path.rpartition(".")[2]
    if name in all_specs() and (cls := found_class(name)) is not None:
        return op_markdown(op_page(name), cls)
    found = found_object(path)
    return _object(found) if found is not None else f"`{path}`"


def _object(obj: Any) -> str:
    """A class or function: its signature, its docstring, and the same of what it has in public."""
    head = f"## {obj.path}" if not obj.parent or obj.parent.is_module else f"### {obj.name}"
    parts = [head]
    if obj.is_function:
        arguments = ", ".join(_parameter(p) for p in obj.parameters if p.name != "self")
        parts.append(f"```python\n{obj.name}({arguments})\n```")
    if obj.docstring:
        parts.append(obj.docstring.value)
    if obj.is_class:
        public = (m for m in obj.members.values() if not m.is_alias and not m.name.startswith("_"))
        parts += [_object(m) for m in public if m.docstring and (m.is_function or "property" in m.labels)]
    return "\n\n".join(parts)


def _parameter(found: Any) -> str:
    stars = {"variadic positional": "*", "variadic keyword": "**"}.get(str(found.kind.value), "")
    annotation = f": {found.annotation}" if found.annotation else ""
    return f"{stars}{found.name}{annotation}" + (f" = {found.default}" if found.default and not stars else "")


def _index(group: str | None = None) -> list[str]:
    specs = all_specs().values()
    wanted = (group or "").replace(".", "_")
    chosen = [s for s in specs if not wanted or wanted in (s.family, where.module(s.name).replace(".", "_"))]
    rows = []
    for spec in sorted(chosen, key=lambda spec: (spec.family, spec.name)):
        dtypes = ", ".join(b.text for b in op_page(spec.name).badges if b.title.endswith(f"may be {b.text}"))
        replaces = f"`{spec.ref_api}`" if spec.ref_api else ""
        rows.append(
            [f"[{spec.name}][{where.identifier(spec.name)}]", spec.family, dtypes, replaces, spec.status]
        )
    return ["", *table(["Operator", "Family", "dtypes", "Replaces", "Status"], rows).splitlines(), ""]


def _replaces(_: str | None = None) -> list[str]:
    found = sorted((s for s in all_specs().values() if s.ref_api), key=lambda s: s.ref_api or "")
    rows = [[f"`{s.ref_api}`", f"[{s.name}][{where.identifier(s.name)}]", s.status] for s in found]
    return ["", *table(["PyTorch", "Operator", "Status"], rows).splitlines(), ""]


def _token(found: re.Match[str], page: str) -> str:
    """Code as it is, markup as nothing, and a reference by name as a link to the twin that has its entry."""
    text, target = found["text"], found["target"]
    if text is None:
        return "" if found["tag"] else found[0]
    if target == "shapes":
        target_page = "how-it-works.md"
    else:
        names = [word for word in reversed(target.split(".")) if word in where.entries()]
        if not names:
            return text
        target_page = where.entries()[names[0]][1]
    return f"[{text}]({posixpath.relpath(target_page, posixpath.dirname(page) or '.')})"


def write(site: Path, name: str, text: str) -> None:
    """Put a text into the built site."""
    (site / name).parent.mkdir(parents=True, exist_ok=True)
    (site / name).write_text(text, encoding="utf-8")
