"""Expressions of the manifest: a subset of Python that is checked once and compiled to Python.

Names are rewritten so that nothing in a manifest can reach anything but what the operator declares:
a size or param `B` reads the variable `n_B`, a function `prod` the variable `f_prod`, and for a tensor `x`
`shape(x)` reads `s_x`, `dtype(x)` the name of the dtype in `d_x`, and `given(x)` whether `s_x` is a shape.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping
from types import CodeType
from typing import Any

from tileops.spec.functions import FUNCTIONS, TENSOR_FUNCTIONS

__all__ = ["GLOBALS", "Expression", "ExpressionError"]

GLOBALS: dict[str, Any] = {f"f_{name}": function for name, function in FUNCTIONS.items()} | {
    "f_dtype": lambda name: name
}
"""What evaluated expressions find besides their variables."""

_ALLOWED = (
    ast.Expression, ast.Constant, ast.Name, ast.Load, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare,
    ast.IfExp,
    ast.Tuple, ast.List, ast.Subscript, ast.Slice, ast.Call, ast.keyword, ast.And, ast.Or, ast.Not, ast.USub,
    ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Div, ast.Mod, ast.Pow,
    ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Is, ast.IsNot, ast.In, ast.NotIn,
)  # fmt: skip

_CALLABLE = frozenset({*FUNCTIONS, *TENSOR_FUNCTIONS})


class ExpressionError(ValueError):
    """An expression that is not in the language."""


class Expression:
    """A parsed expression. Texts repeat a lot within an entry, so each is parsed once in the process.

    Attributes:
        text: As the manifest has it.
        names: Sizes and params that it reads.
        tensors: (function, tensor) pairs that it reads.
        python: Its source, with the variables of the module's docstring.
        is_tuple: Whether it is a tuple as it stands, such as `(M, N)`.
    """

    __slots__ = ("code", "is_tuple", "names", "python", "tensors", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.names, self.tensors, self.python, self.code, self.is_tuple = _parse(text)

    def evaluate(self, variables: Mapping[str, Any]) -> Any:
        """Its value, for variables named as in the module's docstring."""
        return eval(self.code, GLOBALS, dict(variables))

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


@functools.cache
def _parse(text: str) -> tuple[frozenset[str], frozenset[tuple[str, str]], str, CodeType, bool]:
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # ast.parse documents all of them
        raise ExpressionError(f"{text!r} is not an expression: {getattr(error, 'msg', error)}") from None
    for node in ast.walk(tree):
        _check(node, text)
    rewriter = _Rewriter()
    body = rewriter.visit(tree.body)
    python = ast.unparse(body)
    code = compile(python, f"<{text}>", "eval")
    return (
        frozenset(rewriter.names),
        frozenset(rewriter.tensors),
        python,
        code,
        isinstance(body, (ast.Tuple, ast.List)),
    )


def _check(node: ast.AST, text: str) -> None:
    if not isinstance(node, _ALLOWED):
        raise ExpressionError(f"{text!r}: {type(node).__name__} is not part of the expression language")
    if isinstance(node, ast.Constant) and not isinstance(node.value, (int, float, str, bool, type(None))):
        raise ExpressionError(f"{text!r}: the constant {node.value!r} is not allowed")
    if isinstance(node, ast.keyword) and node.arg is None:
        raise ExpressionError(f"{text!r}: ** is not part of the expression language")
    if not isinstance(node, ast.Call):
        return
    if not isinstance(node.func, ast.Name) or node.func.id not in _CALLABLE:
        known = ", ".join(sorted(_CALLABLE))
        raise ExpressionError(f"{text!r}: unknown function {ast.unparse(node.func)!r}; there are {known}")
    if node.func.id in TENSOR_FUNCTIONS and not _names_a_tensor(node):
        raise ExpressionError(f"{text!r}: {node.func.id}() takes the name of one tensor")


def _names_a_tensor(node: ast.Call) -> bool:
    return len(node.args) == 1 and not node.keywords and isinstance(node.args[0], ast.Name)


class _Rewriter(ast.NodeTransformer):
    def __init__(self) -> None:
        self.names: set[str] = set()
        self.tensors: set[tuple[str, str]] = set()

    def visit_Name(self, node: ast.Name) -> ast.AST:
        self.names.add(node.id)
        return ast.Name(f"n_{node.id}", ast.Load())

    def visit_Call(self, node: ast.Call) -> ast.AST:
        assert isinstance(node.func, ast.Name)
        function = node.func.id
        if function in TENSOR_FUNCTIONS:
            assert isinstance(node.args[0], ast.Name)
            tensor = node.args[0].id
            self.tensors.add((function, tensor))
            source = {
                "shape": f"s_{tensor}",
                "numel": f"f_prod(s_{tensor})",
                "dtype": f"f_dtype(d_{tensor})",
                "given": f"(s_{tensor} is not None)",
            }[function]
            return ast.parse(source, mode="eval").body
        args = [self.visit(a) for a in node.args]
        keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        if (
            function == "ceildiv" and len(args) == 2 and not keywords
        ):  # a call would cost more than the division
            return _negative(ast.BinOp(_negative(args[0]), ast.FloorDiv(), args[1]))
        return ast.Call(ast.Name(f"f_{function}", ast.Load()), args, keywords)


def _negative(node: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.USub(), node)


def variables(
    names: Mapping[str, Any], shapes: Mapping[str, Any] = {}, dtypes: Mapping[str, str | None] = {}
) -> Iterator[tuple[str, Any]]:
    """Variables for `Expression.evaluate` from sizes and params, tensor shapes and dtype names."""
    for name, value in names.items():
        yield f"n_{name}", value
    for tensor, shape in shapes.items():
        yield f"s_{tensor}", shape
        yield f"d_{tensor}", dtypes.get(tensor)
