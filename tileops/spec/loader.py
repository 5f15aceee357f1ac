"""Manifest files to `OpSpec`s. Every error names file, line, operator and field."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from tileops.errors import ManifestError
from tileops.spec.checks import check
from tileops.spec.document import FieldPath, read
from tileops.spec.dtypes import SlotDtype, expand_rows
from tileops.spec.errors import FieldError
from tileops.spec.model import (
    Backward,
    Entry,
    Implementation,
    Input,
    OpSpec,
    Output,
    Param,
    Roofline,
    Rule,
    Signature,
)

__all__ = ["all_specs", "families", "load", "load_family", "manifest_dir", "read_file"]


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
    if name not in families():
        raise ManifestError(f"there is no family {name!r}; there are {', '.join(families())}")
    return read_file(manifest_dir() / f"{name}.yaml")


@functools.cache
def all_specs() -> dict[str, OpSpec]:
    """Every operator, by class name."""
    return merged(map(load_family, families()))


def load(name: str) -> OpSpec:
    """One operator by its class name. Only the file that declares it is read as a manifest."""
    entry = re.compile(rf"^{re.escape(name)}\s*:", re.MULTILINE)
    for family in families():
        text = (manifest_dir() / f"{family}.yaml").read_text(encoding="utf-8")
        if entry.search(text) and name in (found := load_family(family)):
            return found[name]
    raise ManifestError(f"no file of {manifest_dir()} declares an operator {name!r}")


def merged(files: Iterable[dict[str, OpSpec]]) -> dict[str, OpSpec]:
    """The operators of several files, by class name. An operator that two files declare is an error."""
    out: dict[str, OpSpec] = {}
    torch_names: dict[str, OpSpec] = {}
    for spec in (spec for specs in files for spec in specs.values()):
        at = f"{spec.file}:{spec.line}: {spec.name}: entry"
        if spec.name in out:
            raise ManifestError(f"{at}: is also declared at {out[spec.name].file}:{out[spec.name].line}")
        twin = torch_names.setdefault(spec.torch_name, spec)
        if twin is not spec:
            raise ManifestError(f"{at}: its name for torch, {spec.torch_name}, is also that of {twin.name}")
        out[spec.name] = spec
    for spec in out.values():
        _check_backward(spec, out)
    return out


def _check_backward(spec: OpSpec, known: dict[str, OpSpec]) -> None:
    """The operator that computes the gradients finds all its inputs and params in the forward."""
    if spec.backward is None:
        return
    at, other = f"{spec.file}:{spec.line}: {spec.name}: backward", known.get(spec.backward.op)
    if other is None:
        raise ManifestError(f"{at}.op: there is no operator {spec.backward.op!r}")
    passed = {*spec.inputs, *spec.outputs, *spec.backward.gradients, *spec.params}
    if missing := [name for name in (*other.inputs, *other.params) if name not in passed]:
        raise ManifestError(f"{at}: {other.name} takes {missing[0]}, which is not of {spec.name}")
    if strange := [name for name in spec.backward.gradients if name not in other.inputs]:
        raise ManifestError(f"{at}.gradients: {other.name} has no input {strange[0]!r}")
    if set(spec.backward.gives) != set(other.outputs):
        raise ManifestError(f"{at}.gives: the outputs of {other.name} are {', '.join(other.outputs)}")


def read_file(path: Path) -> dict[str, OpSpec]:
    """Read and check one manifest file, whose name is that of its family.

    Raises:
        ManifestError: The file is not YAML, or an entry is not what `tileops.spec.model` and the language
            allow.
    """
    raw, lines = read(path)
    by_entry: dict[str | int, dict[FieldPath, int]] = {}
    for key, line in lines.items():
        if key:
            by_entry.setdefault(key[0], {})[key[1:]] = line
    return {name: _entry(path, name, value, by_entry[name]) for name, value in raw.items()}


def _entry(path: Path, name: str, raw: Any, lines: dict[FieldPath, int]) -> OpSpec:
    try:
        spec = _spec(path, name, _convert(raw), lines)
        if spec.family != path.stem:
            raise FieldError(("family",), f"is {spec.family!r}, but the file is {path.name}")
        check(spec)
    except FieldError as error:
        where: FieldPath = error.path
        while where not in lines:
            where = where[:-1]
        field = ".".join(map(str, error.path)) or "entry"
        raise ManifestError(f"{path}:{lines[where]}: {name}: {field}: {error}") from None
    return spec


def _spec(path: Path, name: str, entry: Entry, lines: dict[FieldPath, int]) -> OpSpec:
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
        params={**signature.params, **signature.call},
        call=tuple(signature.call),
        outputs=signature.outputs,
        let=signature.let,
        rows=expand_rows(slots, signature.dtype_combos),
        rules=signature.shape_rules,
        roofline=entry.roofline,
        backward=entry.backward,
        implementations=entry.implementations,
        cases=entry.cases,
        workloads=entry.workloads,
        file=str(path),
        line=lines[()],
        lines=lines,
    )


# ------------------------------------------------------------------- which field is of the wrong type
def _convert(raw: Any) -> Entry:
    try:
        return msgspec.convert(raw, Entry)
    except msgspec.ValidationError as error:
        for path, kind, value in _pieces(raw):
            _convert_piece(path, kind, value)
        raise FieldError((), str(error)) from None


def _convert_piece(path: FieldPath, kind: Any, value: Any) -> None:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        message, _, inner = str(error).partition(" - at `$")
        names = re.findall(r"[A-Za-z_]\w*", inner)  # of `.targets[...]`
        raise FieldError((*path, *_unknown_key(message), *names), message) from None


def _unknown_key(message: str) -> list[str]:
    """The key in msgspec's `Object contains unknown field `key``: its line is the one to show."""
    _, _, key = message.partition("contains unknown field ")
    return [key.strip("`")] if key else []


def _pieces(raw: Any) -> Iterator[tuple[FieldPath, Any, Any]]:
    """The parts of an entry with their types, smallest first, so that an error can name its key."""
    entry = _members(raw)
    signature = _members(entry.get("signature"))
    for kind, model in (
        ("inputs", Input),
        ("params", Param),
        ("call", Param),
        ("outputs", Output),
        ("let", str),
    ):
        for name, value in _members(signature.get(kind)).items():
            yield ("signature", kind, name), model, value
    for n, rule in _items(signature.get("shape_rules")):
        yield ("signature", "shape_rules", n), Rule, rule
    for n, row in _items(signature.get("dtype_combos")):
        yield ("signature", "dtype_combos", n), dict[str, str], row
    if "signature" in entry:
        yield ("signature",), Signature, entry["signature"]
    if "roofline" in entry:
        yield ("roofline",), Roofline, entry["roofline"]
    if "backward" in entry:
        yield ("backward",), Backward, entry["backward"]
    for name, value in _members(entry.get("implementations")).items():
        for n, rule in _items(_members(value).get("domain")):
            yield ("implementations", name, "domain", n), Rule, rule
        for static, text in _members(_members(value).get("static")).items():
            yield ("implementations", name, "static", static), str, text
        yield ("implementations", name), Implementation, value
    for kind in ("cases", "workloads"):
        for n, case in _items(entry.get(kind)):
            yield (kind, n), dict[str, Any], case
    yield (), Entry, raw


def _members(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _items(value: Any) -> Iterator[tuple[int, Any]]:
    return enumerate(value) if isinstance(value, list) else enumerate(())
