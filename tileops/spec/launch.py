"""Generated code that runs a call: key, allocation, launch, and the way past the dispatcher."""

from __future__ import annotations

from tileops.spec.dtypes import slot_dtypes
from tileops.spec.expressions import Expression
from tileops.spec.model import OpSpec
from tileops.spec.patterns import Pattern
from tileops.spec.references import maker
from tileops.spec.source import Source, comment

__all__ = ["emit_call", "emit_large", "emit_launch", "emit_values", "written"]


def emit_launch(checks: Source, out: Source, spec: OpSpec) -> None:
    """The end of `core`. The key is computed among the checks: its expressions may fail like theirs."""
    if spec.implementations:
        checks.line(f"key = {_key_source(spec)}{comment('implementation', 'static sizes and domains')}")
    else:
        _emit_meta(out, spec)
        out.line("raise fail_not_implemented()")
        return
    emit_large(out, spec)
    with out.block("if device.type == 'cpu':"):
        emit_values(out, spec)
    out.line("entry = runner.kernels.get(key)")
    with out.block("if entry is None:"):
        _emit_meta(out, spec)
        arguments = ", ".join(
            [*(f"t_{name}" for name in spec.inputs), *(f"n_{name}" for name in spec.params)]
        )
        out.line(f"entry = runner.find(key, facts({arguments if spec.inputs else f'device, {arguments}'}))")
    for name in spec.inputs:
        _emit_dense(out, spec, name)
    _emit_allocation(out, spec, like=True)
    out.line(f"if {' and '.join(f'0 in s_{name}' for name in spec.outputs)}: pass")
    elsewhere = f"{_is_type(spec, 'cuda')} and current_device() != device.index"
    with out.block(f"elif {elsewhere}:"), out.block("with device_guard(device):"):
        _emit_launches(out, spec)
    with out.block("else:"):
        _emit_launches(out, spec)
    for name, member in spec.inputs.items():
        if member.mutated:
            _emit_written(out, spec, name)
    _emit_return(out, spec)


def written(spec: OpSpec, slot: str) -> str:
    """The condition under which a call writes a mutated input."""
    member = spec.inputs[slot]
    given = [f"t_{slot} is not None"] if member.optional else []
    return (
        " and ".join([*([f"n_{member.mutated}"] if isinstance(member.mutated, str) else []), *given])
        or "True"
    )


def _emit_dense(out: Source, spec: OpSpec, name: str) -> None:
    """Programs take contiguous tensors at multiples of 16 bytes: others are copied, written ones back."""
    member = spec.inputs[name]
    awkward = f"not t_{name}.is_contiguous() or t_{name}.data_ptr() & 15"
    if member.channels_last:
        awkward = f"not (l_{name} or t_{name}.is_contiguous()) or t_{name}.data_ptr() & 15"
    condition = f"t_{name} is not None and ({awkward})" if member.optional else awkward
    if not member.mutated:
        layout = f", l_{name}" if member.channels_last else ""
        out.line(f"if {condition}: t_{name} = dense(t_{name}{layout})")
        return
    out.line(f"w_{name} = None")
    with out.block(f"if {condition}:"):
        out.line(f"if {written(spec, name)}: w_{name} = t_{name}")
        out.line(f"t_{name} = dense(t_{name})")


def _emit_written(out: Source, spec: OpSpec, name: str) -> None:
    """Autograd hears that a tensor was written; what went to a copy comes back."""
    with out.block(f"if w_{name} is not None:"):
        out.line(f"w_{name}.copy_(t_{name})")
        for output, member in spec.outputs.items():
            if member.alias == name:
                out.line(f"o_{output} = w_{name}")
    out.line(f"elif {written(spec, name)} and not i_{name}: wrote(t_{name})")


def emit_large(out: Source, spec: OpSpec) -> None:
    """Programs count single sizes in 32 bits; only what a splat flattens may be larger."""
    sizes = [name for name in dict.fromkeys([*_single_sizes(spec), *spec.let]) if name not in spec.params]
    named = ", ".join(f"{name!r}: n_{name}" for name in sizes)
    for name, member in spec.inputs.items():
        given = f"t_{name} is not None and " if member.optional else ""
        out.line(f"if {given}t_{name}.numel() > 0x7FFFFFFF: refuse_large({{{named}}})")


