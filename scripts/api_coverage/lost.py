"""Text that looks like an entry and is not one: where it stands, and why the site does not render it."""

from __future__ import annotations

import re
from collections.abc import Sequence

_MENTION = re.compile(r":::[ \t]?([A-Za-z_]\w*(?:\.\w+)*)")
_FENCE = re.compile(r"^[ \t>]*(?:[-*+] +|\d+[.)] +)?(`{3,}|~{3,})(.*)$")
_ENTRY = re.compile(r"^[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)*(?:#{1,6} *)?::: ?\S")
_TAG = re.compile(
    r"</?(?:div|p|pre|section|table|details|article|aside|ul|ol|li|span|script|style)\b[^>]*>", re.I
)


def mentions(text: str) -> list[tuple[int, str]]:
    """Line and identifier of whatever looks like an entry, shown or not."""
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        found += [(number, match[1]) for match in _MENTION.finditer(line)]
    return found


def reason_lost(lines: Sequence[str], number: int) -> str:
    """Why the mention in line `number` is not an entry, as far as the text shows; empty if it looks like one.

    The parser decides what is an entry; this explains it to the reader and picks line numbers.
    """
    line, before = lines[number - 1], lines[: number - 1]
    if _in_comment(before, line):
        return "it is commented out"
    if _in_fence(before):
        return "it is inside a code fence"
    if "|" in line:
        return "it is in a table cell"
    if re.search(r"`[^`]*:::[^`]*`", line):
        return "it is inline code"
    if _in_raw_html(before, line):
        return "it is in raw HTML (add `markdown` to the tag)"
    if not _ENTRY.match(line):
        return "it does not start its line"
    if _is_indented_code(before, line):
        return "it is indented, which makes it code or text"
    return ""


def _in_comment(before: Sequence[str], line: str) -> bool:
    text = "\n".join([*before, line.partition(":::")[0]])
    return text.rfind("<!--") > text.rfind("-->")


def _in_fence(before: Sequence[str]) -> bool:
    fence = ""
    for line in before:
        match = _FENCE.match(line)
        if match is None:
            continue
        if not fence:
            fence = match[1]
        elif match[1].startswith(fence) and not match[2].strip():
            fence = ""
    return bool(fence)


def _in_raw_html(before: Sequence[str], line: str) -> bool:
    """Whether the block that the line is in started with a tag that keeps Markdown out."""
    open_tags: list[str] = []
    for text in [*before, line.partition(":::")[0]]:
        for tag in _TAG.finditer(text):
            if not tag[0].startswith("</"):
                open_tags.append(tag[0])
            elif open_tags:
                open_tags.pop()
    return bool(open_tags) and not any(re.search(r"\bmarkdown\b", tag) for tag in open_tags)


def _is_indented_code(before: Sequence[str], line: str) -> bool:
    """Whether four blanks of indentation belong to nothing that they could continue."""
    indent = len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
    if indent % 4:
        return True  # blocks nest by four blanks; with fewer, the colons do not start the line
    if not indent:
        return False
    for text in reversed(before):
        width = len(text.expandtabs(4)) - len(text.expandtabs(4).lstrip())
        if text.strip() and width < indent:
            opener = re.match(r"^[ \t]*(?:[-*+] |\d+[.)] |!!!|\?\?\?|===|\[\^|: |///)", text)
            return opener is None
    return True
