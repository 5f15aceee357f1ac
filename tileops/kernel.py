"""A kernel: the TileLang programs for one key, and how they are launched."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Kernel", "Key"]


@dataclass(frozen=True)
class Key:
    """All that a factory in `tileops.kernels` may know about the calls that its kernel will serve.

    Attributes:
        op: Operator class name.
        implementation: Name of the implementation in the manifest.
        target: `"hopper"` or `"cpu"`.
        dtypes: (slot, dtype name) of every tensor slot that is present.
        static: (name, value) of the implementation's `static` expressions; each reads as an attribute.
    """

    op: str
    implementation: str
    target: str
    dtypes: tuple[tuple[str, str], ...]
    static: tuple[tuple[str, Any], ...]
    _lookup: dict[str, Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_lookup", dict(self.static))

    def dtype(self, slot: str) -> str:
        """The dtype's name, as TileLang and torch spell it."""
        return dict(self.dtypes)[slot]

    def given(self, slot: str) -> bool:
        """Whether an optional input is present."""
        return slot in dict(self.dtypes)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)  # what pickle asks for before there is anything
        lookup: Mapping[str, Any] = self.__dict__.get("_lookup", {})
        if name in lookup:
            return lookup[name]
        raise AttributeError(f"{self.op}: implementation {self.implementation!r} declares no static {name!r}")

    def __str__(self) -> str:
        parts = [f"{slot}={dtype}" for slot, dtype in self.dtypes] + [f"{n}={v}" for n, v in self.static]
        return f"{self.op}[{self.implementation}, {self.target}]({', '.join(parts)})"


class Kernel:
    """What a factory returns: traced programs and the function that launches them.

    Args:
        *programs: TileLang `prim_func`s, compiled for the key's target.
        launch: `launch(run, *inputs, *outputs, *scalars)`; `run` is the compiled program, or a tuple of
            them when there are several. Inputs are contiguous and 16-byte aligned, `None` when absent.
        claims: Strings that the generated sm_90a source must contain (`"wgmma"`, `"tma_load"`, ...).
        pass_configs: TileLang pass configuration for the hopper target.
    """

    __slots__ = ("claims", "launch", "pass_configs", "programs")

    def __init__(
        self,
        *programs: Any,
        launch: Callable[..., None],
        claims: Sequence[str] = (),
        pass_configs: Mapping[str, Any] | None = None,
    ) -> None:
        self.programs = programs
        self.launch = launch
        self.claims = tuple(claims)
        self.pass_configs = dict(pass_configs or {})
