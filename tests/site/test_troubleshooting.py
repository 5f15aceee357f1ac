"""The library says what the troubleshooting page explains: one module has all words of each message."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "troubleshooting.md"
MESSAGES = re.findall(r"^### `(.+)`$", PAGE.read_text(encoding="utf-8"), flags=re.M)


def literal_texts(path: Path) -> str:
    """The strings of a module as they read, with `…` where a value is put in."""
    texts = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            texts.append("".join(p.value if isinstance(p, ast.Constant) else "…" for p in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.append(node.value)
    return "\n".join(texts)


@pytest.fixture(scope="module")
def modules() -> list[str]:
    return [literal_texts(path) for path in sorted((ROOT / "tileops").rglob("*.py"))]


def test_the_page_has_messages() -> None:
    assert len(MESSAGES) > 20


@pytest.mark.parametrize("message", MESSAGES)
def test_message_is_raised(message: str, modules: list[str]) -> None:
    words = re.findall(r"[A-Za-z]{4,}", message.replace("tileops", ""))
    assert words, "a message without words"
    found = any(all(word in text for word in words) for text in modules)
    assert found, f"no module of tileops says {message!r}"