def emit_values(out: Source, spec: OpSpec) -> None:
    """What index tensors must hold."""
    for name, member in spec.inputs.items():
        if member.values is not None:
            kind, found = maker(member.values)
            arguments = [f"t_{a.text}" if a.text in spec.inputs else a.python for a in found]
            given = f"if t_{name} is not None: " if member.optional else ""  # else a size may be None
            out.line(f"{given}values_{kind}({name!r}, t_{name}, {', '.join(arguments)})")


def _single_sizes(spec: OpSpec) -> list[str]:
    """Names that patterns bind to one size of one tensor."""
    patterns = [Pattern.parse(member.shape) for member in spec.inputs.values()]
    items = [item for pattern in patterns for branch in pattern.branches for item in branch.items]
    return [item.name for item in items if item.name is not None and not item.splat]


def _emit_return(out: Source, spec: OpSpec) -> None:
    """The end of a call that went well: only now is it the last call, whose cost can be asked for."""
    last = "".join([*(f"s_{name}, d_{name}, " for name in spec.inputs), *(f"n_{n}, " for n in spec.call)])
    out.line(f"if op is not None: op._last = ({last})")
    if len(spec.returned) < len(spec.outputs):
        out.line(f"else: return {', '.join(f'o_{name}' for name in spec.outputs)}")
    out.line(f"return {', '.join(f'o_{name}' for name in spec.returned)}")


def _is_type(spec: OpSpec, kind: str) -> str:
    return f"t_{next(iter(spec.inputs))}.is_{kind}" if spec.inputs else f"device.type == {kind!r}"


def _emit_meta(out: Source, spec: OpSpec) -> None:
    with out.block(f"if {_is_type(spec, 'meta')}:"):
        _emit_allocation(out, spec, like=False)
        _emit_return(out, spec)


def _key_source(spec: OpSpec) -> str:
    """What decides the kernel: device, dtypes, presence, domains and static sizes of every implementation."""
    parts = ["device"]
    parts += [f"d_{name}" for name in spec.rows[0] if len({row.get(name) for row in spec.rows}) > 1]
    parts += [f"t_{name} is None" for name, member in spec.inputs.items() if member.optional]
    parts += [f"l_{name}" for name, member in spec.inputs.items() if member.channels_last]
    for implementation in spec.implementations.values():
        for text in [*(rule.rule for rule in implementation.domain), *implementation.static.values()]:
            parts.append(f"({Expression(text).python})")
    return "(" + ", ".join(dict.fromkeys(parts)) + ",)"


def _emit_allocation(out: Source, spec: OpSpec, like: bool) -> None:
    """`like`: whether inputs are contiguous by now."""
    for name, output in spec.outputs.items():
        made = _allocation(spec, name, like)
        if output.layout_of:
            made = f"empty_channels_last(s_{name}, d_{name}, device) if l_{output.layout_of} else {made}"
        if output.alias:
            made = f"t_{output.alias} if {written(spec, output.alias)} else {made}"
        out.line(f"o_{name} = {made}")


def _allocation(spec: OpSpec, name: str, like: bool) -> str:
    """The cheapest way to a contiguous output: `empty_like` of an input, else sizes as separate arguments."""
    sized = f"empty(*s_{name}, dtype=d_{name}, device=device)"
    branches = Pattern.parse(spec.outputs[name].shape).branches
    if not all(any(not item.splat for item in branch.items) for branch in branches):
        sized = f"{sized} if s_{name} else empty((), dtype=d_{name}, device=device)"
    slot = _of_the_same_shape(spec, name) if like else None
    if slot is None:
        return sized
    made, own, theirs = f"empty_like(t_{slot})", _root(spec, name), _root(spec, slot)
    if own is not None and own == theirs:
        return made
    return f"{made} if d_{name} is d_{slot} else {sized}"


