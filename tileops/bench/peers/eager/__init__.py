"""PyTorch as users call it: a module a family, and what follows from the manifest's `ref_api` alone.

An operator that names a PyTorch function, and whose inputs and params are that function's, needs nothing
here. Others have a function in the module of their family, which registers it with `peer.serves`.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil

from tileops.bench.peer import Call, Function, Served, Unserved
from tileops.bench.peers.eager._peer import peer, tried
from tileops.spec import OpSpec, all_specs

__all__ = ["peer"]


def _twin(spec: OpSpec, call: Call) -> Function:
    """The PyTorch function of `ref_api` with the tensors and params of a call, by name where it has names."""
    module, _, name = str(spec.ref_api).rpartition(".")
    function = getattr(importlib.import_module(module), name)
    given = [slot for slot, tensor in call.inputs.items() if tensor is not None]
    params = {name: value for name, value in call.params.items() if value is not None}
    try:
        known = set(inspect.signature(function).parameters)
    except ValueError:
        known = {"kwargs"}  # a builtin does not say its arguments
    if "kwargs" in known:  # nor does one that hands them on; tensors come first, in order
        return tried(call, lambda *tensors: function(*tensors[: len(given)], **params))
    if not known.issuperset({*spec.inputs, *params}):
        strange = ", ".join(sorted({*spec.inputs, *params} - known))
        raise Unserved(f"{spec.ref_api} has no {strange}")
    return lambda *tensors: function(**dict(zip(spec.inputs, tensors, strict=True)), **params)


def _make(spec: OpSpec) -> Served:
    return Served(lambda call: _twin(spec, call))


for _info in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_info.name}")
for _spec in all_specs().values():
    if _spec.implemented and str(_spec.ref_api).startswith("torch."):
        peer.ops.setdefault(_spec.name, _make(_spec))
