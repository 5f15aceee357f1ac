"""The built site in a real browser, from the file system."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.site.browser import Page
from tileops_docs import where

pytestmark = pytest.mark.browser

PAGES = ["index.html", "api/index.html", "api/normalization.html", "how-it-works.html"]
SEARCH = """(() => {
  document.querySelector('label[for=__search]').click();
  const field = document.querySelector('[data-md-component=search-query]');
  field.focus();
  field.value = %r;
  for (const name of ['keyup', 'input']) field.dispatchEvent(new Event(name));
})()"""
RESULTS = "[...document.querySelectorAll('.md-search-result__link')].map(a => a.href)"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_loads_from_a_file(page: Page, site: Path, name: str, dark: bool) -> None:
    page.open(site / name, dark=dark)
    assert page.errors == []
    assert [url for url in page.requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert page.run("document.body.getAttribute('data-md-color-scheme')") == ("slate" if dark else "default")
    background = page.run("getComputedStyle(document.body).backgroundColor")
    light = sum(map(int, background.removeprefix("rgb(").removesuffix(")").split(","))) > 3 * 128
    assert light is not dark


@pytest.mark.parametrize("words", ["rmsnorm", "RMSNorm", "rms_norm", "RMSNormFwdOp"])
def test_search_finds_an_operator(page: Page, site: Path, words: str) -> None:
    page.open(site / "index.html")
    page.run(SEARCH % words)
    page.wait(f"{RESULTS}.length > 1")
    anchor = f"#{where.identifier('RMSNormFwdOp')}"
    assert any(url.endswith(anchor) for url in page.run(RESULTS))
    assert page.errors == []


def test_formulas_are_visible_in_their_own_font(page: Page, site: Path) -> None:
    page.open(site / "api" / "normalization.html")
    formula = "document.querySelector('.katex-display .katex').getBoundingClientRect()"
    box = page.run(f"(b => [b.width, b.height])({formula})")
    assert min(box) > 10
    assert page.run("document.fonts.check('16px KaTeX_Main')")
    assert page.run("document.querySelector('.katex-html').innerText").strip()


def test_a_link_to_an_operator_leads_to_it(page: Page, site: Path) -> None:
    anchor = where.identifier("LayerNormFwdOp")
    page.open(site / where.page("LayerNormFwdOp").replace(".md", ".html"), f"#{anchor}")
    page.wait(f"Math.abs(document.getElementById({anchor!r}).getBoundingClientRect().top) < 200")
