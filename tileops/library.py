"""Every implemented operator is a `torch.library` operator: `torch.ops.tileops.rms_norm` and its like.

Params are in the schema, so `torch.compile(fullgraph=True)`, `torch.export` and `opcheck` see plain operators
and no Python object. The last two arguments are the target and the implementation that were asked for, or
`None`; where no tensor comes in, the device is the very last.

An operator that may write an input has an overload for the calls that do, `torch.ops.tileops.relu.inplace`.
What is written is in its schema, and it does not return that: PyTorch's compilers would take it for new.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from tileops.autograd import differentiable, differentiated
from tileops.compiled import compile_spec, device_of, make_outputs
from tileops.params import normalize
from tileops.runner import runner_for
from tileops.spec.model import OpSpec
from tileops.spec.params import ParamType

__all__ = ["Overloads", "register", "schema", "written_slots"]

_LIBRARY = torch.library.Library("tileops", "DEF")  # operators live as long as this object


class Overloads(NamedTuple):
    """An operator in `torch.ops.tileops`: for calls that write nothing, and for those that write an input.

    Attributes:
        plain: `None` for an operator that always writes.
        writing: `None` for one that never does.
    """

    spec: OpSpec
    plain: Any
    writing: Any

    def of(self, tensors: Sequence[Any], values: Sequence[Any]) -> Any:
        """The overload that serves a call."""
        return self.writing if written_slots(self.spec, tensors, values) else self.plain

    def arguments(self, tensors: Sequence[Any], values: Sequence[Any], *others: Any) -> tuple[Any, ...]:
        """The arguments of a call as the schema has them."""
        types = (ParamType.parse(param.type) for param in self.spec.params.values())
        return (*tensors, *(kind.encode(value) for kind, value in zip(types, values, strict=True)), *others)

    def call(self, tensors: Sequence[Any], values: Sequence[Any], *others: Any) -> Any:
        """Call the overload that fits; returns what `forward` returns."""
        spec = self.spec
        written = written_slots(spec, tensors, values)
        made = self.of(tensors, values)(*self.arguments(tensors, values, *others))
        if not written and len(spec.returned) == len(spec.outputs):
            return made
        made = iter((made,) if isinstance(made, torch.Tensor) else made or ())
        slots = dict(zip(spec.inputs, tensors, strict=False))
        outputs = {n: slots[o.alias] if o.alias in written else next(made) for n, o in spec.outputs.items()}
        returned = tuple(outputs[name] for name in spec.returned)
        return returned[0] if len(returned) == 1 else returned


def written_slots(spec: OpSpec, tensors: Sequence[Any], values: Sequence[Any]) -> set[str]:
    """The inputs that a call writes."""
    params = dict(zip(spec.params, values, strict=True))
    found = set()
    for (name, member), tensor in zip(spec.inputs.items(), tensors, strict=False):
        if tensor is not None and (member.mutated is True or params.get(str(member.mutated), False)):
            found.add(name)
    return found


def schema(spec: OpSpec, writing: bool = False) -> str:
    """The operator's schema, without defaults: callers pass every argument."""
    arguments = []
    for n, (name, member) in enumerate(spec.inputs.items()):
        mark = f"(a{n}!)" if writing and member.mutated else ""
        arguments.append(f"Tensor{mark}{'?' * member.optional} {name}")
    arguments += [f"{ParamType.parse(param.type).schema} {name}" for name, param in spec.params.items()]
    arguments += ["str? target", "str? implementation", *([] if spec.inputs else ["Device? device"])]
    outputs = [o for o in spec.outputs.values() if not (writing and o.alias)]
    returns = ", ".join("Tensor" for _ in outputs)
    name = f"{spec.torch_name}.inplace" if writing and _has_plain(spec) else spec.torch_name
    return f"{name}({', '.join(arguments)}) -> {returns if len(outputs) == 1 else f'({returns})'}"


def _has_plain(spec: OpSpec) -> bool:
    """Whether there are calls that write nothing."""
    return all(member.mutated is not True or member.optional for member in spec.inputs.values())


def register(spec: OpSpec) -> Overloads:
    """Define the operator with its CPU, CUDA, fake and autograd behaviour."""
    may_write = any(member.mutated for member in spec.inputs.values())
    plain = _register(spec, False) if _has_plain(spec) else None
    return Overloads(spec, plain, _register(spec, True) if may_write else None)


def _register(spec: OpSpec, writing: bool) -> Any:
    compiled = compile_spec(spec.name)
    count, values_end = len(spec.inputs), len(spec.inputs) + len(spec.params)

    def split(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Tensors, or the device; values; target and implementation."""
        types = (ParamType.parse(param.type) for param in spec.params.values())
        values = normalize(spec, map(ParamType.decode, types, arguments[count:values_end]))
        tensors = arguments[:count] or (device_of(arguments[-1]),)
        if bool(written_slots(spec, arguments[:count], values)) != writing:
            does = "writes nothing" if writing else "writes an input"
            raise ValueError(f"{spec.name}: this call {does}; it is for the other overload")
        return tensors, values, arguments[values_end : values_end + 2]

    def made(outputs: dict[str, Any]) -> Any:
        fresh = [o for name, o in outputs.items() if not (writing and spec.outputs[name].alias)]
        return None if not fresh else fresh[0] if len(fresh) == 1 else tuple(fresh)

    def run(*arguments: Any) -> Any:
        tensors, values, (target, implementation) = split(arguments)
        result = compiled.core(None, runner_for(spec.name, target, implementation), *tensors, *values)
        return made(dict(zip(spec.outputs, (result,) if len(spec.outputs) == 1 else result, strict=True)))

    def fake(*arguments: Any) -> Any:
        tensors, values, _ = split(arguments)
        device, outputs = compiled.outputs(*tensors, *values)
        return made(dict(zip(spec.outputs, make_outputs(device, outputs), strict=True)))

    def could_have_gradients(arguments: tuple[Any, ...]) -> bool:
        tensors, values, _ = split(arguments)
        results = [dtype for _, dtype, *_ in compiled.outputs(*tensors, *values)[1]]
        written = written_slots(spec, tensors, values)
        results += [t.dtype for name, t in zip(spec.inputs, tensors, strict=True) if name in written]
        return any(dtype.is_floating_point or dtype.is_complex for dtype in results)

    def without_gradient(*arguments: Any) -> Any:
        if any(a is not None and differentiated(a) for a in arguments[:count]) and could_have_gradients(
            arguments
        ):
            raise NotImplementedError(
                f"{spec.name} has no backward, and an input requires a gradient. Call it under "
                f"torch.no_grad(), or detach the inputs"
            )
        with torch._C._AutoDispatchBelowAutograd():
            return overload(*arguments)

    text = schema(spec, writing)
    name = text.partition("(")[0]
    _LIBRARY.define(text, tags=(torch.Tag.pt2_compliant_tag,))
    for key in ("CPU", "CUDA") if spec.inputs else ("CompositeExplicitAutograd",):
        _LIBRARY.impl(name, run, key)
    torch.library.register_fake(f"tileops::{name}", fake, lib=_LIBRARY)
    packet, _, variant = name.partition(".")
    overload = getattr(getattr(torch.ops.tileops, packet), variant or "default")
    if spec.backward is not None:
        returned = [n for n, o in spec.outputs.items() if not (writing and o.alias)]
        _LIBRARY.impl(name, differentiable(spec, returned, overload), "Autograd")
    elif spec.inputs:
        _LIBRARY.impl(name, without_gradient, "Autograd")
    return overload
