"""The manifest's entry as types. YAML is converted to these and nothing else is accepted."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

__all__ = [
    "DTYPES",
    "Backward",
    "Implementation",
    "Input",
    "OpSpec",
    "Output",
    "Param",
    "Roofline",
    "Rule",
    "Signature",
]

DTYPES = (
    *("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"),
    *("int8", "int16", "int32", "int64", "uint8", "bool", "complex64", "complex128"),
)
"""Names of the dtypes that a manifest may use: PyTorch's names."""


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A mapping of the manifest: unknown keys are refused."""


class Input(_Strict, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A tensor that a call takes.

    `dtype` is a union (`float16 | bfloat16`) or `same_as(slot)`; `shape` is a pattern. `optional` tensors may
    be `None`. `mutated` says that the call writes it: `true`, or the name of the bool param that makes it so.
    `make` names the generator of values for index tensors, used by tests and benchmarks. `values` says what
    they may hold: `range(least, most)`, `columns(most, most)` for pairs of numbers from 0 on,
    `offsets(total)`, `pages(lengths, page_size, pages)`, and where each length grows by a run of `offsets`
    `room(offsets, capacity)` and `grown_pages(lengths, offsets, page_size, pages)`. `channels_last` says that
    a tensor whose axis 1 is innermost in memory is taken as it is, by the implementations for that.
    """

    dtype: str
    shape: str
    optional: bool = False
    mutated: bool | str = False
    make: str | None = None
    values: str | None = None
    channels_last: bool = False


class Output(_Strict, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A tensor that a call returns.

    `saved` ones only the backward uses. `is` names an input that is written and returned when it is given.
    `layout_of` names an input that may be channels-last: the output then is, too.
    """

    dtype: str
    shape: str
    saved: bool = False
    alias: str | None = msgspec.field(default=None, name="is")
    layout_of: str | None = None


class Param(_Strict, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A keyword-only argument of the constructor, or of each call."""

    type: str
    default: Any = msgspec.UNSET
    choices: tuple[str, ...] | None = None

    @property
    def required(self) -> bool:
        """Whether the constructor has no default for it."""
        return self.default is msgspec.UNSET


class Rule(_Strict, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An expression that must hold, and what to say when it does not."""

    rule: str
    message: str


class Signature(_Strict, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What goes in, what comes out, and what must hold between them.

    `params` are the constructor's. `call` are numbers that change from call to call, such as a seed: they are
    keyword arguments of `forward`, and no kernel depends on them.
    """

    inputs: dict[str, Input]
    params: dict[str, Param] = {}
    call: dict[str, Param] = {}
    outputs: dict[str, Output]
    let: dict[str, str] = {}
    dtype_combos: list[dict[str, str]] | None = None
    shape_rules: list[Rule] = []


class Roofline(_Strict, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The least work of a call. `bytes` defaults to every input read once plus every output written once."""

    flops: str
    bytes: str | None = None


class Implementation(_Strict, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A program of the family's kernel module and the calls that it serves.

    Among the implementations whose `domain` rules all hold, the one of the highest `rank` serves a call.
    `static` names what its factory sees; `scalars` are passed to every launch. `channels_last` are the inputs
    that must be so for it, in outputs' layout too; others that may be are contiguous for it.
    """

    program: str
    rank: int = 0
    targets: tuple[Literal["hopper", "cpu"], ...] = ("hopper", "cpu")
    static: dict[str, str] = {}
    scalars: tuple[str, ...] = ()
    channels_last: tuple[str, ...] = ()
    domain: list[Rule] = []


class Backward(_Strict, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which operator computes the gradients, and how its tensors are called here.

    `gradients` names for its inputs the outputs whose gradient they are, `gives` for its outputs the inputs.
    Its other inputs and its params are tensors and params of the forward, by name.
    """

    op: str
    gradients: dict[str, str]
    gives: dict[str, str]


class Entry(_Strict, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One operator as the YAML file has it."""

    family: str
    status: Literal["implemented", "spec-only"]
    ref_api: str | None = None
    signature: Signature
    roofline: Roofline
    backward: Backward | None = None
    implementations: dict[str, Implementation] = {}
    cases: list[dict[str, Any]]
    workloads: list[dict[str, Any]] = []


class OpSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One operator of the manifest, checked, with the place it was read from.

    Attributes:
        name: Class name.
        params: Keyword arguments: first those of the constructor, then those of each call.
        call: Names of the latter.
        rows: Supported dtypes: for each row, the dtype of every slot that has its own.
        lines: Line of each field in `file`, by path (`("signature", "inputs", "x")`).
    """

    name: str
    family: str
    status: str
    ref_api: str | None
    inputs: dict[str, Input]
    params: dict[str, Param]
    call: tuple[str, ...] = ()
    outputs: dict[str, Output]
    let: dict[str, str]
    rows: list[dict[str, str]]
    rules: list[Rule]
    roofline: Roofline
    backward: Backward | None = None
    implementations: dict[str, Implementation]
    cases: list[dict[str, Any]]
    workloads: list[dict[str, Any]]
    file: str
    line: int
    lines: dict[tuple[str | int, ...], int]

    @property
    def implemented(self) -> bool:
        """Whether calls compute, rather than only check."""
        return self.status == "implemented"

    @property
    def torch_name(self) -> str:
        """Name of the operator under `torch.ops.tileops`."""
        return torch_name(self.name)

    @property
    def constructor(self) -> dict[str, Param]:
        """The params that an instance has."""
        return {name: param for name, param in self.params.items() if name not in self.call}

    @property
    def returned(self) -> list[str]:
        """Outputs that `forward` returns, in order."""
        return [name for name, output in self.outputs.items() if not output.saved]


def torch_name(class_name: str) -> str:
    """`RMSNormFwdOp` -> `rms_norm`, `RMSNormBwdOp` -> `rms_norm_bwd`."""
    import re

    stem = class_name.removesuffix("Op").removesuffix("Fwd")
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", stem))
    return words.lower()
