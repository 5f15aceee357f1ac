"""Stage 2, on one built site of which a copy is broken one thing at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.api_coverage.htmltree import parse
from tests.coverage.sample import CORE_PAGE, MANIFEST, NORM, NORM_PAGE, Built, Sample

NORM_HTML = "api/normalization.html"
BROKEN_TEMPLATE = '{% extends "_base/class.html.jinja" %}\n'
Breakage = Callable[[Path], None]


def _edit(name: str, old: str, new: str) -> Breakage:
    def breakage(site: Path) -> None:
        text = (site / name).read_text(encoding="utf-8")
        assert old in text, f"{name} has no {old!r}"
        (site / name).write_text(text.replace(old, new), encoding="utf-8")

    return breakage


def _add(html: str, name: str = NORM_HTML) -> Breakage:
    return _edit(name, "<h1", f"{html}<h1")


RMS, BATCH = "RMSNormFwdOp", "BatchNormFwdOp"
ROW = '<tr data-input="weight"><td><code>weight</code></td></tr>'
MESSAGE = "a row must not be empty"
HEAD = 'id="tileops.ops.RMSNormFwdOp"'

CASES: dict[str, tuple[Breakage, str, str, str]] = {
    # name: (breakage, subject, code, words of the message)
    "input_gone": (_edit(NORM_HTML, ROW, ""), RMS, "manifest-block", "the input weight"),
    "input_hidden": (
        _edit(NORM_HTML, ROW, ROW.replace("<tr", "<tr hidden")),
        RMS,
        "manifest-block",
        "the input weight",
    ),
    "input_empty": (
        _edit(NORM_HTML, ROW, ROW.replace("<code>weight</code>", "")),
        RMS,
        "manifest-block",
        "the input weight",
    ),
    "input_renamed": (
        _edit(NORM_HTML, ROW, ROW.replace(">weight<", ">weights<")),
        RMS,
        "manifest-block",
        "the input weight",
    ),
    "output_gone": (_edit(NORM_HTML, 'data-output="y"', ""), RMS, "manifest-block", "the output y"),
    "param_gone": (_edit(NORM_HTML, 'data-param="eps"', ""), RMS, "manifest-block", "the param eps"),
    "dtype_gone": (
        _edit(NORM_HTML, "<td><code>bfloat16</code></td>", ""),
        RMS,
        "manifest-block",
        "the dtype row x: bfloat16",
    ),
    "dtype_row_changed": (
        _edit(NORM_HTML, "<td><code>float8_e4m3fn</code></td>", "<td><code>float8_e5m2</code></td>"),
        BATCH,
        "manifest-block",
        "the dtype row x: float8_e4m3fn, y: float16",
    ),
    "rule_gone": (_edit(NORM_HTML, MESSAGE, ""), RMS, "manifest-block", f"the rule message '{MESSAGE}'"),
    "rule_cut": (
        _edit(NORM_HTML, MESSAGE, MESSAGE[:-6]),
        RMS,
        "manifest-block",
        f"the rule message '{MESSAGE}'",
    ),
    "rule_commented_out": (
        _edit(NORM_HTML, MESSAGE, f"<!-- {MESSAGE} -->"),
        RMS,
        "manifest-block",
        f"the rule message '{MESSAGE}'",
    ),
    "status_of_an_older_build": (
        _edit(NORM_HTML, 'data-status="spec-only"', 'data-status="implemented"'),
        BATCH,
        "manifest-block",
        "says implemented, and its status is spec-only",
    ),
    "block_gone": (
        _edit(NORM_HTML, 'class="op-manifest" data-op="RMSNormFwdOp"', ""),
        RMS,
        "no-manifest-block",
        "custom_templates",
    ),
    "block_hidden": (
        _edit(NORM_HTML, 'data-op="RMSNormFwdOp"', 'data-op="RMSNormFwdOp" style="display: none"'),
        RMS,
        "no-manifest-block",
        "custom_templates",
    ),
    "summary_of_an_older_build": (
        _edit(NORM_HTML, "Root-mean-square normalization", "Another text"),
        RMS,
        "no-summary-on-page",
        "first sentence",
    ),
    "heading_gone": (_edit(NORM_HTML, HEAD, 'id="other"'), RMS, "not-on-page", "no visible place"),
    "heading_hidden": (_edit(NORM_HTML, HEAD, f"{HEAD} hidden"), RMS, "not-on-page", "no visible place"),
    "page_gone": (
        lambda site: (site / "api/core.html").unlink(),
        "tileops.Op",
        "not-on-page",
        "no visible place",
    ),
    "inventory_gone": (
        lambda site: (site / "objects.inv").unlink(),
        "objects.inv",
        "no-inventory",
        "no inventory",
    ),
    "raw_inline_tex": (_add(r"<p>\(x\)</p>"), NORM_PAGE, "raw-tex", r"`\(`"),
    "raw_display_tex": (_add(r"<p>\[x\]</p>"), NORM_PAGE, "raw-tex", r"`\[`"),
    "raw_command": (_add(r"<p>so \frac{a}{b} is</p>"), NORM_PAGE, "raw-tex", r"`\frac`"),
    "raw_dollars": (_add("<p>$$x$$</p>"), NORM_PAGE, "raw-tex", "`$`"),
    "a_dollar": (_add("<p>for 5$ each</p>"), NORM_PAGE, "raw-tex", "`$`"),
    "tex_in_the_title": (_edit(NORM_HTML, "<title>", r"<title>\beta "), NORM_PAGE, "raw-tex", r"`\beta`"),
    "tex_in_a_heading": (_add(r"<h2>\rho</h2>"), NORM_PAGE, "raw-tex", r"`\rho`"),
    "control_character": (_add("<p>\x0crac{a}{b}</p>"), NORM_PAGE, "control-character", r"'\x0c'"),
    "control_character_in_math": (
        _add('<span class="katex">\x08eta</span>'),
        NORM_PAGE,
        "control-character",
        r"'\x08'",
    ),
    "control_character_in_code": (_add("<code>\x08</code>"), NORM_PAGE, "control-character", r"'\x08'"),
}


@pytest.mark.parametrize("name", CASES)
def test_breakage(built: Built, site: Path, name: str) -> None:
    breakage, subject, code, words = CASES[name]
    breakage(site)
    found = [finding for finding in built.check(site) if (finding.subject, finding.code) == (subject, code)]
    assert found, built.check(site)
    assert any(words in finding.problem for finding in found), found


def test_a_good_site(built: Built) -> None:
    assert built.check(built.site) == []


@pytest.mark.parametrize(
    "html",
    [
        r"<p><code>\frac $x$</code></p>",
        r"<pre>\(x\)</pre>",
        r'<span class="katex"><math><annotation>\frac</annotation></math></span>',
        r"<script>const a = '$x \\frac';</script>",
        r"<!-- \frac $ -->",
    ],
)
def test_what_is_no_finding(built: Built, site: Path, html: str) -> None:
    _add(html)(site)
    assert built.check(site) == []


def test_a_block_in_an_html_comment_is_not_on_the_page(built: Built, site: Path) -> None:
    """The inventory still holds the entry; a reader does not see it."""
    text = (site / NORM_HTML).read_text(encoding="utf-8")
    start = text.index('<h2 id="tileops.ops.RMSNormFwdOp"')
    end = text.index('<h2 id="tileops.ops.BatchNormFwdOp"')
    (site / NORM_HTML).write_text(f"{text[:start]}<!--{text[start:end]}-->{text[end:]}", encoding="utf-8")
    assert (RMS, "not-on-page") in {(finding.subject, finding.code) for finding in built.check(site)}


# -------------------------------------------------------------------------------- the command with a site
def test_a_fresh_site_is_accepted(built: Built) -> None:
    outcome = built.sample.check("--site", str(built.site), form="text", stage="all")
    assert outcome.code == 0, outcome.out + outcome.err
    assert "stage 2" in outcome.out


@pytest.mark.parametrize(
    "name",
    [
        NORM_PAGE,
        CORE_PAGE,
        NORM,
        MANIFEST,
        "mkdocs.yml",
        "sample_math.py",
        "templates/python/material/class.html.jinja",
    ],
)
def test_a_stale_site_is_refused(built: Built, name: str) -> None:
    path = built.sample.root / name
    before = path.stat()
    later = time.time() + 10
    os.utime(path, (later, later))
    try:
        outcome = built.sample.check("--site", str(built.site), stage="2")
    finally:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert outcome.code == 1
    [finding] = outcome.findings
    assert finding["code"] == "stale-site"
    assert f"{name} changed after" in finding["problem"]


def test_stage_2_waits_for_stage_1(sample: Sample) -> None:
    sample.edit(NORM_PAGE, "::: tileops.ops.RMSNormFwdOp", "")
    outcome = sample.check(form="text", stage="all")
    assert outcome.code == 1
    assert "stage 2 waits for stage 1" in outcome.out


def test_a_missing_template(sample: Sample) -> None:
    sample.write("templates/python/material/class.html.jinja", BROKEN_TEMPLATE)
    outcome = sample.check(stage="all")
    assert outcome.code == 1
    assert outcome.codes == {(RMS, "no-manifest-block"), (BATCH, "no-manifest-block")}


def test_a_site_that_does_not_build(sample: Sample) -> None:
    sample.append("docs/index.md", "\n[nowhere](nowhere.md)\n")
    outcome = sample.check(stage="all")
    assert outcome.code == 1
    assert "nowhere.md" in outcome.problem("site", "build-failed")


def test_the_tree_ends_what_the_page_left_open(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<div><p>a<br>b<p hidden>c</div><p>d &amp; e</p><!-- f --></span>g", encoding="utf-8")
    assert parse(page).text() == "abd & eg"
