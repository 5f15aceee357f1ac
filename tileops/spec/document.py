"""YAML text to plain values, with the line of every key and item. PyYAML is imported by the first file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tileops.errors import ManifestError

if TYPE_CHECKING:
    import yaml

__all__ = ["FieldPath", "read"]

FieldPath = tuple[str | int, ...]

_TAG = "tag:yaml.org,2002:"
_SCALARS = {"str", "int", "float", "bool", "null"}


def read(path: Path) -> tuple[dict[str, Any], dict[FieldPath, int]]:
    """The file's value, and the line of every key and item in it.

    Raises:
        ManifestError: It is not YAML, a key is not text or is there twice, or a value is of no field's type.
    """
    import yaml

    loader_type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        node = yaml.compose(path.read_text(encoding="utf-8"), loader_type)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        raise ManifestError(f"{path}:{mark.line + 1 if mark else 1}: YAML: {problem}") from None
    except UnicodeDecodeError as error:
        raise ManifestError(f"{path}:1: is not UTF-8: {error}") from None
    builder = _Builder(path, yaml.constructor.SafeConstructor())
    value = {} if node is None else builder.build(node, (), ())
    if not isinstance(value, dict):
        raise ManifestError(f"{path}:1: the file must map operator names to entries")
    return value, builder.lines


class _Builder:
    def __init__(self, path: Path, constructor: yaml.constructor.SafeConstructor) -> None:
        self.path, self.constructor = path, constructor
        self.lines: dict[FieldPath, int] = {}

    def build(self, node: yaml.Node, where: FieldPath, inside: tuple[yaml.Node, ...]) -> Any:
        import yaml

        line = node.start_mark.line + 1
        self.lines.setdefault(where, line)
        if any(node is outer for outer in inside):
            raise self.error(where, line, "an alias stands for what it is in")
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*where, n), (*inside, node)) for n, item in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, where, inside)
        kind = node.tag.removeprefix(_TAG)
        if kind not in _SCALARS:
            raise self.error(where, line, f"YAML reads {node.value!r} as {kind}; put it in quotes")
        try:
            return self.constructor.construct_object(node)
        except ValueError as error:
            raise self.error(where, line, f"YAML cannot read {node.value!r} as {kind}: {error}") from None

    def mapping(self, node: yaml.Node, where: FieldPath, inside: tuple[yaml.Node, ...]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line, key = key_node.start_mark.line + 1, key_node.value
            kind = key_node.tag.removeprefix(_TAG)
            if kind != "str":
                shown = key if isinstance(key, str) else "..."
                raise self.error(
                    (*where, shown), line, f"YAML reads the key {shown} as {kind}; put it in quotes"
                )
            if key in out:
                first = self.lines[(*where, key)]
                raise self.error((*where, key), line, f"is declared twice; first at line {first}")
            self.lines[(*where, key)] = line
            out[key] = self.build(value_node, (*where, key), (*inside, node))
        return out

    def error(self, where: FieldPath, line: int, message: str) -> ManifestError:
        operator = where[0] if where else "the file"
        field = ".".join(map(str, where[1:])) or "entry"
        return ManifestError(f"{self.path}:{line}: {operator}: {field}: {message}")
