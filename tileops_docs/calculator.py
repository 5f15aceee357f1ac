"""What the calculator on an operator's page needs, and the same calculation in Python.

`entry` is the manifest's entry as data for the script in the page; `calculate` is what the script must give:
a test holds the two equal for every case.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tileops.spec import BoundCase, OpSpec, bind_case
from tileops.spec.cases import size_names
from tileops.spec.dtypes import PROMOTIONS, slot_dtypes
from tileops.spec.errors import CaseError, RuleBroken
from tileops.spec.expressions import Expression
from tileops.spec.params import ParamType
from tileops.spec.patterns import Pattern
from tileops_docs.performance import RECORDS, number
from tileops_docs.sources import ROOT
from tileops_docs.translate import expression, pattern

__all__ = [
    "ITEMSIZE",
    "calculate",
    "ceilings",
    "cost",
    "entry",
    "floor",
    "form_value",
    "lacking",
    "script_functions",
    "workload_cost",
]

SCRIPT = ROOT / "docs" / "assets" / "javascripts" / "calculator.js"
ITEMSIZE = {
    **dict.fromkeys(("float8_e4m3fn", "float8_e5m2", "int8", "uint8", "bool"), 1),
    **dict.fromkeys(("float16", "bfloat16", "int16"), 2),
    **dict.fromkeys(("float32", "int32"), 4),
    **dict.fromkeys(("float64", "int64", "complex64"), 8),
    "complex128": 16,
}
"""Bytes of an element."""


@cache
def script_functions() -> frozenset[str]:
    """The functions of the language that the script has."""
    text = SCRIPT.read_text(encoding="utf-8")
    block = text[text.index("const functions = {") : text.index("/* ---", text.index("const functions = {"))]
    return frozenset(re.findall(r"^    (\w+): ", block, re.MULTILINE)) | {
        "axes",
        "ntuple",
        "max",
        "min",
        "len",
    }


def lacking(spec: OpSpec) -> set[str]:
    """Functions that an entry calls and the script does not have."""
    texts = [rule.rule for rule in spec.rules] + [
        *spec.let.values(),
        spec.roofline.flops,
        spec.roofline.bytes or "0",
    ]
    texts += [rule.rule for found in spec.implementations.values() for rule in found.domain]
    parsed = [Expression(text) for text in texts]
    shapes = [m.shape for m in spec.inputs.values()] + [o.shape for o in spec.outputs.values()]
    parsed += [found for shape in shapes for found in Pattern.parse(shape).expressions]
    called = {name for found in parsed for name in re.findall(r"\bf_(\w+)\(", found.python)}
    return called - script_functions() - {"dtype"}


@cache
def ceilings(folder: Path = RECORDS) -> dict[str, float]:
    """The best that recorded runs measured: `tbs` of the memory, `bf16` and `fp8` TFLOP/s. Empty without."""
    best: dict[str, float] = {}
    for path in sorted(folder.glob("*.json")):
        for run in json.loads(path.read_text(encoding="utf-8")).get("runs", []):
            found = run.get("ceilings", {}) if isinstance(run, dict) else {}
            for name, keys in (
                ("tbs", ("copy_tbs", "read_tbs")),
                ("bf16", ("bf16_tflops",)),
                ("fp8", ("fp8_tflops",)),
            ):
                values = [found[key] for key in keys if found.get(key)]
                best[name] = max([best.get(name, 0.0), *values])
    return {name: value for name, value in best.items() if value}


def entry(spec: OpSpec) -> dict[str, Any]:
    """The entry as data: see `calculator-call.js` for who reads what."""
    sizes, splats = size_names(spec)
    slots = {
        name: {
            "choices": list(slot.choices),
            "same": slot.same_as,
            "param": slot.param,
            **({"becomes": PROMOTIONS[slot.promotion]} if slot.promotion else {}),
        }
        for name, slot in slot_dtypes(spec).items()
    }
    return {
        "name": spec.name,
        "inputs": {
            name: {"shape": pattern(m.shape), "optional": m.optional, "mutated": m.mutated}
            for name, m in spec.inputs.items()
        },
        "outputs": {name: {"shape": pattern(o.shape), "is": o.alias} for name, o in spec.outputs.items()},
        "slots": slots,
        "params": {name: _param(spec, name) for name in spec.params},
        "sizes": {name: name in splats for name in _in_order(spec, sizes)},
        "users": {name: _users(spec, name) for name in sizes},
        "rows": spec.rows or [{}],
        "let": {name: expression(text) for name, text in spec.let.items()},
        "rules": [{"rule": expression(rule.rule), "message": rule.message} for rule in spec.rules],
        "flops": expression(spec.roofline.flops),
        "bytes": expression(spec.roofline.bytes) if spec.roofline.bytes is not None else None,
        "implementations": [
            {"name": name, "domain": [{"rule": expression(rule.rule)} for rule in found.domain]}
            for name, found in sorted(spec.implementations.items(), key=lambda pair: -pair[1].rank)
            if "hopper" in found.targets
        ],
        "itemsize": {dtype: ITEMSIZE[dtype] for dtype in sorted(_dtypes(spec))},
        "ceilings": ceilings(),
        "presets": _presets(spec),
    }


def _dtypes(spec: OpSpec) -> set[str]:
    slots = slot_dtypes(spec).values()
    found = {choice for slot in slots for choice in slot.choices} | {
        d for row in spec.rows for d in row.values()
    }
    return found | {new for slot in slots if slot.promotion for new in PROMOTIONS[slot.promotion].values()}


def _param(spec: OpSpec, name: str) -> dict[str, Any]:
    param = spec.params[name]
    out: dict[str, Any] = {"types": ParamType.parse(param.type).members}
    if param.choices is not None:
        out["choices"] = list(param.choices)
    if not param.required:
        out["default"] = form_value(param.default)
    if any(slot.param == name for slot in slot_dtypes(spec).values()):
        out["row"] = True  # the dtype row says it
    return out


def form_value(value: Any) -> str:
    """A value as the form has it: "2, 3", "None", "true", "1e-06"."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return f"({', '.join(map(str, value))})"
    return str(value)


