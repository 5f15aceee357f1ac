"""The check on projects that are not this one: layouts, aliases, translations, settings, `--fix`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.api_coverage import cli
from scripts.api_coverage.project import BUILD_ENVIRONMENT, Unusable, inside, read_project
from tests.coverage.layouts import LAYOUTS, Layout

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_api_coverage.py"


@pytest.fixture
def layout(request: pytest.FixtureRequest, tmp_path: Path) -> Layout:
    return Layout(tmp_path / "project", request.param)


def each(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("layout", names or tuple(LAYOUTS), indirect=True)


@each()
def test_a_good_project_is_complete(layout: Layout) -> None:
    outcome = layout.check()
    assert outcome.code == 0, outcome.out + outcome.err
    assert layout.required() == {"package": 3, "modules": 4, "nested": 5}[layout.name]


@each()
def test_what_counts_is_what_the_site_renders(layout: Layout) -> None:
    """The inventory of the built site names the same objects as the check follows, and stage 2 agrees."""
    from mkdocstrings import Inventory

    given = {"packages": layout.arguments[1], "search-paths": [str(layout.root / "src")]}
    project = read_project(layout.root, given)
    with inside(project):
        _, _, rendering, _ = cli._stage_1(project)
    site = layout.root / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "-d", str(site)]
    env = os.environ | BUILD_ENVIRONMENT
    subprocess.run(command, cwd=layout.root, check=True, capture_output=True, env=env)
    with (site / "objects.inv").open("rb") as file:
        inventory = Inventory.parse_sphinx(file)
    found = {name for name, item in inventory.items() if item.domain == "py" and item.role != "parameter"}
    assert {shown.canonical for shown in rendering.shown} <= found
    below = tuple(f"{shown.canonical}." for shown in rendering.shown if not shown.own)
    extra = found - {shown.canonical for shown in rendering.shown}
    assert all(name.startswith(below) or "." in name for name in extra)
    assert layout.check("--site", str(site), stage="all").code == 0


# ----------------------------------------------------------------------------- in scope and not rendered
CASES = {
    # name: (layout, file, old, new, subject, words of the message)
    "submodules_off": ("package", "mkdocs.yml", "show_submodules: true", "show_submodules: false", None, ""),
    "name_left_out_of_all": (
        "package", "docs/reference.md", "::: acme\n", "::: acme\n    options: {members: [Client, dump]}\n",
        "acme.connect", "in scope but not rendered: `::: acme` lists its `members`, without this one",
    ),
    "global_filter": (
        "package", "mkdocs.yml", '["!^_"]', '["!^_", "!^dump"]',
        "acme.dump", "has `filters` that leave it out (!^_, !^dump)",
    ),
    "members_false": (
        "modules", "docs/api/cart.md", "members: [Cart, total]", "members: false",
        "shop.cart.Cart", "in scope but not rendered: `::: shop.cart` has `members: false`",
    ),
    "members_without_it": (
        "modules", "docs/api/cart.md", "[Cart, total]", "[total]",
        "shop.cart.Cart", "lists its `members`, without this one",
    ),
    "no_docstring": (
        "modules", "shop/app.py", '    """Start."""\n', "    return\n",
        "shop.app.main", "leaves out what has no docstring",
    ),
    "page_outside_the_nav": (
        "modules", "mkdocs.yml", "  - api/cart.md\n", "",
        "shop.cart.Cart", "docs/api/cart.md, which is not in the nav",
    ),
    "deleted": ("nested", "docs/api/nn/layers.md", "::: lab.nn.Conv\n", "", "lab.nn.Conv", "no entry on the"),
    "by_an_import_alone": (
        "nested", "docs/api/nn/functional.md", "    ::: lab.nn.gelu\n", "    ::: lab.nn._functional\n",
        None, "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_in_scope_and_not_rendered(tmp_path: Path, name: str) -> None:
    kind, file, old, new, subject, words = CASES[name]
    layout = Layout(tmp_path / "project", kind)
    if name == "no_docstring":
        layout.edit("mkdocs.yml", "show_root_heading: true", "show_if_no_docstring: false")
    layout.edit(file, old, new)
    outcome = layout.check()
    if subject is None:
        assert outcome.code == 0, outcome.out
        return
    assert outcome.code == 1
    found = [f for f in outcome.findings if f["subject"] == subject]
    assert found, outcome.out
    assert any(words in f["problem"] for f in found), found


def test_a_submodule_that_the_package_entry_does_not_show(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "project", "package")
    layout.arguments += ["--package", "acme.tools"]
    assert layout.check().code == 0
    layout.edit("mkdocs.yml", "show_submodules: true", "show_submodules: false")
    outcome = layout.check()
    assert "`show_submodules: false`, and it is in the submodule tools" in outcome.problem(
        "acme.tools.load", "missing"
    )


# ----------------------------------------------------------------------------- translations and duplicates
@pytest.mark.parametrize("form", ["folder", "suffix"])
def test_a_translated_page_is_no_duplicate(tmp_path: Path, form: str) -> None:
    layout = Layout(tmp_path / "project", "modules")
    if form == "suffix":
        (layout.root / "docs/fr/api/app.md").rename(layout.root / "docs/api/app.fr.md")
    assert layout.check("--require", "exports,unique").code == 0
    layout.write("docs/api/again.md", "# Again\n\n::: shop.app.App\n")
    outcome = layout.check("--require", "exports,unique")
    assert ("shop.app.App", "duplicate") in outcome.codes
    assert layout.check().code == 0, "without `unique` a second entry is no finding"


def test_languages_can_be_named(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "project", "modules")
    layout.edit("mkdocs.yml", "lang: fr", "name: x")
    assert layout.check("--require", "exports,unique").code == 1
    layout.write("pyproject.toml", '[tool.api-coverage]\nlanguages = ["fr"]\n')
    assert layout.check("--require", "exports,unique").code == 0


def test_a_nav_that_a_plugin_makes_is_not_guessed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from scripts.api_coverage import directives

    layout = Layout(tmp_path / "project", "modules")
    layout.edit("mkdocs.yml", "  - api/cart.md\n", "")
    assert layout.check().code == 1
    monkeypatch.setattr(directives, "_MAKES_NAV", {"mkdocstrings"})
    assert layout.check().code == 0


def test_pages_that_a_hook_makes(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "project", "modules")
    (layout.root / "docs/api/cart.md").unlink()
    layout.edit("mkdocs.yml", "  - api/cart.md\n", "")
    layout.edit("mkdocs.yml", "theme: mkdocs\n", "theme: mkdocs\nhooks: [make_pages.py]\n")
    layout.edit("mkdocs.yml", "nav:\n  - api/index.md\n  - api/app.md\n", "")
    layout.write(
        "make_pages.py",
        "from mkdocs.structure.files import File\n\n\ndef on_files(files, config):\n"
        "    files.append(File.generated(config, 'api/cart.md', content='# Cart\\n\\n::: shop.cart\\n'))\n"
        "    return files\n",
    )
    assert layout.check().code == 1
    assert layout.check("--generated-pages").code == 0


# --------------------------------------------------------------------------------- manifest and settings
MANIFEST = "connect: {status: stable}\nacme.tools.load: {status: planned}\nmissing: {status: stable}\n"


def test_a_manifest_of_names_with_a_status(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "project", "package")
    layout.write("spec/names.yaml", MANIFEST)
    outcome = layout.check("--manifest", str(layout.root / "spec"))
    assert outcome.codes == {("missing", "no-class")}
    layout.edit("spec/names.yaml", "missing: {status: stable}\n", "")
    layout.edit(
        "docs/reference.md", "::: acme\n", "::: acme\n    options:\n      members: [Client, connect, dump]\n"
    )
    outcome = layout.check("--manifest", str(layout.root / "spec"))
    assert outcome.codes == {("acme.tools.load", "missing")}
    assert "status: planned in spec/names.yaml:2" in outcome.findings[0]["why"]
    only = layout.check("--manifest", str(layout.root / "spec"), "--require", "manifest")
    assert only.codes == {("acme.tools.load", "missing")}


def test_settings_in_pyproject_and_before_them_the_command_line(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "project", "package")
    layout.arguments = []
    assert "no package is named" in layout.check().out
    layout.write(
        "pyproject.toml",
        '[tool.api-coverage]\npackages = ["acme"]\nsearch-paths = ["src"]\nrequire = "exports,methods"\n',
    )
    assert layout.required() == 4  # with Client.send
    assert layout.required("--require", "exports") == 3
    layout.edit("pyproject.toml", "packages", "package")
    assert "has no key 'package'" in layout.check().out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "[tool.api-coverage]\nrequire = ['beauty']\npackages = ['a']",
            "'beauty' is not known; there are exports,",
        ),
        ("[tool.api-coverage]\nrequire = ['manifest']\npackages = ['a']", "none is named: give --manifest"),
        ("[tool", "not TOML"),
    ],
)
def test_settings_that_cannot_be_used(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    with pytest.raises(Unusable, match=re.escape(words)):
        read_project(tmp_path, {})


def test_the_script_on_another_checkout(tmp_path: Path) -> None:
    """As people call it: the checkout follows from the configuration."""
    layout = Layout(tmp_path / "project", "package")
    layout.write("pyproject.toml", "")
    command = [sys.executable, str(SCRIPT), "--mkdocs-config", "project/mkdocs.yml", "--package", "acme"]
    command += ["--search-path", "project/src", "--stage", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("API coverage: complete (3 required names; stage 1 ")


# -------------------------------------------------------------------------------------------------- --fix
def without(text: str, entry: str, heading: str = "") -> str:
    """A page without an entry, its options, and the heading above it."""
    pattern = rf"{heading}[ ]*::: {re.escape(entry)}\n(?:[ ]{{4,}}(?!:::)[^\n]*\n)*\n?"
    assert len(re.findall(pattern, text)) == 1, (entry, text)
    return re.sub(pattern, "", text)


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("entry", ["Linear", "Conv", "Norm"])
def test_fix_writes_an_entry_as_the_page_has_them(tmp_path: Path, entry: str, end: str) -> None:
    """What was taken away comes back byte for byte: heading, options, blank lines, line ends, place."""
    layout = Layout(tmp_path / "project", "nested")
    page = "docs/api/nn/layers.md"
    whole = layout.read(page)
    layout.write(page, without(whole, f"lab.nn.{entry}", f"## `{entry}`\n\n").replace("\n", end))
    before = {p: p.read_bytes() for p in layout.root.rglob("*") if p.is_file() and p.name != "layers.md"}
    outcome = layout.check("--fix")
    assert outcome.code == 0, outcome.out
    assert layout.read(page) == whole.replace("\n", end)
    assert {p: p.read_bytes() for p in before} == before


@pytest.mark.parametrize("entry", ["relu", "gelu"])
def test_fix_keeps_the_indentation_of_a_tab(tmp_path: Path, entry: str) -> None:
    layout = Layout(tmp_path / "project", "nested")
    page = "docs/api/nn/functional.md"
    whole = layout.read(page)
    text = without(whole, f"lab.nn.{entry}")
    layout.write(page, text.rstrip("\n") + "\n")
    outcome = layout.check("--fix")
    assert outcome.code == 0, outcome.out
    assert layout.read(page) == whole


@pytest.mark.parametrize(
    ("members", "fixed"),
    [
        ("[total]", "[total, Cart]"),
        ("['total']", "['total', 'Cart']"),
        ("\n        - total", "\n        - Cart\n        - total"),
    ],
)
def test_fix_adds_to_a_list_of_members(tmp_path: Path, members: str, fixed: str) -> None:
    layout = Layout(tmp_path / "project", "modules")
    page = "docs/api/cart.md"
    layout.edit(page, "[Cart, total]", members)
    if "-" in members:
        layout.edit(page, "members: \n", "members:\n")
    want = layout.read(page).replace(members.strip(), fixed.strip())
    outcome = layout.check("--fix")
    assert outcome.code == 0, outcome.out
    assert layout.read(page) == want


def test_fix_makes_a_page_that_is_not_there(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "project", "nested")
    layout.write("lab/data.py", '"""Data."""\n\n__all__ = ["load"]\n\n\ndef load():\n    """Load."""\n')
    layout.arguments += ["--package", "lab.data"]
    outcome = layout.check("--fix")
    assert outcome.code == 0, outcome.out
    assert layout.read("docs/api/nn/data.md") == "# Data\n\n::: lab.data.load\n"


@each()
def test_fix_changes_nothing_where_nothing_is_missing(layout: Layout) -> None:
    before = {path: path.read_bytes() for path in layout.root.rglob("*") if path.is_file()}
    assert layout.check("--fix").code == 0
    assert {path: path.read_bytes() for path in layout.root.rglob("*") if path.is_file()} == before
