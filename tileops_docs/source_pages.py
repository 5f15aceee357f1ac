"""Pages of the site that show source files, with an anchor for each line; operators link to them."""

from __future__ import annotations

import posixpath
from functools import cache

from tileops.spec import all_specs
from tileops_docs import where
from tileops_docs.code import marked_up
from tileops_docs.sources import ROOT

__all__ = ["FOLDER", "html", "markdown", "page_name", "paths", "url"]

FOLDER = "source"


@cache
def paths() -> dict[str, list[str]]:
    """Files that have a page, by path in the checkout, each with the operators that link to it."""
    found: dict[str, list[str]] = {}
    for spec in all_specs().values():
        for path in _of(spec.name):
            found.setdefault(path, []).append(spec.name)
    for file in sorted((ROOT / "tileops" / "kernels").rglob("*.py")):  # what programs share
        found.setdefault(file.relative_to(ROOT).as_posix(), [])
    return dict(sorted(found.items()))


def _of(name: str) -> dict[str, None]:
    from tileops_docs.page import op_page

    page = op_page(name)
    files = [page.manifest_path.partition("#")[0], page.class_path.partition("#")[0]]
    files += [row.source.path for row in page.programs] + ([page.oracle.path] if page.oracle else [])
    return dict.fromkeys(files)


def page_name(path: str) -> str:
    """The Markdown file that a source's page would have in the docs folder."""
    return f"{FOLDER}/{path}.md"


def url(fragment: str, from_page: str) -> str:
    """Link from a page of the docs folder to a file and line, "tileops/op.py#L12-L20", on the site."""
    path, _, lines = fragment.partition("#")
    anchor = f"#{lines.partition('-')[0]}" if lines else ""
    return posixpath.relpath(f"{FOLDER}/{path}.html", posixpath.dirname(from_page)) + anchor


def markdown(path: str) -> str:
    """What stands above the source."""
    links = ", ".join(f"[`{name}`][{where.identifier(name)}]" for name in paths().get(path, []))
    said = f"Operators: {links}" if links else "Shared by programs of several families."
    title = path.rpartition("/")[2]
    return (
        f"---\ntitle: {path}\nsearch: {{exclude: true}}\nhide: [toc]\n---\n\n# {title}\n\n`{path}`. {said}\n"
    )


def html(path: str) -> str:
    """The source, one element a line with the id `L12`."""
    text = (ROOT / path).read_text(encoding="utf-8")
    lines = marked_up(text, "yaml" if path.endswith(".yaml") else "python").split("\n")
    marked = "\n".join(f'<span id="L{n}">{line}</span>' for n, line in enumerate(lines, 1))
    return f'<div class="highlight op-code"><pre><code>{marked}</code></pre></div>'