def _in_order(spec: OpSpec, sizes: set[str]) -> list[str]:
    """The sizes as a reader of the shapes meets them."""
    met: dict[str, None] = {}
    for member in spec.inputs.values():
        for found in Pattern.parse(member.shape).expressions:
            met |= dict.fromkeys(name for name in re.findall(r"[A-Za-z_]\w*", found.text) if name in sizes)
    return list(met)


def _users(spec: OpSpec, size: str) -> list[str]:
    return [
        slot
        for slot, member in spec.inputs.items()
        if any(size in found.names for found in Pattern.parse(member.shape).expressions)
    ]


def _presets(spec: OpSpec) -> list[dict[str, Any]]:
    """Workloads, then cases: what the form starts from."""
    out = []
    for case in [*spec.workloads, *spec.cases]:
        names = {name: form_value(v) for name, v in case.items() if name not in ("label", "dtypes", "absent")}
        label = case.get("label") or ", ".join(f"{name} {text}" for name, text in names.items())
        wanted = case.get("dtypes", [])
        rows = [n for n, row in enumerate(spec.rows) if not wanted or next(iter(row.values())) in wanted]
        out.append(
            {"label": label, "row": rows[0] if rows else 0, "names": names, "absent": case.get("absent", [])}
        )
    return out


# ---------------------------------------------------------------------------------------- the same in Python
def calculate(spec: OpSpec, case: Mapping[str, Any], row: Mapping[str, str]) -> dict[str, Any]:
    """What the page must show for a case in a dtype row: shapes, dtypes and cost, or the rule that fails."""
    try:
        bound = bind_case(spec, case, row=row)
    except RuleBroken as error:
        for n, rule in enumerate(spec.rules):
            if str(error) == f"breaks the rule {rule.rule!r}: {rule.message}":
                return {"rule": n, "message": rule.message}
        return {"error": str(error)}
    except CaseError as error:
        return {"error": str(error)}
    flops, moved = cost(spec, bound)
    us, bound_by = floor(bound.dtypes, flops, moved)
    known = bound.variables
    serving = (
        name
        for name, found in sorted(spec.implementations.items(), key=lambda pair: -pair[1].rank)
        if "hopper" in found.targets and all(Expression(rule.rule).evaluate(known) for rule in found.domain)
    )
    return {
        "shapes": {**bound.shapes, **bound.outputs},
        "dtypes": bound.dtypes,
        "flops": flops,
        "bytes": moved,
        "us": us,
        "bound": bound_by,
        "implementation": next(serving, None),
    }


def workload_cost(spec: OpSpec, workload: Mapping[str, Any]) -> tuple[str, str, str]:
    """Operations, bytes and microseconds at the speed of light, as text; empty where a case has none."""
    try:
        bound = bind_case(spec, workload)
    except CaseError:
        return "", "", ""
    flops, moved = cost(spec, bound)
    us, _ = floor(bound.dtypes, flops, moved)
    return f"{number(flops / 1e9)} G", f"{number(moved / 1e6)} MB", number(us)


def cost(spec: OpSpec, bound: BoundCase) -> tuple[int, int]:
    """Operations and bytes, as `tileops.roofline` counts them, without torch."""
    flops = int(Expression(spec.roofline.flops).evaluate(bound.variables))
    if spec.roofline.bytes is not None:
        return flops, int(Expression(spec.roofline.bytes).evaluate(bound.variables))
    moved = 0
    for slot, shape in {**bound.shapes, **bound.outputs}.items():
        alias = spec.outputs[slot].alias if slot in spec.outputs else None
        mutated = spec.inputs[alias].mutated if alias and bound.shapes[alias] is not None else False
        if shape is None or mutated is True:  # what is only filled was counted as the input
            continue
        elements = 1
        for size in shape:
            elements *= size
        moved += elements * ITEMSIZE[str(bound.dtypes[slot])]
    return flops, moved


def floor(dtypes: Mapping[str, str | None], flops: int, moved: int) -> tuple[float | None, str]:
    """Microseconds at the speed of light of an H200, and what they are bound by; `None` without a record."""
    best = ceilings()
    if not best:
        return None, ""
    low = any(str(dtype).startswith("float8") for dtype in dtypes.values())
    rate = (best.get("fp8") if low else None) or best["bf16"]
    memory, compute = moved / best["tbs"] / 1e6, flops / rate / 1e6
    return max(memory, compute), "memory" if memory >= compute else "compute"
