"""Expressions and shapes of the manifest as data that the page's script evaluates.

An expression becomes nested lists, its first item saying what it is:

| list                              | is                                                     |
| --------------------------------- | ------------------------------------------------------ |
| `["i", "12"]` `["f", 0.5]`        | an integer, of any size, and a float                   |
| `["s", "x"]` `["b", true]` `["z"]`| a string, a bool, None                                 |
| `["n", "B"]`                      | a size, param or `let`                                 |
| `["t", "numel", "x"]`             | a fact about a tensor                                  |
| `["u", "-", a]` `["o", "+", a, b]`| operators with one and two operands                    |
| `["and", a, b]` `["or", a, b]`    | as in Python: the operand that decides                 |
| `["c", a, "<", b, "<=", c]`       | a chain of comparisons                                 |
| `["if", condition, a, b]`         | a choice                                               |
| `["l", a, b]`                     | a tuple                                                |
| `["at", a, i]` `["cut", a, i, j, k]` | an element, and a slice                             |
| `["f()", "prod", a]`              | a function of `tileops.spec.functions`                 |
"""

from __future__ import annotations

import ast
import inspect
from typing import Any

from tileops.spec.expressions import Expression
from tileops.spec.functions import FUNCTIONS, TENSOR_FUNCTIONS
from tileops.spec.patterns import Pattern

__all__ = ["expression", "pattern"]

_BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Div: "/", ast.Mod: "%", ast.Pow: "**",
}  # fmt: skip
_COMPARE = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_CONSTANTS = {bool: "b", float: "f", str: "s"}


def expression(text: str) -> list[Any]:
    """The lists of an expression.

    Raises:
        ExpressionError: It is not in the language.
    """
    Expression(text)  # refuses what is not in the language
    return _node(ast.parse(text.strip(), mode="eval").body)


def pattern(text: str) -> list[dict[str, Any]]:
    """The branches of a shape: `if` a condition or null, and `items` of an expression, starred or not."""
    return [
        {
            "if": expression(branch.condition.text) if branch.condition else None,
            "items": [[expression(item.expression.text), item.splat] for item in branch.items],
        }
        for branch in Pattern.parse(text).branches
    ]


def _node(node: ast.expr) -> list[Any]:
    match node:
        case ast.Constant(value=None):
            return ["z"]
        case ast.Constant(value=value):
            return ["i", str(value)] if type(value) is int else [_CONSTANTS[type(value)], value]
        case ast.Name(id=name):
            return ["n", name]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return ["u", "not", _node(operand)]
        case ast.UnaryOp(operand=operand):
            return ["u", "-", _node(operand)]
        case ast.BinOp(left=left, op=op, right=right):
            return ["o", _BINARY[type(op)], _node(left), _node(right)]
        case ast.BoolOp(op=op, values=values):
            return ["and" if isinstance(op, ast.And) else "or", *map(_node, values)]
        case ast.Compare(left=left, ops=ops, comparators=others):
            pairs = [[_COMPARE[type(op)], _node(o)] for op, o in zip(ops, others, strict=True)]
            return ["c", _node(left), *(part for pair in pairs for part in pair)]
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return ["if", _node(test), _node(body), _node(orelse)]
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return ["l", *map(_node, items)]
        case ast.Subscript(value=value, slice=ast.Slice(lower=low, upper=high, step=step)):
            return ["cut", _node(value), *(_node(bound) if bound else ["z"] for bound in (low, high, step))]
        case ast.Subscript(value=value, slice=index) if not isinstance(index, ast.Slice):
            return ["at", _node(value), _node(index)]
        case ast.Call():
            return _call(node)
    raise NotImplementedError(f"{ast.unparse(node)}: the page's script has no {type(node).__name__} like it")


def _call(node: ast.Call) -> list[Any]:
    assert isinstance(node.func, ast.Name)
    name = node.func.id
    if name in TENSOR_FUNCTIONS:
        assert isinstance(node.args[0], ast.Name)
        return ["t", name, node.args[0].id]
    args = [_node(argument) for argument in node.args]
    if node.keywords:  # the script knows positions only
        bound = inspect.signature(FUNCTIONS[name]).bind(
            *args, **{str(k.arg): _node(k.value) for k in node.keywords}
        )
        given = bound.arguments
        args = []
        for parameter in bound.signature.parameters.values():
            found = given.get(parameter.name)
            args.append(found if found is not None else _node(ast.Constant(parameter.default)))
    return ["f()", name, *args]
