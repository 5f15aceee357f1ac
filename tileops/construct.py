"""What a constructor checks, and what it makes of its arguments."""

from __future__ import annotations

from typing import Any

from tileops import targets
from tileops.compiled import compile_spec
from tileops.errors import CallError, UnsupportedDeviceError
from tileops.params import normalize_one
from tileops.runner import Runner, require_implementation, runner_for
from tileops.spec import load

__all__ = ["construct"]


def construct(
    name: str, target: str | None, implementation: str | None, params: tuple[tuple[str, Any], ...]
) -> tuple[tuple[Any, ...], Runner]:
    """The values of an operator's params, in order, and what runs its calls.

    Raises:
        CallError: One of the arguments is not allowed.
        UnsupportedDeviceError: This machine has no GPU for `target`.
        TargetError: It has no compiler for `target`.
    """
    spec, given = load(name), dict(params)
    values = tuple(normalize_one(spec, param, given[param]) for param in spec.constructor)
    if target is not None:
        _require_target(name, target)
    require_implementation(spec, implementation)
    compile_spec(name).params(*values)
    return values, runner_for(name, target, implementation)


# A compiled function may construct operators: this then runs outside of the graph, and what it returns is a
# constant. `torch.compiler.assume_constant_result` says so, too, and imports the compiler.
construct._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _require_target(name: str, target: str) -> None:
    if target not in targets.names:
        raise CallError(
            f"{name}: target must be one of {', '.join(map(repr, targets.names))}, got {target!r}"
        )
    reason = targets.get(target).unavailable()
    if reason is not None:
        kind = targets.TargetError if target == "cpu" else UnsupportedDeviceError  # a compiler, or a GPU
        raise kind(f"{name}: target={target!r} cannot run here: {reason}")
