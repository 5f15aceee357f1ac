"""Manifest files to `OpSpec`s. Every error names file, line, operator and field."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml

from tileops.errors import ManifestError
from tileops.spec.checks import FieldError, check
from tileops.spec.dtypes import SlotDtype, expand_rows
from tileops.spec.model import Entry, Implementation, Input, OpSpec, Output, Param, Roofline, Rule

__all__ = ["all_specs", "families", "load", "load_family", "manifest_dir", "read_file"]

_Path = tuple[str | int, ...]


def manifest_dir() -> Path:
    """The folder of the manifest: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "manifest"
    return installed if installed.is_dir() else package.parent / "manifest"


@functools.cache
def families() -> tuple[str, ...]:
    """Names of the families, in alphabetical order."""
    return tuple(sorted(path.stem for path in manifest_dir().glob("*.yaml")))


@functools.cache
def load_family(name: str) -> dict[str, OpSpec]:
    """The operators of one family, by class name, in the order of the file."""
    path = manifest_dir() / f"{name}.yaml"
    if not path.is_file():
        raise ManifestError(f"there is no family {name!r}; there are {', '.join(families())}")
    specs = read_file(path)
    for spec in specs.values():
        if spec.family != name:
            raise ManifestError(f"{path}:{spec.line}: {spec.name}: family: is {spec.family!r}, but the file is {name}.yaml")
    return specs


@functools.cache
def all_specs() -> dict[str, OpSpec]:
    """Every operator, by class name. An operator that two files declare is an error."""
    out: dict[str, OpSpec] = {}
    for family in families():
        for name, spec in load_family(family).items():
            if name in out:
                raise ManifestError(f"{spec.file}:{spec.line}: {name}: is also declared at {out[name].file}:{out[name].line}")
            out[name] = spec
    return out


def load(name: str) -> OpSpec:
    """One operator by its class name."""
    try:
        return all_specs()[name]
    except KeyError:
        raise ManifestError(f"no file of {manifest_dir()} declares an operator {name!r}") from None


def read_file(path: Path) -> dict[str, OpSpec]:
    """Read and check one manifest file.

    Raises:
        ManifestError: The file is not YAML, or an entry is not what `tileops.spec.model` and the language allow.
    """
    raw, lines = _parse(path)
    return {str(name): _entry(path, str(name), value, lines) for name, value in raw.items()}


def _entry(path: Path, name: str, raw: Any, lines: dict[_Path, int]) -> OpSpec:
    own = {key[1:]: line for key, line in lines.items() if key[:1] == (name,)}
    try:
        entry = _convert(raw)
        spec = _spec(path, name, entry, own)
        check(spec)
    except FieldError as error:
        where: _Path = error.path
        while where not in own:
            where = where[:-1]
        field = ".".join(map(str, error.path)) or "entry"
        raise ManifestError(f"{path}:{own[where]}: {name}: {field}: {error}") from None
    return spec


def _spec(path: Path, name: str, entry: Entry, lines: dict[_Path, int]) -> OpSpec:
    signature = entry.signature
    slots = {}
    for kind, members in (("inputs", signature.inputs), ("outputs", signature.outputs)):
        for slot, member in members.items():
            try:
                slots[slot] = SlotDtype.parse(member.dtype, signature.params)
            except ValueError as error:
                raise FieldError(("signature", kind, slot, "dtype"), str(error)) from None
    return OpSpec(
        name=name,
        family=entry.family,
        status=entry.status,
        ref_api=entry.ref_api,
        inputs=signature.inputs,
        params=signature.params,
        outputs=signature.outputs,
        let=signature.let,
        rows=expand_rows(slots, signature.dtype_combos),
        rules=signature.shape_rules,
        roofline=entry.roofline,
        implementations=entry.implementations,
        cases=entry.cases,
        workloads=entry.workloads,
        file=str(path),
        line=lines[()],
        lines=lines,
    )


def _convert(raw: Any) -> Entry:
    try:
        return msgspec.convert(raw, Entry)
    except msgspec.ValidationError as error:
        for path, kind, value in _pieces(raw):
            _convert_piece(path, kind, value)
        raise FieldError((), str(error)) from None


def _convert_piece(path: _Path, kind: Any, value: Any) -> None:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        message, _, inner = str(error).partition(" - at `$")
        names = [part for part in inner.rstrip("`").strip(".").split(".") if part.isidentifier()]
        raise FieldError((*path, *names), message) from None


def _pieces(raw: Any) -> Iterator[tuple[_Path, Any, Any]]:
    """The parts of an entry with their types, smallest first, so that an error can name its key."""
    if not isinstance(raw, dict):
        return
    signature = raw.get("signature")
    if isinstance(signature, dict):
        for kind, model in (("inputs", Input), ("params", Param), ("outputs", Output)):
            members = signature.get(kind)
            for name, value in members.items() if isinstance(members, dict) else ():
                yield ("signature", kind, name), model, value
        yield from _rules(("signature", "shape_rules"), signature.get("shape_rules"))
    members = raw.get("implementations")
    for name, value in members.items() if isinstance(members, dict) else ():
        if isinstance(value, dict):
            yield from _rules(("implementations", name, "domain"), value.get("domain"))
        yield ("implementations", name), Implementation, value
    if "roofline" in raw:
        yield ("roofline",), Roofline, raw["roofline"]
    yield (), Entry, raw


def _rules(path: _Path, rules: Any) -> Iterator[tuple[_Path, Any, Any]]:
    for n, rule in enumerate(rules if isinstance(rules, list) else ()):
        yield (*path, n), Rule, rule


def _parse(path: Path) -> tuple[dict[str, Any], dict[_Path, int]]:
    """The file's value, and the line of every key and item in it."""
    loader_type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        node = yaml.compose(path.read_text(encoding="utf-8"), loader_type)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        problem = getattr(error, "problem", None) or str(error)
        raise ManifestError(f"{path}:{line}: YAML: {problem}") from None
    lines: dict[_Path, int] = {}
    value = {} if node is None else _build(node, (), lines, path)
    if not isinstance(value, dict):
        raise ManifestError(f"{path}:1: the file must map operator names to entries")
    return value, lines


def _build(node: yaml.Node, where: _Path, lines: dict[_Path, int], path: Path) -> Any:
    lines.setdefault(where, node.start_mark.line + 1)
    if isinstance(node, yaml.SequenceNode):
        return [_build(item, (*where, n), lines, path) for n, item in enumerate(node.value)]
    if not isinstance(node, yaml.MappingNode):
        return yaml.constructor.SafeConstructor().construct_object(node)
    out: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line, key = key_node.start_mark.line + 1, key_node.value
        at = f"{path}:{line}: {where[0] if where else key}: {'.'.join(map(str, (*where[1:], key)))}"
        if key_node.tag != "tag:yaml.org,2002:str":
            raise ManifestError(f"{at}: YAML reads the key {key!r} as {key_node.tag.rpartition(':')[2]}; put it in quotes")
        if key in out:
            first = lines[(*where, key)]
            raise ManifestError(f"{at}: is declared twice; first at line {first}")
        lines[(*where, key)] = line
        out[key] = _build(value_node, (*where, key), lines, path)
    return out
