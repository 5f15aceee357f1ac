"""The library says what the troubleshooting page explains: one string of it has all words of each message."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "troubleshooting.md"
MESSAGES = re.findall(r"^### `(.+)`$", PAGE.read_text(encoding="utf-8"), flags=re.M)


def literals(path: Path) -> list[str]:
    """The strings of a module as they read, without docstrings."""
    texts: list[str] = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        named = {
            target.id: value
            for assigned in ast.walk(node)
            if isinstance(assigned, ast.Assign)
            for target in assigned.targets
            if isinstance(target, ast.Name) and (value := read(assigned.value, {}))
        }
        docstrings = {
            id(each.value)
            for each in ast.walk(node)
            if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
        }
        texts += [read(each, named) for each in ast.walk(node) if id(each) not in docstrings]
    return [text for text in texts if text]


def read(node: ast.AST, named: dict[str, str]) -> str:
    """The text of a string expression, with `…` for what is put in unless it is a string with a name here."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(read(part, named) or "…" for part in parts)
        case ast.FormattedValue(value=ast.Name(id=name)):
            return named.get(name, "")
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return read(left, named) + read(right, named)
    return ""


@pytest.fixture(scope="module")
def said() -> list[str]:
    return [text for path in sorted((ROOT / "tileops").rglob("*.py")) for text in literals(path)]


def test_the_page_has_messages() -> None:
    assert len(MESSAGES) > 20


@pytest.mark.parametrize("message", MESSAGES)
def test_message_is_raised(message: str, said: list[str]) -> None:
    words = re.findall(r"[A-Za-z]{4,}", message.replace("tileops", ""))
    assert words, "a message without words"
    found = any(all(word in text for word in words) for text in said)
    assert found, f"no string of tileops says {message!r}"
