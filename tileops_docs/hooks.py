"""What MkDocs calls while it builds: pages of sources, Markdown twins, descriptions, and the time by stage.

Nothing that a reader of an operator's page needs depends on it: formulas, tables and operator pages are
Markdown and griffe extensions.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import CombinedEvent, event_priority
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

from tileops import __version__
from tileops_docs import source_pages, twins
from tileops_docs.katex import END, START
from tileops_docs.store import save_all
from tileops_docs.timing import timing

log = logging.getLogger("mkdocs.plugins.tileops")
UNSEARCHED = re.compile(rf"{START}.*?{END}|<script.*?</script>|<svg.*?</svg>", re.DOTALL)
UNREAD = re.compile(
    r'<(?P<tag>a|nav|details|form)\b[^>]*(?:class="headerlink"|data-search-exclude)[^>]*>.*?</(?P=tag)>',
    re.DOTALL,
)
INLINE = re.compile(r"</?(?:span|code|a|b|em|strong|wbr|autoref)\b[^>]*>")
BLOCK = re.compile(
    r"</?(?:table|thead|tbody|tr|td|th|div|section|nav|details|summary|dl|dt|dd|ul|li|br|pre)\b[^>]*>"
)
MARKS = re.compile(f"{START}|{END}")
_whole: dict[str, str] = {}
_pages: dict[str, tuple[str, Page]] = {}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    timing.switch("manifest")
    config.extra["release"] = __version__
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for path in source_pages.paths():
        name = source_pages.page_name(path)
        content = source_pages.markdown(path)
        files.append(File.generated(config, name, content=content, inclusion=InclusionLevel.NOT_IN_NAV))
    return files


def on_nav(nav: Any, **_: Any) -> Any:
    timing.switch("pages")
    return nav


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    page.meta.setdefault("description", twins.describe(markdown))
    if not _source(page):
        _pages[page.file.src_uri] = (markdown, page)
    return markdown


def on_page_content(html: str, page: Page, **_: Any) -> str:
    path = _source(page)
    return html + source_pages.html(path) if path else html


@event_priority(-100)  # after the references are resolved
def on_env(env: Any, **_: Any) -> Any:
    timing.switch("templates")
    return env


@event_priority(100)
def _before_search(context: Any, page: Page, config: MkDocsConfig, **_: Any) -> Any:
    """The search reads a page without what it would leave out anyway, which is most of its elements."""
    _whole[page.file.src_uri] = page.content or ""
    page.content = UNSEARCHED.sub("", page.content or "")
    if page.file.src_uri.startswith("api/"):  # of the many tags in its tables the search makes nothing
        page.content = " ".join(BLOCK.sub(" ", INLINE.sub("", UNREAD.sub("", page.content))).split())
    timing.enter("search index")
    if path := _source(page):
        page.edit_url = f"{(config.repo_url or '').rstrip('/')}/edit/main/{path}"
    return context


@event_priority(-100)
def _after_search(context: Any, page: Page, **_: Any) -> Any:
    timing.leave()
    page.content = MARKS.sub("", _whole.pop(page.file.src_uri))
    return context


on_page_context = CombinedEvent(_before_search, _after_search)


def on_post_build(config: MkDocsConfig, **_: Any) -> None:
    timing.switch("twins")
    site = Path(config.site_dir)
    listed = []
    for name, (markdown, page) in _pages.items():
        twins.write(site, name, twins.twin(markdown, name))
        listed.append((str(page.title), name, str(page.meta.get("description", ""))))
    url = f"{(config.site_url or '').rstrip('/')}/".lstrip("/")
    about = " ".join((config.site_description or "").split())
    twins.write(site, "llms.txt", twins.llms_txt(listed, config.site_name, about, url))
    save_all()
    timing.switch("end")
    log.info("Time by stage: %s", timing)


def _source(page: Page) -> str:
    """The file that a page shows; empty for every other page."""
    name = page.file.src_uri
    return (
        name.removeprefix(f"{source_pages.FOLDER}/").removesuffix(".md") if name.startswith("source/") else ""
    )
