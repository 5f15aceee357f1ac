"""How the site looks and behaves, in a real browser: contrast, width, movement, keyboard, print."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.site.browser import Page
from tileops_docs import where

pytestmark = pytest.mark.browser

OPERATOR = where.page("RMSNormFwdOp").removesuffix(".md") + ".html"
PAGES = [
    "index.html",
    "api/index.html",
    OPERATOR,
    "guides/roofline.html",
    "source/tileops/kernels/rows.py.html",
]

CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")
SHIFTS = """new Promise((done) => {
  let total = 0;
  new PerformanceObserver((list) => { for (const entry of list.getEntries()) total += entry.value; })
    .observe({type: 'layout-shift', buffered: true});
  setTimeout(() => done(total), 250);
})"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_text_has_the_contrast_of_aa(page: Page, site: Path, name: str, dark: bool) -> None:
    page.open(site / name, dark=dark)
    ratio, what = page.run(CONTRAST)
    assert ratio >= 4.5, f"{ratio:.2f} {what}"


@pytest.mark.parametrize("width", [390, 800, 1600])
def test_nothing_moves_and_nothing_is_wider_than_the_window(
    page: Page, site: Path, tmp_path: Path, width: int
) -> None:
    for name in PAGES:
        page.open(site / name, width=width)
        assert page.run(SHIFTS) < 0.02, name
        assert page.run("document.documentElement.scrollWidth") <= width, name
        picture = tmp_path / f"{width}.png"
        page.screenshot(picture)
        assert picture.stat().st_size > 10_000, f"{name} is empty"


def test_the_index_filters_and_sorts(page: Page, site: Path) -> None:
    page.open(site / "api/index.html")
    shown = "[...document.querySelectorAll('.op-index tbody tr')].filter(r => !r.hidden)"
    everything = page.run(f"{shown}.length")
    fill = """(() => { const form = document.querySelector('.op-filter'); form[%r].value = %r;
        form[%r].dispatchEvent(new Event('input', {bubbles: true})); })()"""
    page.run(fill % ("words", "torch.nn.functional.rms_norm", "words"))
    assert page.run(f"{shown}.map(r => r.dataset.name)") == ["rmsnormfwdop"]
    assert page.run("document.querySelector('.op-count').textContent") == f"1 of {everything} operators"
    page.run(fill % ("words", "", "words"))
    page.run(fill % ("family", "gemm", "family"))
    assert set(page.run(f"{shown}.map(r => r.dataset.family)")) == {"gemm"}
    page.run(fill % ("family", "", "family"))
    page.run(fill % ("status", "spec-only", "status"))
    assert set(page.run(f"{shown}.map(r => r.dataset.status)")) <= {"spec-only"}
    page.run(fill % ("status", "", "status"))
    page.run(fill % ("dtypes", "bfloat16", "dtypes"))
    assert all("bfloat16" in dtypes.split() for dtypes in page.run(f"{shown}.map(r => r.dataset.dtypes)"))
    page.run(fill % ("dtypes", "", "dtypes"))
    page.run("document.querySelector('[data-sort=speed]').click()")
    speeds = [float(text) for text in page.run(f"{shown}.map(r => r.dataset.speed)") if text]
    assert speeds and speeds == sorted(speeds, reverse=True)
    assert page.run("document.querySelector('[data-sort=speed]').parentElement.ariaSort") == "descending"
    assert page.errors == []


def test_the_keyboard_reaches_content_forms_and_the_calculator(page: Page, site: Path) -> None:
    page.open(site / OPERATOR)
    assert page.run("document.querySelector('.md-skip').getAttribute('href')").startswith("#")
    page.run("document.querySelector('.op-calculator summary').focus()")
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    page.call("Input.dispatchKeyEvent", type="keyDown", key="Tab", code="Tab", windowsVirtualKeyCode=9)
    page.call("Input.dispatchKeyEvent", type="keyUp", key="Tab", code="Tab", windowsVirtualKeyCode=9)
    assert page.run(outline) != "none", page.run("document.activeElement.outerHTML.slice(0, 80)")
    jumps = page.run("[...document.querySelector('.op-jump').querySelectorAll('a')].map(a => a.hash)")
    assert len(jumps) > 8
    assert page.run(f"{jumps!r}.every(hash => document.getElementById(hash.slice(1)))")


def test_without_a_script_the_page_is_whole(page: Page, site: Path) -> None:
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.call("Page.navigate", url=(site / OPERATOR).as_uri())
        page.wait("document.readyState === 'complete' && document.querySelector('[data-op]')")
        assert page.run("getComputedStyle(document.querySelector('.op-part--calculator')).display") == "none"
        assert page.run("document.querySelector('.op-part--cost tbody tr').innerText").strip()
    finally:
        page.call("Emulation.setScriptExecutionDisabled", value=False)


def test_print_leaves_out_what_paper_cannot_do(page: Page, site: Path) -> None:
    page.open(site / OPERATOR)
    page.call("Emulation.setEmulatedMedia", media="print")
    try:
        for name in (".md-header", ".md-sidebar--primary", ".op-jump", ".op-part--calculator"):
            assert page.run(f"getComputedStyle(document.querySelector('{name}')).display") == "none", name
        assert page.run("document.querySelector('.op-part--tensors').offsetHeight") > 50
    finally:
        page.call("Emulation.setEmulatedMedia", media="")
