"""The site as files: nothing comes from elsewhere, no formula is left raw, links lead somewhere."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tileops.spec import all_specs
from tileops_docs.where import identifier

LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src"}
LINK_KINDS = {
    "stylesheet",
    "icon",
    "preload",
    "prefetch",
    "modulepreload",
    "preconnect",
    "dns-prefetch",
    "manifest",
}
HIDDEN = {"script", "style", "annotation", "code", "pre", "title"}
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class Reader(HTMLParser):
    """URLs that a browser loads, links, ids, and the text that a reader sees outside of code."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.text: list[str] = []
        self._hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag in LOADS and LOADS[tag] in values:
            self.loads.append(values[LOADS[tag]])
        if tag == "link" and set(values.get("rel", "").split()) & LINK_KINDS:
            self.loads.append(values["href"])
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if "id" in values:
            self.ids.append(values["id"])
        if tag in HIDDEN and tag not in VOID:
            self._hidden.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._hidden and self._hidden[-1] == tag:
            self._hidden.pop()

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.text.append(data)


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Reader]:
    out = {}
    for path in sorted(site.rglob("*.html")):
        out[path] = Reader()
        out[path].feed(path.read_text(encoding="utf-8"))
    return out


def test_nothing_is_loaded_from_elsewhere(pages: dict[Path, Reader]) -> None:
    loads = {url for page in pages.values() for url in page.loads}
    assert [url for url in loads if urlsplit(url).scheme not in ("", "data")] == []
    assert [url for url in loads if url.startswith("//")] == []


def test_style_sheets_load_nothing_from_elsewhere(site: Path) -> None:
    for sheet in site.rglob("*.css"):
        urls = re.findall(r"url\(\s*['\"]?([^'\")]+)", sheet.read_text(encoding="utf-8"))
        outside = [url for url in urls if urlsplit(url).scheme not in ("", "data")]
        assert outside == [], sheet
        for url in urls:
            if not urlsplit(url).scheme:
                assert (sheet.parent / urlsplit(url).path).resolve().is_file(), f"{sheet}: {url}"


def test_files_that_pages_load_exist(pages: dict[Path, Reader], site: Path) -> None:
    for path, page in pages.items():
        if path.name == "404.html":  # served from anywhere, so its URLs begin at the site's root
            continue
        for url in page.loads:
            if not urlsplit(url).scheme:
                assert (path.parent / unquote(urlsplit(url).path)).resolve().is_file(), f"{path.name}: {url}"


def test_links_lead_to_pages_and_anchors(pages: dict[Path, Reader]) -> None:
    by_path = {path.resolve(): page for path, page in pages.items()}
    for path, page in pages.items():
        for link in page.links if path.name != "404.html" else ():
            parts = urlsplit(link)
            if parts.scheme or link in ("", ".", "#"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
            assert target.is_file(), f"{path.name}: {link}"
            if parts.fragment and target in by_path:
                assert unquote(parts.fragment) in by_path[target].ids, f"{path.name}: {link}"


def test_no_raw_formula_and_no_control_character(pages: dict[Path, Reader]) -> None:
    for path, page in pages.items():
        text = "".join(page.text)
        assert "$" not in text, f"{path.name}: {text[max(0, text.index('$') - 40) :][:80]!r}"
        assert not re.search(r"\\[a-z]{2,}|\\[()\[\]]", text), path.name
        assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", text), path.name


def test_ids_occur_once(pages: dict[Path, Reader]) -> None:
    for path, page in pages.items():
        twice = {name for name in page.ids if page.ids.count(name) > 1 and not name.startswith("__")}
        assert twice == set(), path.name


def test_pages_are_small(site: Path) -> None:
    for path in site.rglob("*.html"):
        assert path.stat().st_size < 1_000_000, path


def test_the_search_index_holds_every_operator_in_lower_case(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    separator = re.compile(index["config"]["separator"])
    assert [w for w in separator.split("RMSNormFwdOp") if w] == ["RMS", "Norm", "Fwd", "Op"]
    for spec in all_specs().values():
        anchor = f"#{identifier(spec.name)}"
        (entry,) = [doc for doc in index["docs"] if doc["location"].endswith(anchor)]
        assert entry["title"] == spec.name
        text = re.sub(r"<[^>]+>", " ", entry["text"])
        assert spec.name.lower() in separator.split(text)
        assert "return self._call" not in text, "sources are not searched"


def test_search_works_without_a_server(site: Path) -> None:
    """Browsers do not read files by script; the index is there as a script too."""
    assert (site / "search" / "search_index.js").is_file()


def test_the_inventory_holds_every_operator(site: Path) -> None:
    import zlib

    raw = (site / "objects.inv").read_bytes()
    names = zlib.decompress(raw.split(b"\n", 4)[4]).decode()
    for spec in all_specs().values():
        assert f"{identifier(spec.name)} " in names
