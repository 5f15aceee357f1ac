"""An operator's page as Markdown: what the HTML page says, for tools that read text."""

from __future__ import annotations

from typing import Any

from tileops_docs.calculator import workload_cost
from tileops_docs.page import OpPage
from tileops_docs.performance import number, performance

__all__ = ["op_markdown", "table"]


def op_markdown(page: OpPage, cls: Any) -> str:
    """The whole page of an operator, below a heading of the second level."""
    spec, said = page.spec, page.descriptions(cls)
    parts = [f"## {page.name}", f"Status: {spec.status}. " + ", ".join(b.text for b in page.badges[1:]) + "."]
    sections = cls.docstring.parsed if cls.docstring else []
    parts += [section.value for section in sections if section.kind.value == "text"]
    if spec.ref_api:
        parts.append(f"Replaces `{spec.ref_api}`.")
    if page.twin:
        parts.append(f"{page.twin[0]}: [`{page.twin[1]}`][{page.identifier(page.twin[1])}].")
    parts += ["### Call", f"```python\n{page.call}\n```", "### Tensors", _tensors(page, said)]
    if page.public_lets:
        parts.append(
            "Where " + ", ".join(f"`{name} = {text}`" for name, text in page.public_lets.items()) + "."
        )
    if spec.params:
        rows = [
            [
                f"`{n}`",
                f"`{page.type(n)}`",
                f"`{page.default(n)}`" if not p.required else "required",
                said.get(n, ""),
            ]
            for n, p in spec.params.items()
        ]
        parts += ["### Params", table(["Param", "Type", "Default", "Meaning"], rows)]
    if page.slots:
        heads = [f"`{slot}`" for slot in page.slots] + (["Runs"] if spec.implemented else [])
        rows = [
            [
                *(f"`{d}`" for d in dtypes),
                *([", ".join(serving) or "not implemented"] if spec.implemented else []),
            ]
            for dtypes, serving in page.rows
        ]
        parts += ["### Dtype rows", table(heads, rows)]
    if spec.rules:
        rows = [[str(n), f"`{r.rule}`", f"{page.name}: {r.message}"] for n, r in enumerate(spec.rules, 1)]
        parts += ["### Rules", table(["#", "Must hold", "Else the call raises"], rows)]
    parts += _docstring_parts(sections)
    if page.programs:
        rows = [
            [
                f"`{r.name}`",
                " and ".join(f"`{d.rule}`" for d in r.implementation.domain) or "always",
                r.source.path,
            ]
            for r in page.programs
        ]
        parts += ["### Implementations", table(["Name", "Serves a call when", "Program"], rows)]
    parts += ["### Cost", _cost(page)]
    if measured := _measured(page):
        parts += ["### Performance on an H200", measured]
    return "\n\n".join(part.strip("\n") for part in parts)


def _tensors(page: OpPage, said: dict[str, str]) -> str:
    rows = []
    for tensor in page.tensors:
        dtype = " or ".join(tensor.dtypes) or " else ".join(
            filter(None, [tensor.param, f"that of {tensor.same_as}" if tensor.same_as else ""])
        )
        meaning = " ".join([said.get(tensor.name, ""), *(f"({note})" for note in tensor.notes)])
        rows.append([f"`{tensor.name}`", tensor.role, f"`{tensor.shape or 'scalar'}`", dtype, meaning])
    return table(["Tensor", "", "Shape", "dtype", "Meaning"], rows)


def _docstring_parts(sections: list[Any]) -> list[str]:
    parts = []
    for section in sections:
        if section.kind.value == "examples":
            body = "\n\n".join(
                text if kind.value == "text" else f"```pycon\n{text}\n```" for kind, text in section.value
            )
            parts += ["### Example", body]
        if section.kind.value == "admonition":
            parts += [f"### {section.title}", section.value.contents]
    return parts


def _cost(page: OpPage) -> str:
    spec = page.spec
    moved = f"`{spec.roofline.bytes}`" if spec.roofline.bytes else "every input and every output once"
    lines = [f"Operations: `{spec.roofline.flops}`. Bytes: {moved}."]
    rows = []
    for workload in spec.workloads:
        figures = workload_cost(spec, workload)
        rows.append([str(workload.get("label", "")), f"`{page.workload(workload)}`", *figures])
    head = ["Workload", "Sizes", "Operations", "Bytes", "Speed of light, µs"]
    return "\n\n".join([*lines, *([table(head, rows)] if rows else [])])


def _measured(page: OpPage) -> str:
    found = performance(page.name) if page.spec.implemented else None
    if found is None:
        return ""
    rows = [
        [
            r.label,
            r.dtypes,
            number(r.us),
            r.strongest,
            number(r.peer_us),
            r.percent,
            "stale" if r.stale else "",
        ]
        for r in found.measured
    ]
    facts = ", ".join(f"{name} {value}" for name, value in found.facts.items())
    head = ["Workload", "dtype", "Time, µs", "Strongest peer", "Its time, µs", "Speed of light, %", ""]
    return f"{facts}.\n\n{table(head, rows)}"


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table; a `|` in a cell is escaped."""
    lines = [head, ["---"] * len(head), *rows]
    cells = [[" ".join(cell.replace("|", "\\|").split()) for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)
