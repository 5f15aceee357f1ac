"""The forms in which an operator's module says what it must do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Shape = tuple[int, ...] | None


@dataclass(frozen=True)
class Probe:
    """One call: params, the shape of every input (`None`: absent), dtypes where they are not `dtype`.

    With `channels_last` every input that may be so is, or those of the names that it gives.
    """

    inputs: dict[str, Shape]
    params: dict[str, Any] = field(default_factory=dict)
    dtype: str = "float16"
    dtypes: dict[str, str] = field(default_factory=dict)
    channels_last: bool | tuple[str, ...] = False


@dataclass(frozen=True)
class Good:
    """A call that works: output shapes, implementation with its static values, operations and bytes.

    The first probe is also computed, by every implementation that serves it, and others with `run`: for an
    implementation that does not serve the first one. That is enough, and every program costs a second.
    `names` are sizes and `let` values that it comes to; `written` the inputs that it writes, which must be
    contiguous; `hidden` how many of its last outputs are not returned; `alias` the input that it returns.
    """

    probe: Probe
    outputs: tuple[tuple[int, ...], ...]
    implementation: str | None = None
    static: dict[str, Any] = field(default_factory=dict)
    flops: int | None = None
    bytes: int | None = None
    out_dtype: str | tuple[str, ...] | None = None
    run: bool = False
    names: dict[str, Any] = field(default_factory=dict)
    written: frozenset[str] = frozenset()
    hidden: int = 0
    alias: str | None = None


@dataclass(frozen=True)
class Bad:
    """A call that is refused with a message that holds `says`."""

    says: str
    probe: Probe


@dataclass(frozen=True)
class Expected:
    """All probes of one operator; a value may be `roundings` roundings to its dtype from the oracle.

    `made` are the least and the largest value that the index tensors of the first case ever have. `values`
    is what those of the first good call must hold: the name of the check, then numbers and names of tensors.
    """

    good: list[Good]
    bad: list[Bad]
    dtypes: dict[str, set[str]]
    roundings: float = 1.0
    made: dict[str, tuple[int, int]] = field(default_factory=dict)
    values: dict[str, tuple[str | int, ...]] = field(default_factory=dict)


HALF = {"float16", "bfloat16"}
FLOATS = {*HALF, "float32"}
