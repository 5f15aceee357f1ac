"""Stage 2: what the built site holds: inventory, manifest blocks, no raw TeX, no address outside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from mkdocstrings import Inventory

from .assets import check_assets
from .directives import Docs
from .htmltree import Node, parse
from .manifest import ManifestOp
from .project import Project
from .report import Finding
from .surface import Required, Surface

_RAW_TEX = re.compile(r"\\[A-Za-z]+|\\[()\[\]]|\$")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def check_site(project: Project, docs: Docs, surface: Surface, site: Path) -> list[Finding]:
    """Everything that a reader of the built site would miss."""
    pages = {path.relative_to(site).as_posix(): parse(path) for path in sorted(site.rglob("*.html"))}
    sources = {url: page.file for page in docs.shown for url in page.urls}
    blocks = project.requires("pages")
    findings = list(_entries(surface, sources, site, pages, blocks))
    for url, page in pages.items() if blocks else ():
        findings += _text(sources.get(url, url), page)
    return [*findings, *(check_assets(sources, site, pages) if blocks else ())]


def _entries(
    surface: Surface, sources: dict[str, str], site: Path, pages: dict[str, Node], blocks: bool
) -> Iterator[Finding]:
    path = site / "objects.inv"
    if not path.is_file():
        yield Finding("no-inventory", "objects.inv", "the site has no inventory; is `enable_inventory` off?")
        return
    with path.open("rb") as file:
        inventory = Inventory.parse_sphinx(file)
    for required in surface.required.values():
        item = inventory.get(required.canonical) or inventory.get(required.entry)
        if item is None:
            yield _finding(required, "not-in-inventory", "the built site's inventory does not hold it")
            continue
        url, _, anchor = item.uri.partition("#")
        url = f"{url}index.html" if url.endswith("/") or not url else url
        anchor = anchor.replace("$", item.name)
        yield from _entry(required, pages.get(url), anchor, sources.get(url, url), blocks)


def _entry(
    required: Required, page: Node | None, anchor: str, source: str, blocks: bool
) -> Iterator[Finding]:
    heading = next(page.find("id", anchor), None) if page is not None else None
    if page is None or heading is None or (blocks and _is_hidden(heading)):
        yield _finding(required, "not-on-page", f"the built page has no visible place `#{anchor}`", source)
        return
    if blocks and not re.fullmatch("h[1-6]", heading.tag):
        yield _finding(required, "headless", "its place on the built page is no heading", source)
    if required.op is None or not blocks:
        return
    block = next(page.find("data-op", required.op.name), None)
    if block is None or "op-manifest" not in block.classes or _is_hidden(block):
        problem = "its page has no manifest block; is the template of the class in `custom_templates`?"
        yield _finding(required, "no-manifest-block", problem, source)
        return
    summary = _words(required.obj.docstring.value.strip().split("\n\n")[0])
    if summary and not _holds_words(block, summary):
        problem = "the first sentence of its docstring is not on the built page"
        yield _finding(required, "no-summary-on-page", problem, source)
    for problem in _block(required.op, block):
        yield _finding(required, "manifest-block", problem, source)


def _block(op: ManifestOp, block: Node) -> Iterator[str]:
    """What the manifest declares and the block does not show."""
    if block.attrs.get("data-status", op.status) != op.status:
        yield f"its manifest block says {block.attrs['data-status']}, and its status is {op.status}"
    for kind, names in (("input", op.inputs), ("output", op.outputs), ("param", op.params)):
        for name in names:
            rows = list(block.find(f"data-{kind}", name))
            if not any(name in _cells(row) for row in rows):
                yield f"its manifest block does not show the {kind} {name}"
    shown = list(_shown_rows(block))
    for row in op.rows:
        if row and not any(row.items() <= have.items() for have in shown):
            text = ", ".join(f"{slot}: {dtype}" for slot, dtype in row.items())
            yield f"its manifest block does not show the dtype row {text}"
    rules = [row.text() for row in block.find("data-rule") if not _is_hidden(row)]
    for message in op.messages:
        if not any(" ".join(message.split()) in text for text in rules):
            yield f"its manifest block does not show the rule message {message!r}"


def _cells(row: Node) -> list[str]:
    if _is_hidden(row):
        return []
    return [node.text() for node in row.tags("code", "td", "th", "dt", "span") if not _is_hidden(node)]


def _shown_rows(block: Node) -> Iterator[dict[str, str]]:
    """The dtype rows, as slot and dtype: the head of the table names the slots."""
    for row in block.find("data-row"):
        table = row
        while table.tag != "table" and table.parent is not None:
            table = table.parent
        heads = [cell.text() for cell in table.tags("th")]
        if not _is_hidden(row):
            yield dict(zip(heads, [cell.text() for cell in row.tags("td")], strict=False))


def _is_hidden(node: Node) -> bool:
    at: Node | None = node
    while at is not None:
        if at.hidden:
            return True
        at = at.parent
    return False


def _words(markdown: str) -> list[str]:
    """The words of a Markdown text that survive rendering: neither formulas nor link targets nor markup."""
    text = re.sub(r"\$[^$]*\$|\]\([^)]*\)|<[^>]*>", " ", markdown)
    return re.findall(r"[A-Za-z]{3,}", text)


def _holds_words(block: Node, wanted: list[str]) -> bool:
    text = "".join(text for text, kind in block.visible() if kind != "math")
    shown = iter(re.findall(r"[A-Za-z]{3,}", text))
    return all(word in shown for word in wanted)  # in this order


def _text(source: str, page: Node) -> Iterator[Finding]:
    """Raw TeX outside code, and control characters anywhere, in what readers see and in the title."""
    titles = [(text, "text") for node in page.tags("title") for text in _strings(node)]
    texts = [*page.visible(), *titles]
    for text, kind in texts:
        if found := _CONTROL.search(text):
            problem = (
                f"the built page shows the control character {found[0]!r} in {_near(text, found.start())}"
            )
            yield Finding("control-character", source, problem, file=source)
        elif kind == "text" and (found := _RAW_TEX.search(text)):
            problem = f"the built page shows raw TeX, `{found[0]}`, in {_near(text, found.start())}"
            yield Finding("raw-tex", source, problem, file=source)


def _strings(node: Node) -> list[str]:
    return [child for child in node.children if isinstance(child, str)]


def _near(text: str, at: int) -> str:
    return repr(" ".join(text[max(at - 30, 0) : at + 40].split()))


def _finding(required: Required, code: str, problem: str, page: str = "") -> Finding:
    file, line = (page, 0) if page else (required.file, required.line)
    return Finding(code, required.name, problem, "; ".join(required.why), page, file=file, line=line)
