"""From the facts of a call to a compiled kernel: choose an implementation, build it once, keep it."""

from __future__ import annotations

import functools
import importlib
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch

from tileops import targets
from tileops._once import BuildOnce
from tileops.compiled import dtype_name
from tileops.errors import CallError, UnsupportedDeviceError
from tileops.fail import not_implemented
from tileops.kernel import Kernel, Key
from tileops.spec.model import OpSpec

__all__ = ["Entry", "Runner", "Verdict", "computes_nothing", "factory", "make_key", "trace", "verdicts"]

log = logging.getLogger("tileops")


class Entry(NamedTuple):
    """A kernel that is ready to launch."""

    launch: Any
    run: Any
    implementation: str


class Verdict(NamedTuple):
    """Whether an implementation serves a call: `reasons` why not, none when it does."""

    implementation: str
    rank: int
    reasons: tuple[str, ...]


def verdicts(spec: OpSpec, facts: Mapping[str, Any], target: str) -> list[Verdict]:
    """Every implementation, the highest rank first, with the reasons why it does not serve the call."""
    out = []
    for name, implementation in spec.implementations.items():
        reasons = [
            rule.message
            for rule, holds in zip(implementation.domain, facts[f"domain:{name}"], strict=True)
            if not holds
        ]
        may_be = [slot for slot, member in spec.inputs.items() if member.channels_last]
        for slot, holds in zip(may_be, facts.get(f"layout:{name}", ()), strict=True):
            if not holds:
                wanted = "channels-last" if slot in implementation.channels_last else "contiguous"
                reasons.append(f"{slot} must be {wanted}")
        if target not in implementation.targets:
            reasons.append(f"it has no program for the target {target}")
        out.append(Verdict(name, implementation.rank, tuple(reasons)))
    return sorted(out, key=lambda verdict: -verdict.rank)


def require_implementation(spec: OpSpec, name: str | None) -> None:
    """Refuse the name of an implementation that the operator does not have."""
    if name is not None and name not in spec.implementations:
        known = ", ".join(map(repr, spec.implementations)) or "none"
        raise CallError(f"{spec.name}: implementation={name!r} does not exist; there are {known}")


def choose(spec: OpSpec, facts: Mapping[str, Any], target: str, forced: str | None) -> str:
    """Name of the implementation that serves the call."""
    if not spec.implementations:
        raise not_implemented(spec)
    require_implementation(spec, forced)
    found = verdicts(spec, facts, target)
    if forced is not None:
        found = [verdict for verdict in found if verdict.implementation == forced]
    for verdict in found:
        if not verdict.reasons:
            return verdict.implementation
    why = "; ".join(f"{v.implementation}: {', '.join(v.reasons)}" for v in found)
    if forced is not None:
        raise CallError(f"{spec.name}: implementation={forced!r} does not serve this call: {why}")
    raise NotImplementedError(f"{spec.name}: no implementation serves this call. {why}")


def make_key(spec: OpSpec, implementation: str, facts: Mapping[str, Any], target: str) -> Key:
    """All that the factory of an implementation may know."""
    dtypes = tuple((slot, str(dtype_name(d))) for slot, d in facts["dtypes"].items() if d is not None)
    static = tuple(facts[f"static:{implementation}"].items())
    return Key(spec.name, implementation, target, dtypes, static)


def computes_nothing(spec: OpSpec, facts: Mapping[str, Any]) -> bool:
    """Whether all outputs of a call are empty: then no program is built for it, and none runs."""
    return all(0 in facts["shapes"][name] for name in spec.outputs)


def factory(spec: OpSpec, implementation: str) -> Callable[[Key], Kernel]:
    """The function of `tileops.kernels.<family>` that traces the programs of an implementation."""
    module = importlib.import_module(f"tileops.kernels.{spec.family}")
    program: Callable[[Key], Kernel] = getattr(module, spec.implementations[implementation].program)
    return program


def trace(spec: OpSpec, key: Key) -> Kernel:
    """The kernel of a key, traced and not compiled."""
    return factory(spec, key.implementation)(key)


_entries: BuildOnce[Key, Entry] = BuildOnce()


def build(spec: OpSpec, key: Key) -> Entry:
    """Compile the kernel of a key, once in the process; other threads that ask for it wait."""
    return _entries.get(key, lambda: _compile(spec, key))


def _compile(spec: OpSpec, key: Key) -> Entry:
    started = time.perf_counter()
    kernel = trace(spec, key)
    target = targets.get(key.target)
    runs = tuple(target.compile(program, kernel.pass_configs or None) for program in kernel.programs)
    log.info("built %s in %.2f s", key, time.perf_counter() - started)
    return Entry(kernel.launch, runs[0] if len(runs) == 1 else runs, key.implementation)


@functools.cache
def target_of(device: torch.device) -> str:
    """Name of the target that runs on a device.

    Raises:
        UnsupportedDeviceError: The device runs none; the message says what is needed.
    """
    if device.type == "cpu":
        return "cpu"
    if device.type != "cuda":
        raise UnsupportedDeviceError(
            f"tensors on {device} cannot be computed; TileOps runs on cpu and on cuda (NVIDIA H200)"
        )
    capability = torch.cuda.get_device_capability(device)
    if capability != (9, 0):
        raise UnsupportedDeviceError(
            f"{torch.cuda.get_device_name(device)} ({device}) has compute capability "
            f"{capability[0]}.{capability[1]}; the programs are compiled for 9.0 (NVIDIA H200, H100). "
            f"CPU tensors run on any machine"
        )
    return "hopper"


class Runner:
    """The kernels of one operator for one choice of target and implementation.

    Attributes:
        kernels: Entries by the tuple that generated code computes; it decides the kernel completely.
    """

    def __init__(self, spec: OpSpec, target: str | None, implementation: str | None) -> None:
        self.spec, self.target, self.implementation = spec, target, implementation
        self.kernels: dict[Any, Entry] = {}

    def target_for(self, device: torch.device) -> str:
        """The target that runs on a device, if it is the one that the user chose."""
        target = target_of(device)
        if self.target not in (None, target):
            raise CallError(
                f"{self.spec.name}: target={self.target!r} was chosen, but the tensors are on {device}"
            )
        return target

    def find(self, key: Any, facts: Mapping[str, Any]) -> Entry | None:
        """The entry for a call whose key is new: choose, build, remember. None where nothing is launched."""
        target = self.target_for(facts["device"])
        implementation = choose(self.spec, facts, target, self.implementation)
        if computes_nothing(self.spec, facts):
            return None
        kernel_key = make_key(self.spec, implementation, facts, target)
        if target == "hopper" and kernel_key not in _entries and torch.cuda.is_current_stream_capturing():
            raise RuntimeError(
                f"{self.spec.name}: the kernel for this call is not built yet, and it cannot be built while "
                f"a CUDA graph is captured; call it once before, or op.build(*tensors) with tensors on the "
                f"meta device"
            )
        entry = build(self.spec, kernel_key)
        self.kernels[key] = entry
        return entry


@functools.cache
def runner_for(spec_name: str, target: str | None, implementation: str | None) -> Runner:
    """The one runner of an operator for this choice; every instance with the same choice shares it."""
    from tileops.spec import load

    return Runner(load(spec_name), target, implementation)
