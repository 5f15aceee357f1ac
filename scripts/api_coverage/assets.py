"""Addresses that a browser fetches by itself: all must stay on the site, and exist there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from .htmltree import Node
from .report import Finding

# What a page fetches while it loads. Links that a reader follows may lead anywhere.
_FETCHED = {
    "img": ("src", "srcset"),
    "script": ("src",),
    "iframe": ("src",),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "track": ("src",),
    "image": ("href", "xlink:href"),
    "use": ("href", "xlink:href"),
}
_LINK_RELS = frozenset(
    {"stylesheet", "icon", "apple-touch-icon", "manifest"}
    | {"preload", "modulepreload", "prefetch", "preconnect", "dns-prefetch"}
)
_CSS_URL = re.compile(r"""url\(\s*['"]?([^'")]+)['"]?\s*\)|@import\s+['"]([^'"]+)['"]""")


def check_assets(sources: dict[str, str], site: Path, pages: dict[str, Node]) -> list[Finding]:
    """Addresses that leave the site, and local ones that lead nowhere; each is said once."""
    found: dict[str, Finding] = {}
    for url, page in pages.items():
        source = sources.get(url, url)
        for address in _addresses(page):
            if address not in found and (problem := _problem(site, url, address)):
                found[address] = Finding("asset", source, problem, file=source)
        for problem in _fetching_parts(page):
            found.setdefault(problem, Finding("asset", source, problem, file=source))
    for css in sorted(site.rglob("*.css")):
        name = css.relative_to(site).as_posix()
        for address in _css(css.read_text(encoding="utf-8", errors="replace")):
            if address not in found and _leaves(address):
                problem = f"the style sheet loads {address}, which is outside the site"
                found[address] = Finding("asset", name, problem, file=name)
    return list(found.values())


def _addresses(page: Node) -> Iterator[str]:
    for node in page.walk():
        for attribute in _FETCHED.get(node.tag, ()):
            value = node.attrs.get(attribute, "")
            yield from _srcset(value) if attribute == "srcset" else [value]
        if node.tag == "link" and _LINK_RELS & set(node.attrs.get("rel", "").lower().split()):
            yield node.attrs.get("href", "")
        if "style" in node.attrs:
            yield from _css(node.attrs["style"])
        if node.tag == "style":
            yield from _css("".join(child for child in node.children if isinstance(child, str)))


def _srcset(value: str) -> list[str]:
    return [part.split()[0] for part in value.split(",") if part.strip()]


def _css(text: str) -> Iterator[str]:
    for match in _CSS_URL.finditer(text):
        yield match[1] or match[2]


def _leaves(address: str) -> bool:
    parts = urlsplit(address.strip())
    return bool(parts.netloc) or parts.scheme in ("http", "https", "ws", "wss", "ftp")


def _problem(site: Path, url: str, address: str) -> str:
    address = address.strip()
    if _leaves(address):
        return f"the built page loads {address}, which is outside the site"
    parts = urlsplit(address)
    if not parts.path or parts.scheme or parts.path.startswith("/"):
        return ""  # data:, a fragment, or the error page, which only a server shows
    target = ((site / url).parent / unquote(parts.path)).resolve()
    return "" if target.exists() else f"the built page loads {address}, which the site does not hold"


def _fetching_parts(page: Node) -> Iterator[str]:
    """Parts that make the theme's own script ask another host."""
    for node in page.walk():
        if node.attrs.get("data-md-component") == "source" and _leaves(node.attrs.get("href", "")):
            yield f"the theme's script asks the host of {node.attrs['href']} for stars and forks"
        if node.tag == "pre" and "mermaid" in node.classes and not _has_mermaid(page):
            yield "a diagram makes the theme's script load mermaid from another host"


def _has_mermaid(page: Node) -> bool:
    return any("mermaid" in node.attrs.get("src", "") for node in page.tags("script"))
