"""What is there for tools and other sites: Markdown twins, llms.txt, descriptions, sources, edit links."""

from __future__ import annotations

import html
import re
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml

from tileops import __version__
from tileops.spec import all_specs
from tileops_docs import source_pages, where
from tileops_docs.twins import describe, twin

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
CONFIG = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


def text_of(site: Path, name: str) -> str:
    return (site / name).read_text(encoding="utf-8")


def test_every_page_has_a_twin_that_it_names(site: Path) -> None:
    for name in PAGES:
        page = text_of(site, name.removesuffix(".md") + ".html")
        href = re.search(r'<a rel="alternate" type="text/markdown" href="([^"]+)"', page)
        assert href, name
        assert ((site / name).parent / href[1]).resolve() == (site / name).resolve()
        assert text_of(site, name).startswith("# "), name


def test_a_twin_says_what_the_page_says(site: Path) -> None:
    for spec in all_specs().values():
        text = text_of(site, where.page(spec.name))
        start = text.index(f"## {spec.name}\n")
        block = text[start : text.find("\n## ", start + 1)]
        for shown in [*spec.inputs, *spec.params, *spec.outputs]:
            assert f"| `{shown}` |" in block, (spec.name, shown)
        for rule in spec.rules:
            assert f"{spec.name}: {rule.message}".replace("|", "\\|") in block
        assert "$$" in block and "### Call" in block and "### Example" in block
        assert spec.roofline.flops in block


def test_twins_are_markdown_alone_and_their_links_lead_somewhere(site: Path) -> None:
    for name in PAGES:
        text = re.sub(r"^(`{3,}).*?^\1", "", text_of(site, name), flags=re.DOTALL | re.MULTILINE)
        text = re.sub(r"`[^`\n]+`", "", text)
        assert not re.search(r"^:::|\{\{|--8<--|</?(div|span|autoref)", text, re.MULTILINE), name
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            if "://" not in target:
                assert ((site / name).parent / unquote(target)).exists(), f"{name}: {target}"


def test_a_twin_leaves_code_as_it_is() -> None:
    source = "# A\n\n```python\nx = a[b][c]  # <div>\n```\n\nSee [`Op`][tileops.op.Op] and `a[b][c]`.\n"
    assert twin(source, "a.md") == source.replace("[`Op`][tileops.op.Op]", "[`Op`](api/core.md)")


def test_llms_txt_lists_pages_and_operators(site: Path) -> None:
    text = text_of(site, "llms.txt")
    assert text.startswith(f"# {CONFIG['site_name']}\n\n> ")
    links = re.findall(r"^- \[([^\]]+)\]\(([^)]+)\)", text, re.MULTILINE)
    assert {name for name, _ in links} >= set(all_specs())
    for _, url in links:
        assert url.startswith(CONFIG["site_url"])
        assert (site / url.removeprefix(CONFIG["site_url"])).is_file(), url
    assert {f"{CONFIG['site_url']}{name}" for name in PAGES} <= {url for _, url in links}


def test_every_page_says_what_it_is_about(site: Path) -> None:
    for path in site.rglob("*.html"):
        head = path.read_text(encoding="utf-8").partition("</head>")[0]
        found = dict(re.findall(r'<meta (?:name|property)="([\w:]+)" content="([^"]*)"', head))
        assert found.get("description"), path
        assert found["og:description"] == found["description"], path
        assert found["og:title"], path
        assert found["og:image"] == f"{CONFIG['site_url']}assets/social.png"
    assert (site / "assets" / "social.png").stat().st_size < 100_000


SENTENCE = "A sentence of some length that goes on. "


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            "---\nhide: [toc]\n---\n\n# T\n\nOne *word*, `code`, [a link](b.md).\nMore.\n\nNo.",
            "One word, code, a link. More.",
        ),
        ("# T\n\n{{ table }}\n\n::: a.B\n\nThen text.", "Then text."),
        ("# T\n\n" + SENTENCE * 9, (SENTENCE * 4).strip()),
        ("# T\n", ""),
    ],
)
def test_a_description_is_the_first_paragraph(source: str, said: str) -> None:
    assert describe(source) == said


