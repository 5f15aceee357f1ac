"""Stage 2: whatever a page loads by itself is on the site."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.coverage.sample import NORM_PAGE, Built

NORM_HTML = "api/normalization.html"

CASES: dict[str, tuple[str, str]] = {
    # name: (HTML that is added to the page, words of the message)
    "script": (
        '<script src="https://cdn.example/katex.js"></script>',
        "https://cdn.example/katex.js, which is outside",
    ),
    "style_without_scheme": ('<link rel="stylesheet" href="//cdn.example/a.css">', "//cdn.example/a.css"),
    "preconnect": ('<link rel="preconnect" href="https://fonts.example">', "fonts.example"),
    "icon": ('<link rel="shortcut icon" href="https://a.example/x.ico">', "a.example"),
    "image": ('<img src="http://a.example/x.png">', "a.example"),
    "image_in_srcset": ('<img srcset="x.png 1x, https://a.example/x.png 2x">', "a.example"),
    "image_in_style": ('<p style="background: url(https://a.example/x.png)"></p>', "a.example"),
    "import_in_style": ('<style>@import "https://a.example/x.css";</style>', "a.example"),
    "frame": ('<iframe src="https://a.example/"></iframe>', "a.example"),
    "image_in_svg": ('<svg><image href="https://a.example/x.png"/></svg>', "a.example"),
    "image_that_is_not_there": ('<img src="nowhere.png">', "nowhere.png, which the site does not hold"),
    "stars": ('<a data-md-component="source" href="https://github.com/a/b">a/b</a>', "stars and forks"),
    "diagram": ('<pre class="mermaid"><code>a</code></pre>', "mermaid"),
}


def _add(site: Path, html: str) -> None:
    page = site / NORM_HTML
    page.write_text(page.read_text(encoding="utf-8").replace("<h1", f"{html}<h1"), encoding="utf-8")


@pytest.mark.parametrize("name", CASES)
def test_an_address_outside(built: Built, site: Path, name: str) -> None:
    html, words = CASES[name]
    _add(site, html)
    found = built.check(site)
    assert found
    assert {(finding.subject, finding.code) for finding in found} == {(NORM_PAGE, "asset")}
    assert any(words in finding.problem for finding in found), found


def test_a_font_in_a_style_sheet(built: Built, site: Path) -> None:
    (site / "assets/x.css").write_text("@font-face {src: url('https://a.example/x.woff2')}", encoding="utf-8")
    [finding] = built.check(site)
    assert (finding.subject, finding.code) == ("assets/x.css", "asset")
    assert "https://a.example/x.woff2" in finding.problem


@pytest.mark.parametrize(
    "html",
    [
        '<a href="https://example.org/">elsewhere</a>',
        '<link rel="canonical" href="https://example.org/">',
        '<img src="data:image/png;base64,AAAA">',
        '<img src="../assets/images/favicon.png?v=1#a">',
        '<a data-md-component="source" href="../index.html">source</a>',
    ],
)
def test_what_is_no_finding(built: Built, site: Path, html: str) -> None:
    _add(site, html)
    assert built.check(site) == []
