"""`python -m tileops.spec.schema` writes the JSON schema with which editors complete and check manifests.

A manifest file names it in its first line, `# yaml-language-server: $schema=schema.json`. The schema says
what keys there are and what their values look like; the loader also checks what they mean.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from tileops.spec.dtypes import PROMOTIONS
from tileops.spec.loader import manifest_dir
from tileops.spec.model import DTYPES, Entry
from tileops.spec.params import PARAM_TYPES

__all__ = ["main", "schema", "schema_file"]

_NAME = "[A-Za-z_][A-Za-z0-9_]*"
_OPERATOR = "^[A-Z][A-Za-z0-9]*Op$"


def schema() -> dict[str, Any]:
    """The JSON schema of a manifest file."""
    out = msgspec.json.schema(dict[str, Entry])
    models = out["$defs"]
    dtype = f"(?:{'|'.join(DTYPES)})"
    same = rf"(?:same_as|{'|'.join(PROMOTIONS)})\({_NAME}\)"
    union = rf"{dtype}(?: *\| *{dtype})*"
    _tighten(models, "Input", "dtype", pattern=f"^(?:{union}|{same})$")
    _tighten(models, "Output", "dtype", pattern=rf"^(?:{dtype}|{same}|{_NAME}(?: or same_as\({_NAME}\))?)$")
    kind = f"(?:{'|'.join(_escaped(name) for name in [*PARAM_TYPES, 'None'])})"
    _tighten(models, "Param", "type", pattern=rf"^{kind}(?: *\| *{kind})*$")
    _tighten(models, "Implementation", "program", pattern=f"^{_NAME}$")
    _tighten(models, "Entry", "family", pattern="^[a-z][a-z0-9_]*$")
    combos = models["Signature"]["properties"]["dtype_combos"]["anyOf"][0]
    combos["items"]["additionalProperties"] = {"enum": list(DTYPES)}
    for model in ("Entry", "Signature", "Implementation"):
        for field in models[model]["properties"].values():
            _named(field)
    for kind in ("cases", "workloads"):
        case = models["Entry"]["properties"][kind]["items"]
        names = {"type": "array", "items": {"type": "string"}}
        case["properties"] = {"absent": names, "channels_last": names}
        if kind == "workloads":
            case["properties"]["label"] = {"type": "string"}
            case["properties"]["dtypes"] = {"type": "array", "items": {"enum": list(DTYPES)}}
    models["Entry"]["properties"]["cases"]["minItems"] = 1
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "TileOps manifest",
        "description": "The operators of one family, by class name.",
        "type": "object",
        "patternProperties": {_OPERATOR: out["additionalProperties"]},
        "additionalProperties": False,
        "$defs": models,
    }


def _tighten(models: dict[str, Any], model: str, field: str, **more: Any) -> None:
    models[model]["properties"][field].update(more)


def _named(field: dict[str, Any]) -> None:
    """Keys of a mapping of declared things are names."""
    if field.get("type") == "object" and "additionalProperties" in field:
        field["propertyNames"] = {"pattern": f"^{_NAME}$"}


def _escaped(name: str) -> str:
    return "".join(f"\\{char}" if char in "[]." else char for char in name)


def schema_file() -> Path:
    """Where the schema is kept: beside the files that it describes."""
    return manifest_dir() / "schema.json"


def main(arguments: list[str]) -> int | str:
    """Write the schema; with `--check`, say whether the file has it."""
    parser = argparse.ArgumentParser(
        prog="python -m tileops.spec.schema",
        description=f"Write the JSON schema of manifest files to {schema_file()}.",
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail when the file is stale")
    check = parser.parse_args(arguments).check
    text = json.dumps(schema(), indent=2) + "\n"
    if not check:
        schema_file().write_text(text, encoding="utf-8")
        return 0
    if schema_file().is_file() and schema_file().read_text(encoding="utf-8") == text:
        return 0
    return f"{schema_file()} is stale; run python -m tileops.spec.schema"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
