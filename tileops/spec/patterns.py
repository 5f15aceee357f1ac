"""Shape patterns: `"*B S_q H D"`, `"K M if trans_a else M K"`, `"N C *pooled(S, kernel_size)"`."""

from __future__ import annotations

import functools

import msgspec

from tileops.spec.expressions import Expression, ExpressionError

__all__ = ["Branch", "Item", "Pattern"]


class Item(msgspec.Struct, frozen=True):
    """One place of a pattern: a size, or with `*` any number of sizes."""

    expression: Expression
    splat: bool

    @property
    def name(self) -> str | None:
        """The size's name, when the item is nothing but a name."""
        text = self.expression.text
        return text if text.isidentifier() else None

    def __str__(self) -> str:
        return f"*{self.expression.text}" if self.splat else self.expression.text


class Branch(msgspec.Struct, frozen=True):
    """A list of items and the condition on params under which it is the shape."""

    condition: Expression | None
    items: tuple[Item, ...]


class Pattern(msgspec.Struct, frozen=True):
    """A parsed shape: the first branch whose condition holds; the last has none."""

    text: str
    branches: tuple[Branch, ...]

    @staticmethod
    @functools.cache
    def parse(text: str) -> Pattern:
        """Parse `"P if condition else Q"`, any number of times, or `"P"`."""
        branches = []
        words = _split(text)
        while "if" in words:
            at = words.index("if")
            if "else" not in words[at:]:
                raise ExpressionError(f"{text!r}: 'if' without 'else'")
            end = words.index("else", at)
            branches.append(Branch(Expression(" ".join(words[at + 1 : end])), _items(words[:at], text)))
            words = words[end + 1 :]
        branches.append(Branch(None, _items(words, text)))
        return Pattern(text, tuple(branches))

    @property
    def expressions(self) -> list[Expression]:
        """Every expression in it."""
        out: list[Expression] = []
        for branch in self.branches:
            out += [branch.condition] if branch.condition else []
            out += [item.expression for item in branch.items]
        return out


def _items(words: list[str], text: str) -> tuple[Item, ...]:
    if not words:
        raise ExpressionError(f"{text!r}: a shape has no items; write () for no dimensions")
    if words == ["()"]:
        return ()
    items = []
    for word in words:
        splat = word.startswith("*")
        item = Item(Expression(word[1:] if splat else word), splat)
        if not splat and item.expression.is_tuple:
            raise ExpressionError(f"{text!r}: {word!r} is a tuple; separate sizes with blanks")
        items.append(item)
    return tuple(items)


def _split(text: str) -> list[str]:
    """Words of `text`, separated by blanks outside brackets."""
    words, word, depth = [], "", 0
    for char in text:
        depth += (char in "([") - (char in ")]")
        if char != " " or depth:
            word += char
        elif word:
            words.append(word)
            word = ""
    return [*words, word] if word else words