def test_the_version_and_the_changelog_are_on_every_page(site: Path) -> None:
    for name in ("index.html", "api/index.html", "404.html"):
        page = text_of(site, name)
        assert f"version {__version__}" in page
        assert "changelog.html" in page
    assert f"[{__version__}]" in text_of(site, "changelog.md")


def test_edit_links_lead_to_files(site: Path) -> None:
    prefix = f"{CONFIG['repo_url']}/edit/main/" if isinstance(CONFIG["repo_url"], str) else ""
    count = 0
    for path in site.rglob("*.html"):
        for url in re.findall(r'href="([^"]+)"[^>]* rel="edit"', path.read_text(encoding="utf-8")):
            assert (ROOT / url.removeprefix(prefix)).is_file(), url
            count += 1
    assert count > len(PAGES)


def test_the_page_for_addresses_that_are_not_there_leads_on(site: Path) -> None:
    page = text_of(site, "404.html")
    for name in ("api/index.html", "troubleshooting.html", "index.html"):
        assert f'href="/tileops-h200/{name}"' in page or f'href="{CONFIG["site_url"]}{name}"' in page


def test_the_sitemap_has_every_page(site: Path) -> None:
    text = text_of(site, "sitemap.xml")
    for name in PAGES:
        end = "" if name == "index.md" else name.removesuffix(".md") + ".html"
        assert (
            f"<loc>{CONFIG['site_url']}{end or 'index.html'}</loc>" in text
            or f"<loc>{CONFIG['site_url']}</loc>" in text
        )


# ------------------------------------------------------------------------------------------------- sources
def test_operators_link_to_lines_of_sources_on_the_site(site: Path) -> None:
    for spec in all_specs().values():
        page = (site / where.page(spec.name)).with_suffix(".html")
        text = page.read_text(encoding="utf-8")
        start = text.index(f'data-op="{spec.name}"')
        block = text[start : text.find("data-op=", start + 1)]
        links = re.findall(r'href="([^"#]*source/[^"#]+)#(L\d+)"', block)
        wanted = (
            2 + 2 * len(spec.implementations) + spec.implemented
        )  # manifest, class; programs twice; oracle
        assert len(links) == wanted, (spec.name, links)
        for file, line in links:
            target = (page.parent / file).resolve()
            assert f'id="{line}"' in target.read_text(encoding="utf-8"), (spec.name, file, line)


def test_a_source_page_is_the_file(site: Path) -> None:
    path = "tileops/kernels/rows.py"
    page = text_of(site, f"source/{path}.html")
    lines = re.findall(r'<span id="L(\d+)">(.*)', page)
    shown = [html.unescape(re.sub(r"<[^>]+>", "", line)) for _, line in lines]
    assert [int(number) for number, _ in lines] == list(range(1, len(lines) + 1))
    assert [line.rstrip() for line in shown] == (ROOT / path).read_text(encoding="utf-8").splitlines()
    assert f"edit/main/{path}" in page


def test_a_source_page_leads_back_to_its_operators(site: Path) -> None:
    for path, names in source_pages.paths().items():
        page = text_of(site, f"source/{path}.html")
        for name in names:
            assert f"#{where.identifier(name)}" in page, (path, name)


def test_forward_and_backward_name_each_other(site: Path) -> None:
    for spec in all_specs().values():
        backward = spec.name.replace("FwdOp", "BwdOp")
        if spec.name.endswith("FwdOp") and backward in all_specs():
            for own, other in ((spec.name, backward), (backward, spec.name)):
                text = text_of(site, where.page(own).removesuffix(".md") + ".html")
                start = text.index(f'data-op="{own}"')
                assert f"#{where.identifier(other)}" in text[start : text.find("data-op=", start + 1)]
