"""A page's HTML as a small tree, with the text that a reader sees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

_VOID = frozenset(
    {
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
    }
)
_INVISIBLE = frozenset({"script", "style", "template", "head", "noscript"})
_CODE = frozenset({"code", "pre", "kbd", "samp", "textarea"})


@dataclass
class Node:
    """An element. `math` says that it is typeset, so that its text is glyphs rather than words."""

    tag: str
    attrs: dict[str, str]
    parent: Node | None = None
    children: list[Node | str] = field(default_factory=list)

    @property
    def classes(self) -> list[str]:
        return self.attrs.get("class", "").split()

    @property
    def hidden(self) -> bool:
        style = self.attrs.get("style", "").replace(" ", "").lower()
        return self.tag in _INVISIBLE or "hidden" in self.attrs or "display:none" in style

    def walk(self) -> Iterator[Node]:
        """This element and all in it, in document order."""
        todo = [self]
        while todo:
            node = todo.pop()
            yield node
            todo += [child for child in reversed(node.children) if isinstance(child, Node)]

    def text(self) -> str:
        """The visible text, with runs of blanks as one."""
        return " ".join("".join(text for text, _ in self.visible()).split())

    def visible(self, code: bool = False, math: bool = False) -> Iterator[tuple[str, str]]:
        """The visible texts, each with its kind: `text`, `code` or `math`."""
        if self.hidden:
            return
        code = code or self.tag in _CODE
        math = math or "katex" in self.classes or self.tag == "math"
        for child in self.children:
            if isinstance(child, str):
                yield child, "math" if math else "code" if code else "text"
            else:
                yield from child.visible(code, math)

    def find(self, attribute: str, value: str | None = None) -> Iterator[Node]:
        """The elements with an attribute, of a value if one is given."""
        for node in self.walk():
            if attribute in node.attrs and (value is None or node.attrs[attribute] == value):
                yield node

    def tags(self, *names: str) -> Iterator[Node]:
        """The elements of these names."""
        return (node for node in self.walk() if node.tag in names)


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs}, self.open[-1])
        self.open[-1].children.append(node)
        if tag not in _VOID:
            self.open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        for depth in range(len(self.open) - 1, 0, -1):
            if self.open[depth].tag == tag:
                del self.open[depth:]
                return

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parse(path: Path) -> Node:
    """The tree of a file. Comments are not in it."""
    builder = _Builder()
    builder.feed(path.read_text(encoding="utf-8"))
    builder.close()
    return builder.root
