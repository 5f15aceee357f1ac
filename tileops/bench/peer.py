"""What operators are compared with. A peer is a file of `tileops.bench.peers` that fills one `Peer`.

    peer = Peer("liger-kernel", module="liger_kernel", compiles=True)

    @peer.serves("SoftmaxFwdOp")
    def softmax(call: Call) -> Function:
        from liger_kernel.ops.softmax import _softmax_forward
        if call.params["dim"] != -1:
            raise Unserved("only the last axis")
        return lambda x: _softmax_forward(x)[0]

The function gets the params and the tensors of a call, and returns what takes all tensors of the operator, in
the order of its `forward` (`None` when absent), and returns the operator's outputs in their order. It is
called once for each case, and what it does there is not timed. Importing a file must not import the library.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

__all__ = ["Call", "Function", "Peer", "Served", "Unserved", "peers"]

Function = Callable[..., Any]


class Unserved(Exception):
    """Raised by a peer for a call that its library does not offer; the text says why."""


@dataclass(frozen=True)
class Call:
    """The call that a peer shall serve.

    Attributes:
        params: The operator's params.
        inputs: Its tensors by name, `None` when absent.
        device: Where it runs.
    """

    params: Mapping[str, Any]
    inputs: Mapping[str, Tensor | None]
    device: str = "cpu"

    def __getitem__(self, name: str) -> Tensor:
        tensor = self.inputs[name]
        if tensor is None:
            raise Unserved(f"it needs {name}")
        return tensor


@dataclass(frozen=True)
class Served:
    """How a peer serves one operator.

    Attributes:
        make: From a call to what serves it.
        writes: Inputs that it writes; it gets copies of them.
        slow: Whether each first call compiles for so long that it comes before others.
    """

    make: Callable[[Call], Function]
    writes: tuple[str, ...] = ()
    slow: bool = False


@dataclass
class Peer:
    """One other implementation of operators.

    Attributes:
        name: What tables call it.
        module: What must be importable for it; `None` for torch.
        distribution: Whose version is recorded; by default the name.
        compiles: Whether first calls take long, so that they are made ahead, in parallel.
        devices: Where it runs.
        is_torch: Whether it is PyTorch called as users do: its error stands beside ours.
    """

    name: str
    module: str | None = None
    distribution: str | None = None
    compiles: bool = False
    devices: tuple[str, ...] = ("cuda",)
    is_torch: bool = False
    ops: dict[str, Served] = field(default_factory=dict)

    def serves(
        self, op: str, *, writes: tuple[str, ...] = (), slow: bool = False
    ) -> Callable[[Callable[[Call], Function]], Callable[[Call], Function]]:
        """Decorator: the function makes what serves calls of the operator `op`."""

        def add(make: Callable[[Call], Function]) -> Callable[[Call], Function]:
            self.ops[op] = Served(make, writes, slow)
            return make

        return add

    def missing(self, device: str) -> str | None:
        """Why it cannot be measured here, or `None`."""
        if device not in self.devices:
            return f"does not run on {device}"
        if self.module is None:
            return None
        try:
            importlib.import_module(self.module)
        except Exception as error:  # noqa: BLE001  a library that breaks while it is imported is missing too
            return f"{type(error).__name__}: {error}".partition("\n")[0]
        return None

    @property
    def version(self) -> str | None:
        """Version of its distribution, where it has one of its own."""
        if self.module is None:
            return None
        try:
            return importlib.metadata.version(self.distribution or self.name)
        except importlib.metadata.PackageNotFoundError:
            return "unknown"


@functools.cache
def peers() -> dict[str, Peer]:
    """Every peer by name, in the order of the files' names."""
    package = importlib.import_module("tileops.bench.peers")
    modules = sorted(info.name for info in pkgutil.iter_modules(package.__path__))
    found = [importlib.import_module(f"{package.__name__}.{name}").peer for name in modules]
    return {peer.name: peer for peer in found}
