"""Every implemented operator is a `torch.library` operator: `torch.ops.tileops.rms_norm` and its like.

Params are in the schema, so `torch.compile(fullgraph=True)`, `torch.export` and `opcheck` see plain operators
and no Python object. The last two arguments are the target and the implementation that were asked for, or
`None`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd import forward_ad

from tileops.compiled import compile_spec
from tileops.params import normalize
from tileops.runner import runner_for
from tileops.spec.model import OpSpec
from tileops.spec.params import ParamType

__all__ = ["register", "schema"]

_LIBRARY = torch.library.Library("tileops", "DEF")  # operators live as long as this object


def schema(spec: OpSpec) -> str:
    """The operator's schema, without defaults: callers pass every argument.

    Raises:
        ValueError: The operator writes an input; such a schema needs a functional twin.
    """
    if any(member.mutated for member in spec.inputs.values()):
        raise ValueError(f"{spec.name}: operators that write their inputs cannot be registered yet")
    arguments = [f"Tensor{'?' * member.optional} {name}" for name, member in spec.inputs.items()]
    arguments += [f"{ParamType.parse(param.type).schema} {name}" for name, param in spec.params.items()]
    arguments += ["str? target", "str? implementation"]
    returns = ", ".join("Tensor" for _ in spec.outputs)
    returns = returns if len(spec.outputs) == 1 else f"({returns})"
    return f"{spec.torch_name}({', '.join(arguments)}) -> {returns}"


def _differentiated(tensor: torch.Tensor) -> bool:
    """Whether someone asks for a gradient: backward, or forward (then the tensor carries a tangent)."""
    if torch.is_grad_enabled() and tensor.requires_grad:
        return True
    return forward_ad._current_level >= 0 and forward_ad.unpack_dual(tensor).tangent is not None


def register(spec: OpSpec) -> Any:
    """Define the operator with its CPU, CUDA, fake and autograd behaviour; returns the overload."""
    compiled = compile_spec(spec.name)
    count = len(spec.inputs)

    def run(*arguments: Any) -> Any:
        *values, target, implementation = arguments[count:]
        runner = runner_for(spec.name, target, implementation)
        return compiled.core(None, runner, *arguments[:count], *normalize(spec, values))

    def fake(*arguments: Any) -> Any:
        values = normalize(spec, arguments[count:-2])
        device, outputs = compiled.outputs(*arguments[:count], *values)
        made = tuple(torch.empty(shape, dtype=dtype, device=device) for shape, dtype in outputs)
        return made[0] if len(made) == 1 else made

    def without_gradient(*arguments: Any) -> Any:
        if any(a is not None and _differentiated(a) for a in arguments[:count]):
            raise NotImplementedError(
                f"{spec.name} has no backward, and an input requires a gradient. Call it under "
                f"torch.no_grad(), or detach the inputs"
            )
        with torch._C._AutoDispatchBelowAutograd():
            return overload(*arguments)

    _LIBRARY.define(schema(spec), tags=(torch.Tag.pt2_compliant_tag,))
    for key in ("CPU", "CUDA"):
        _LIBRARY.impl(spec.torch_name, run, key)
    _LIBRARY.impl(spec.torch_name, without_gradient, "Autograd")
    torch.library.register_fake(f"tileops::{spec.torch_name}", fake, lib=_LIBRARY)
    overload = getattr(torch.ops.tileops, spec.torch_name).default
    return overload
