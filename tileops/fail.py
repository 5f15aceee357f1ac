"""What a refused call says. Generated code calls these with what it found; each builds one `CallError`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tileops.errors import CallError
from tileops.spec.functions import ArgumentError
from tileops.spec.model import OpSpec

__all__ = ["failures", "not_implemented", "refuse_large"]


def failures(spec: OpSpec) -> dict[str, Any]:
    """The `fail_*` functions for one operator."""
    return {f"fail_{name}": _bind(function, spec) for name, function in _FAILURES.items()}


def _bind(function: Any, spec: OpSpec) -> Any:
    return lambda *found: function(spec, *found)


def _type(spec: OpSpec, slot: str, got: Any) -> CallError:
    none = " or None" if spec.inputs[slot].optional else ""
    return CallError(f"{spec.name}: {slot} must be a torch.Tensor{none}, got {type(got).__name__}")


def _rank(spec: OpSpec, slot: str, shape: Sequence[int], want: int, at_least: bool) -> CallError:
    more = "at least " * at_least
    pattern = spec.inputs[slot].shape
    need = f"{more}{want} dimensions [{pattern}]"
    return CallError(f"{spec.name}: {slot} must have {need}, got {len(shape)} in shape {tuple(shape)}")


def _dtype(spec: OpSpec, slot: str, got: Any, want: str) -> CallError:
    return CallError(f"{spec.name}: {slot} must have dtype {want}, got {_short(got)}")


def _same_dtype(spec: OpSpec, slot: str, got: Any, other: str, want: Any) -> CallError:
    return CallError(f"{spec.name}: {slot} must have the dtype of {other}, {_short(want)}, got {_short(got)}")


def _row(spec: OpSpec, slots: Sequence[str], got: Sequence[Any]) -> CallError:
    found = ", ".join(f"{slot} {_short(dtype)}" for slot, dtype in zip(slots, got, strict=True))
    rows = "; ".join(", ".join(f"{slot} {row[slot]}" for slot in slots) for row in spec.rows)
    free = [name for name, param in spec.params.items() if "dtype" in param.type]
    choice = f"; {' or '.join(free)} chooses" if free else ""
    return CallError(f"{spec.name}: the dtypes {found} do not go together; supported rows: {rows}{choice}")


def _size(spec: OpSpec, slot: str, item: str, want: Any, shape: Sequence[int]) -> CallError:
    value = tuple(want) if isinstance(want, (tuple, list)) else want
    meaning = f"{item} = {value}" if item.lstrip("*") != str(value) else f"{value}"
    pattern = spec.inputs[slot].shape
    return CallError(f"{spec.name}: {slot} must have shape [{pattern}] with {meaning}, got {tuple(shape)}")


def _unsolvable(spec: OpSpec, slot: str, item: str, got: int, shape: Sequence[int]) -> CallError:
    need = f"shape [{spec.inputs[slot].shape}]; no {item} is {got}"
    return CallError(f"{spec.name}: {slot} must have {need}, got {tuple(shape)}")


def _device(spec: OpSpec, slot: str, got: Any, other: str, want: Any) -> CallError:
    return CallError(f"{spec.name}: {slot} must be on the device of {other}, {want}, got {got}")


def _overlap(spec: OpSpec, slot: str, tensor: Any) -> CallError:
    return CallError(
        f"{spec.name}: {slot} is written in place, and its elements overlap in memory (shape "
        f"{tuple(tensor.shape)}, strides {tuple(tensor.stride())}); give each its own by {slot}.clone()"
    )


def _inference(spec: OpSpec, slot: str) -> CallError:
    return CallError(
        f"{spec.name}: {slot} was made under torch.inference_mode(), and outside of it nothing may write it "
        f"in place; pass {slot}.clone()"
    )


def _rule(spec: OpSpec, number: int, got: Mapping[str, Any]) -> CallError:
    values = _found(
        {name: value for name, value in got.items() if name not in spec.inputs or value is not None}
    )
    return CallError(f"{spec.name}: {spec.rules[number].message}" + (f" (got {values})" if values else ""))


def _found(got: Mapping[str, Any]) -> str:
    """What came: numbers by name, shapes as tuples."""
    return ", ".join(
        f"{name}={tuple(value) if isinstance(value, tuple) else value!r}" for name, value in got.items()
    )


def _evaluation(spec: OpSpec, error: Exception) -> Exception:
    """What an expression of the manifest raised for values that its author did not think of.

    The generated line that failed ends in a comment with the expression, and its variables are in the frame.
    An error from another line, such as a `CallError`, is passed on.
    """
    frame, line = None, ""
    trace = error.__traceback__
    while trace is not None and not line:
        frame = trace.tb_frame
        source = frame.f_globals.get("SOURCE")  # of generated functions only
        line = source[trace.tb_lineno - 1] if source else ""
        trace = trace.tb_next
    _, tagged, text = line.partition("  # ")
    if isinstance(error, CallError) or not tagged or frame is None:
        return error
    kind, _, expression = text.partition(": ")
    known = {name: f"n_{name}" for name in re.findall(r"[A-Za-z_]\w*", expression)}
    if isinstance(error, ArgumentError):
        same = (n for n in known if n in spec.params and frame.f_locals.get(f"n_{n}") is error.got)
        if (argument := next(same, None)) is not None:
            return CallError(f"{spec.name}: {argument} {error}, got {error.got!r}")
    got = _found({name: frame.f_locals[n] for name, n in known.items() if n in frame.f_locals})
    rules = {" ".join(rule.rule.split()): rule.message for rule in spec.rules}
    what = f"{rules.get(expression, '')} [{expression}]" if kind == "rule" else f"[{text}]"
    return CallError(f"{spec.name}: {what}: {error}" + (f" (got {got})" if got else ""))


def refuse_large(spec: OpSpec, sizes: Mapping[str, Any]) -> None:
    """Raise if one of the sizes needs more than 31 bits."""
    for name, size in sizes.items():
        if isinstance(size, int) and size > 0x7FFFFFFF:
            raise CallError(f"{spec.name}: {name} must be less than 2**31, got {size}")


def not_implemented(spec: OpSpec) -> NotImplementedError:
    """What a call of an operator without implementations raises."""
    return NotImplementedError(
        f"{spec.name} is specified and not yet implemented: tensors on the meta device get output shapes and "
        f"dtypes, and every argument is checked, but nothing is computed"
    )


def _short(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


_FAILURES = {
    "type": _type,
    "rank": _rank,
    "dtype": _dtype,
    "same_dtype": _same_dtype,
    "row": _row,
    "size": _size,
    "unsolvable": _unsolvable,
    "device": _device,
    "overlap": _overlap,
    "inference": _inference,
    "rule": _rule,
    "evaluation": _evaluation,
    "not_implemented": not_implemented,
}
