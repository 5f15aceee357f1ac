"""Every message that the troubleshooting page explains is one that the library really raises."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "troubleshooting.md"
MESSAGES = re.findall(r"^### `(.+)`$", PAGE.read_text(encoding="utf-8"), flags=re.M)


def literal_texts() -> list[str]:
    """Each string of the library as it reads, with `…` where a value is put in."""
    texts = []
    for path in sorted((ROOT / "tileops").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                texts.append("".join(p.value if isinstance(p, ast.Constant) else "…" for p in node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    return texts


@pytest.fixture(scope="module")
def raised() -> list[str]:
    return literal_texts()


def test_the_page_has_messages() -> None:
    assert len(MESSAGES) > 20


@pytest.mark.parametrize("message", MESSAGES)
def test_message_is_raised(message: str, raised: list[str]) -> None:
    if message.startswith("module 'tileops' has no attribute"):
        message = "module … has no attribute …"
    pieces = [re.escape(piece) for piece in message.split("…")]
    pattern = re.compile(".*".join(pieces), flags=re.S)
    assert any(pattern.search(text) for text in raised), f"nothing in tileops says {message!r}"