def _of_the_same_shape(spec: OpSpec, name: str) -> str | None:
    """A required input, contiguous by now, of the output's shape; one of its dtype if there is one."""
    shape, own = spec.outputs[name].shape, _root(spec, name)
    found = [
        n for n, m in spec.inputs.items() if not m.optional and m.mutated is not True and m.shape == shape
    ]
    return next((n for n in found if own is not None and _root(spec, n) == own), found[0] if found else None)


def _root(spec: OpSpec, slot: str) -> str | None:
    """The slot whose dtype this one has; none when a param has a say, or a promotion."""
    dtype = slot_dtypes(spec)[slot]
    if dtype.param or dtype.promotion:
        return None
    return _root(spec, dtype.same_as) if dtype.same_as else slot


def _emit_launches(out: Source, spec: OpSpec) -> None:
    tensors = [*(f"t_{name}" for name in spec.inputs), *(f"o_{name}" for name in spec.outputs)]
    scalars = {name: i.scalars for name, i in spec.implementations.items()}
    if len(set(scalars.values())) == 1:
        arguments = ", ".join(["entry.run", *tensors, *(f"n_{s}" for s in next(iter(scalars.values())))])
        out.line(f"entry.launch({arguments})")
        return
    for n, (name, own) in enumerate(scalars.items()):
        arguments = ", ".join(["entry.run", *tensors, *(f"n_{s}" for s in own)])
        out.line(f"{'if' if n == 0 else 'elif'} entry.implementation == {name!r}: entry.launch({arguments})")


def emit_call(out: Source, spec: OpSpec) -> None:
    """`call(self, tensors, numbers)`: `core` at once where the dispatcher would add nothing, else that."""
    numbers = "".join(f", n_{name}" for name in spec.call)
    if not spec.inputs:
        with out.block(f"def call(self, device{numbers}):"):
            out.line("if is_compiling(): return self._dispatch(device" + numbers + ")")
            _emit_numbers(out, spec)
            out.line("device = device_of(device)")
            out.line(f"if not undisturbed(): return self._dispatch(device{numbers})")
            out.line(f"return core(self, self._runner, device, *self._values{numbers})")
        return
    tensors = ", ".join(f"t_{name}" for name in spec.inputs)
    plain, wants, views = [], [], []
    for name, member in spec.inputs.items():
        kind = f"(type(t_{name}) is Tensor or type(t_{name}) is Parameter) and t_{name}.layout is strided"
        plain.append(f"(t_{name} is None or {kind})" if member.optional else kind)
        given = f"t_{name} is not None and " if member.optional else ""
        wants.append(f"{given}t_{name}.requires_grad")
        views += [f"{given}t_{name}.is_{bit}()" for bit in _bits(spec, name)]
    fast = [*plain, "undisturbed()", f"not (grad_enabled() and ({' or '.join(wants)}))"]
    fast += [f"not ({' or '.join(views)})"] if views else []
    with out.block(f"def call(self, {tensors}{numbers}):"):
        out.line(f"if is_compiling(): return self._dispatch({tensors}{numbers})")
        _emit_numbers(out, spec)
        with out.block(f"if {' and '.join(fast)}:"):
            out.line(f"return core(self, self._runner, {tensors}, *self._values{numbers})")
        out.line(f"return self._dispatch({tensors}{numbers})")


def _emit_numbers(out: Source, spec: OpSpec) -> None:
    for name in spec.call:
        kind = spec.params[name].type.partition(" ")[0]
        fits = f" or not {-(2**63)} <= n_{name} < {2**63}" if kind == "int" else ""
        out.line(f"if type(n_{name}) is not {kind}{fits}: n_{name} = number({name!r}, n_{name})")


def _bits(spec: OpSpec, name: str) -> list[str]:
    """Which lazy views the dtypes of an input can be: `x.conj()` of complex ones, `x.conj().imag` of floats.

    Tensors of other dtypes are refused anyway.
    """
    slots = slot_dtypes(spec)
    slot = slots[name]
    while slot.same_as:
        slot = slots[slot.same_as]
    choices = set(slot.choices) or {"float16", "complex64"}
    if choices & {"complex64", "complex128"}:
        return ["neg", "conj"]
    return ["neg"] if choices & {"float16", "float32", "float64"} else []
