"""Formulas are typeset while the site is built."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import markdown
import pytest

from tileops_docs.katex import FormulaError, render

ROOT = Path(__file__).resolve().parent.parent.parent


def convert(text: str) -> str:
    return markdown.markdown(
        text,
        extensions=["tables", "pymdownx.arithmatex", "tileops_docs.katex"],
        extension_configs={"pymdownx.arithmatex": {"generic": True}},
    )


def test_inline_and_display() -> None:
    inline, display = convert("a $x^2$ b"), convert("$$\nx^2\n$$")
    assert 'class="katex"' in inline
    assert "katex-display" not in inline
    assert "katex-display" in display
    assert "$" not in inline + display
    assert "data-search-exclude" in inline


def test_characters_of_html_are_not_typeset_as_entities() -> None:
    out = convert(r"$\begin{matrix} a & b \\ c & d \end{matrix}$ and $a < b$")
    assert "amp;" not in out.replace("&amp;", "")
    assert ">amp<" not in out
    assert "&lt;" in out


def test_prices_are_not_math() -> None:
    assert "katex" not in convert("It is $5 and then $10.")


def test_code_is_not_math() -> None:
    assert "katex" not in convert("`$x$`")


@pytest.mark.parametrize("bad", [r"\frac{a}{", r"\undefined", r"{a"])
def test_a_bad_formula_raises(bad: str) -> None:
    with pytest.raises(FormulaError, match="KaTeX rejects"):
        render(bad, False)


def test_the_build_names_the_page_of_a_bad_formula(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# Fine\n")
    (tmp_path / "docs" / "broken.md").write_text("# Broken\n\n$\\frac{a}{$\n")
    (tmp_path / "mkdocs.yml").write_text(
        "site_name: x\nplugins: []\n"
        "markdown_extensions: [{pymdownx.arithmatex: {generic: true}}, tileops_docs.katex]\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-f", str(tmp_path / "mkdocs.yml")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "broken.md" in done.stderr
    assert "KaTeX rejects" in done.stderr


def test_a_process_that_typeset_formulas_ends() -> None:
    """The JavaScript engine, left open, hangs most processes at their end."""
    script = "from tileops_docs.katex import render; render('x^2', True)"
    for _ in range(3):
        subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, timeout=60)
