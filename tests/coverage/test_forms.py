"""Every way to write `:::`, on one page: the check counts what mkdocstrings renders, no more and no less."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.api_coverage.directives import read_docs
from scripts.api_coverage.htmltree import parse
from scripts.api_coverage.lost import mentions, reason_lost
from scripts.api_coverage.project import BUILD_ENVIRONMENT, Project, inside, read_project
from tests.coverage.sample import Sample

COUNTS = {
    "plain": "::: ID",
    "no_blank_after_colons": ":::ID",
    "trailing_blanks": "::: ID   ",
    "h1": "# ::: ID",
    "h2": "## ::: ID",
    "h3": "### ::: ID",
    "h6": "###### ::: ID",
    "heading_without_blank": "##::: ID",
    "with_options": "::: ID\n    options:\n      show_source: false",
    "options_after_blank_line": "::: ID\n\n    options:\n      show_source: false",
    "handler_and_options": "::: ID\n    handler: python\n    options:\n      show_source: false",
    "after_text": "Some text.\n::: ID",
    "before_text": "::: ID\nSome text.",
    "list_item": "- ::: ID",
    "numbered_item": "1. ::: ID",
    "list_continuation": "- An item.\n\n    ::: ID",
    "nested_list": "- An item.\n\n    - Another.\n\n        ::: ID",
    "admonition": '!!! note "Title"\n\n    ::: ID',
    "details": '??? note "Title"\n\n    ::: ID',
    "tab": '=== "Tab"\n\n    ::: ID',
    "tab_in_admonition": '!!! note\n\n    === "Tab"\n\n        ::: ID',
    "blockquote": "> Quoted.\n>\n> ::: ID",
    "md_in_html": '<div markdown="1">\n\n::: ID\n\n</div>',
    "md_in_html_bare": "<div markdown>\n\n::: ID\n\n</div>",
    "md_in_section": '<section class="a" markdown="block">\n\n::: ID\n\n</section>',
    "definition": "Term\n\n:   Definition.\n\n    ::: ID",
    "footnote": "See it.[^1]\n\n[^1]:\n    Note.\n\n    ::: ID",
    "snippet": '--8<-- "snippets/entry.md"',
    "crlf": "Text.\r\n\r\n::: ID\r\n    options:\r\n      show_source: false",
    "after_fence": "```python\nx = 1\n```\n\n::: ID",
    "after_comment": "<!-- a comment -->\n\n::: ID",
    "after_html": "<div>raw</div>\n\n::: ID",
    "between_formulas": "$$\nx\n$$\n\n::: ID\n\n$$\ny\n$$",
}
LOST = {
    "fence": "```\n::: ID\n```",
    "tilde_fence": "~~~ markdown\n::: ID\n~~~",
    "fence_with_title": '``` { .markdown title="x" }\n::: ID\n```',
    "long_fence": "````\n```\n::: ID\n```\n````",
    "fence_in_list": "- An item.\n\n    ```\n    ::: ID\n    ```",
    "fence_in_tab": '=== "Tab"\n\n    ```\n    ::: ID\n    ```',
    "comment": "<!-- ::: ID -->",
    "comment_over_lines": "<!--\n::: ID\n-->",
    "comment_with_blank_lines": "<!--\n\n::: ID\n\n-->",
    "raw_html": "<div>\n::: ID\n</div>",
    "raw_html_with_blank_lines": "<div>\n\n::: ID\n\n</div>",
    "pre": "<pre>\n::: ID\n</pre>",
    "indented_code": "Text.\n\n    ::: ID",
    "tab_indented_code": "Text.\n\n\t::: ID",
    "inline_code": "Write `::: ID` for it.",
    "table_cell": "| A | B |\n| --- | --- |\n| ::: ID | b |",
    "in_sentence": "Write ::: ID for it.",
    "three_blanks": "   ::: ID",
    "two_colons": ":: ID",
    "escaped": "\\::: ID",
    "html_entity": "&#58;:: ID",
}


def _page(forms: dict[str, str]) -> str:
    parts = [form.replace("ID", f"tileops.forms.{name}") for name, form in forms.items()]
    return "# Forms\n\n" + "\n\nA paragraph between.\n\n".join(parts) + "\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    sample = Sample(tmp_path_factory.mktemp("forms"))
    names = [*COUNTS, *LOST, "nested", "in_comment_of_docstring"]
    functions = "\n\n".join(f'def {name}():\n    """Do {name}."""' for name in names)
    nested = "    ::: tileops.forms.nested\n\n    <!-- ::: tileops.forms.in_comment_of_docstring -->\n"
    functions = functions.replace('"""Do plain."""', f'"""Do plain.\n\n{nested}    """')
    sample.write("tileops/forms.py", functions)
    sample.write("snippets/entry.md", "::: tileops.forms.snippet\n")
    sample.write("docs/forms.md", _page(COUNTS | LOST))
    sample.edit("mkdocs.yml", "strict: true\n", "")
    return read_project(sample.root, {})


@pytest.fixture(scope="module")
def counted(project: Project) -> list[str]:
    from scripts.api_coverage.rendered import follow, handler_config
    from scripts.api_coverage.surface import load_sources, read_surface

    with inside(project):
        docs = read_docs(project)
        loader = load_sources(project, "google", [str(project.root)])
        rendering = follow(docs, handler_config(docs, project), read_surface(project, loader, {}))
    found = [directive for directive, _, _ in rendering.targets if directive.page == "docs/forms.md"]
    return [directive.identifier.removeprefix("tileops.forms.") for directive in found]


def test_the_forms_that_count(counted: list[str]) -> None:
    assert sorted(counted) == sorted([*COUNTS, "nested"])


def test_the_same_as_mkdocstrings_renders(project: Project, counted: list[str]) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "-d", str(project.root / "out")]
    subprocess.run(
        command, cwd=project.root, check=True, capture_output=True, env=os.environ | BUILD_ENVIRONMENT
    )
    page = parse(project.root / "out" / "forms.html")
    headings = [node.attrs.get("id", "") for node in page.tags("h1", "h2", "h3", "h4", "h5", "h6")]
    rendered = [name.removeprefix("tileops.forms.") for name in headings if name.startswith("tileops.forms.")]
    assert sorted(rendered) == sorted(counted)


def test_line_numbers(project: Project) -> None:
    with inside(project):
        page = read_docs(project).pages["docs/forms.md"]
    lines = page.source.splitlines()
    for directive in page.directives:
        if not directive.identifier.endswith(".snippet"):  # it stands in another file
            assert directive.identifier in lines[directive.line - 1], directive


@pytest.mark.parametrize("name", [name for name in LOST if name not in ("two_colons", "html_entity")])
def test_a_lost_entry_is_explained(name: str) -> None:
    text = _page({name: LOST[name]})
    [(line, _)] = mentions(text)
    assert reason_lost(text.splitlines(), line)


@pytest.mark.parametrize("name", COUNTS)
def test_a_shown_entry_is_not_called_lost(name: str) -> None:
    text = _page({name: COUNTS[name]})
    for line, identifier in mentions(text):
        assert not reason_lost(text.splitlines(), line), identifier


def test_line_of_an_entry_counts_the_front_matter(sample: Sample) -> None:
    sample.edit("docs/api/core.md", "# Core", "---\ntitle: Core\n---\n\n# Core")
    project = read_project(sample.root, {})
    with inside(project):
        page = read_docs(project).pages["docs/api/core.md"]
    lines = Path(sample.root / page.file).read_text().splitlines()
    assert [re.sub(r"::: ", "", lines[d.line - 1]) for d in page.directives] == [
        d.identifier for d in page.directives
    ]
