"""An entry of the manifest to the source of the functions that serve its calls.

Three functions are generated from the same straight-line checks: types, ranks, dtypes, sizes, device, rules.

* `outputs(tensors, params)` ends with the shapes and dtypes of the outputs: fake and meta tensors.
* `facts(tensors, params)` ends with all that was bound: to choose and explain an implementation, and for costs.
* `core(op, runner, tensors, params)` ends with the launch: look the kernel up, allocate, launch, return.

Variables: `t_x` a tensor, `s_x` its shape, `d_x` its dtype, `n_N` a size, a param or a `let`, `o_y` an output.
"""

from __future__ import annotations

from tileops.spec.binding import emit_sizes
from tileops.spec.dtypes import SlotDtype
from tileops.spec.expressions import Expression
from tileops.spec.model import OpSpec
from tileops.spec.patterns import Pattern
from tileops.spec.source import Source

__all__ = ["generate"]


def generate(spec: OpSpec) -> str:
    """Source of `outputs`, `facts`, `core` and `call` for one operator."""
    out = Source()
    arguments = ", ".join([*(f"t_{name}" for name in spec.inputs), *(f"n_{name}" for name in spec.params)])
    for name, head, tail in (
        ("outputs", arguments, _emit_outputs),
        ("facts", arguments, _emit_facts),
        ("core", f"op, runner, {arguments}", _emit_launch),
    ):
        with out.block(f"def {name}({head}):"):
            _emit_checks(out, spec)
            tail(out, spec)
    _emit_call(out, spec)
    return str(out)


# ------------------------------------------------------------------------------------------------ checks
def _emit_checks(out: Source, spec: OpSpec) -> None:
    for name, member in spec.inputs.items():
        given = f"t_{name} is not None and " if member.optional else ""
        out.line(f"if {given}not isinstance(t_{name}, Tensor): raise fail_type({name!r}, t_{name})")
    for name, member in spec.inputs.items():
        out.line(f"s_{name} = t_{name}.shape" + f" if t_{name} is not None else None" * member.optional)
    names = emit_sizes(spec)
    out.extend(names.ranks)
    _emit_dtypes(out, spec)
    out.extend(names.sizes)
    _emit_devices(out, spec)
    for n, rule in enumerate(spec.rules):
        expression = Expression(rule.rule)
        got = ", ".join(f"{name!r}: n_{name}" for name in sorted(expression.names))
        out.line(f"if not ({expression.python}): raise fail_rule({n}, {{{got}}})")
    for name, output in spec.outputs.items():
        out.line(f"s_{name} = {_shape_source(out, spec, output.shape)}")


def _emit_dtypes(out: Source, spec: OpSpec) -> None:
    for name, member in spec.inputs.items():
        out.line(f"d_{name} = t_{name}.dtype" + f" if t_{name} is not None else None" * member.optional)
    slots = {name: SlotDtype.parse(m.dtype, spec.params) for name, m in spec.inputs.items()}
    for name, slot in slots.items():
        if slot.choices:
            given = f"d_{name} is not None and " if spec.inputs[name].optional else ""
            allowed = ", ".join(f"DTYPE[{choice!r}]" for choice in slot.choices)
            constant = out.constant(f"({allowed},)")
            out.line(
                f"if {given}d_{name} not in {constant}: raise fail_dtype({name!r}, d_{name}, {' or '.join(slot.choices)!r})"
            )
    for name, output in spec.outputs.items():
        out.line(f"d_{name} = {_output_dtype(spec, output.dtype)}")
    owners = list(spec.rows[0]) if spec.rows else []
    if any(name in spec.outputs for name in owners):
        rows = ", ".join("(" + "".join(f"DTYPE[{row[o]!r}], " for o in owners) + ")" for row in spec.rows)
        got = "".join(f"d_{o}, " for o in owners)
        out.line(f"if ({got}) not in {out.constant(f'({rows},)')}: raise fail_row({owners!r}, ({got}))")
    for name, slot in slots.items():
        if slot.same_as:
            given = f"d_{name} is not None and " if spec.inputs[name].optional else ""
            out.line(
                f"if {given}d_{name} is not d_{slot.same_as}: "
                f"raise fail_same_dtype({name!r}, d_{name}, {slot.same_as!r}, d_{slot.same_as})"
            )


def _output_dtype(spec: OpSpec, text: str) -> str:
    slot = SlotDtype.parse(text, spec.params)
    if slot.param and slot.same_as:
        return f"d_{slot.same_as} if n_{slot.param} is None else n_{slot.param}"
    if slot.param:
        return f"n_{slot.param}"
    return f"d_{slot.same_as}" if slot.same_as else f"DTYPE[{slot.choices[0]!r}]"


def _emit_devices(out: Source, spec: OpSpec) -> None:
    first, *others = spec.inputs
    out.line(f"device = t_{first}.device")
    for name in others:
        given = f"t_{name} is not None and " if spec.inputs[name].optional else ""
        out.line(
            f"if {given}t_{name}.device != device: raise fail_device({name!r}, t_{name}.device, {first!r}, device)"
        )
    for name, member in spec.inputs.items():
        if member.mutated:
            written = f"n_{member.mutated} and " if isinstance(member.mutated, str) else ""
            given = f"t_{name} is not None and " if member.optional else ""
            out.line(f"if {written}{given}not t_{name}.is_contiguous(): raise fail_mutated({name!r})")


def _shape_source(out: Source, spec: OpSpec, text: str) -> str:
    """An expression for a shape whose names are all bound."""
    for name, member in spec.inputs.items():
        if member.shape == text and not member.optional:
            return f"s_{name}"
    source = ""
    for branch in Pattern.parse(text).branches:
        items = "".join(f"{'*' * item.splat}{item.expression.python}, " for item in branch.items)
        source += f"({items})" + (f" if {branch.condition.python} else " if branch.condition else "")
    return source


# ------------------------------------------------------------------------------------------------- tails
def _emit_outputs(out: Source, spec: OpSpec) -> None:
    pairs = ", ".join(f"(s_{name}, d_{name})" for name in spec.outputs)
    out.line(f"return device, ({pairs},)")


def _emit_facts(out: Source, spec: OpSpec) -> None:
    bound = emit_sizes(spec).names
    names = ", ".join(f"{name!r}: n_{name}" for name in sorted({*bound, *spec.params, *spec.let}))
    slots = [*spec.inputs, *spec.outputs]
    shapes = ", ".join(f"{name!r}: s_{name}" for name in slots)
    dtypes = ", ".join(f"{name!r}: d_{name}" for name in slots)
    out.line(
        f"facts = {{'names': {{{names}}}, 'shapes': {{{shapes}}}, 'dtypes': {{{dtypes}}}, 'device': device}}"
    )
    for name, implementation in spec.implementations.items():
        domain = "".join(f"bool({Expression(rule.rule).python}), " for rule in implementation.domain)
        static = ", ".join(f"{s!r}: {Expression(text).python}" for s, text in implementation.static.items())
        out.line(f"facts[{'domain:' + name!r}] = ({domain})")
        out.line(f"facts[{'static:' + name!r}] = {{{static}}}")
    out.line("return facts")


def _emit_launch(out: Source, spec: OpSpec) -> None:
    first = next(iter(spec.inputs))
    done = _Done(spec)
    out.line(f"if t_{first}.is_meta:")
    with out.block():
        _emit_allocation(out, spec, like=False)
        done.emit(out)
    if not spec.implementations:
        out.line("raise fail_not_implemented()")
        return
    out.line(f"key = {_key_source(spec)}")
    out.line("entry = runner.kernels.get(key)")
    arguments = ", ".join([*(f"t_{name}" for name in spec.inputs), *(f"n_{name}" for name in spec.params)])
    out.line(f"if entry is None: entry = runner.find(key, facts({arguments}))")
    for name, member in spec.inputs.items():
        if not member.mutated:
            given = f"t_{name} is not None and " if member.optional else ""
            out.line(f"if {given}(not t_{name}.is_contiguous() or t_{name}.data_ptr() & 15): t_{name} = dense(t_{name})")
    _emit_allocation(out, spec, like=True)
    out.line(f"if {' and '.join(f'0 in s_{name}' for name in spec.outputs)}: pass")
    out.line(f"elif t_{first}.is_cuda and current_device() != device.index:")
    with out.block():
        out.line("with device_guard(device):")
        with out.block():
            _emit_calls(out, spec)
    out.line("else:")
    with out.block():
        _emit_calls(out, spec)
    done.emit(out)


class _Done:
    """The end of a call that went well: only now is it the last call, whose cost can be asked for."""

    def __init__(self, spec: OpSpec) -> None:
        self.recorded = ", ".join(f"s_{name}, d_{name}" for name in spec.inputs)
        self.returned = ", ".join(f"o_{name}" for name in spec.returned)

    def emit(self, out: Source) -> None:
        out.line(f"if op is not None: op._last = ({self.recorded},)")
        out.line(f"return {self.returned}")


def _key_source(spec: OpSpec) -> str:
    """What decides the kernel: device, dtypes, presence, domains and static sizes of every implementation."""
    parts = ["device"]
    parts += [f"d_{name}" for name in spec.rows[0]]
    parts += [f"t_{name} is None" for name, member in spec.inputs.items() if member.optional]
    for implementation in spec.implementations.values():
        parts += [f"({text})" for text in (Expression(rule.rule).python for rule in implementation.domain)]
        parts += [
            f"({text})" for text in (Expression(text).python for text in implementation.static.values())
        ]
    return "(" + ", ".join(dict.fromkeys(parts)) + ",)"


def _emit_allocation(out: Source, spec: OpSpec, like: bool) -> None:
    """`like`: whether inputs are contiguous by now."""
    for name, output in spec.outputs.items():
        made = _allocation(spec, name, like)
        if output.alias:
            made = f"t_{output.alias} if t_{output.alias} is not None else {made}"
        out.line(f"o_{name} = {made}")


def _allocation(spec: OpSpec, name: str, like: bool) -> str:
    """The cheapest way to an output: `empty_like` of an input, else sizes as separate arguments (not a tuple)."""
    output = spec.outputs[name]
    for slot, member in spec.inputs.items() if like else ():
        if member.shape == output.shape and output.dtype == f"same_as({slot})" and not member.optional:
            return f"empty_like(t_{slot})"
    sized = f"empty(*s_{name}, dtype=d_{name}, device=device)"
    if "*" not in output.shape:
        return sized
    return f"{sized} if s_{name} else empty((), dtype=d_{name}, device=device)"


def _emit_calls(out: Source, spec: OpSpec) -> None:
    tensors = [*(f"t_{name}" for name in spec.inputs), *(f"o_{name}" for name in spec.outputs)]
    scalars = {name: i.scalars for name, i in spec.implementations.items()}
    if len(set(scalars.values())) == 1:
        arguments = ", ".join(["entry.run", *tensors, *(f"n_{s}" for s in next(iter(scalars.values())))])
        out.line(f"entry.launch({arguments})")
        return
    for n, (name, own) in enumerate(scalars.items()):
        arguments = ", ".join(["entry.run", *tensors, *(f"n_{s}" for s in own)])
        out.line(f"{'if' if n == 0 else 'elif'} entry.implementation == {name!r}: entry.launch({arguments})")


def _emit_call(out: Source, spec: OpSpec) -> None:
    """`call(self, tensors)`: `core` at once where the dispatcher would add nothing, else through the dispatcher."""
    tensors = ", ".join(f"t_{name}" for name in spec.inputs)
    plain, wants, bits = [], [], []
    for name, member in spec.inputs.items():
        kind = f"(type(t_{name}) is Tensor or type(t_{name}) is Parameter) and t_{name}.layout is strided"
        plain.append(f"(t_{name} is None or ({kind}))" if member.optional else kind)
        given = f"t_{name} is not None and " if member.optional else ""
        wants.append(f"({given}t_{name}.requires_grad)")
        bits += [f"({given}t_{name}.{bit}())" for bit in _lazy_bits(spec, member.dtype)]
    with out.block(f"def call(self, {tensors}):"):
        out.line("if is_compiling(): return self._dispatch(" + tensors + ")")
        out.line(
            f"if {' and '.join(plain)} and undisturbed() and not (grad_enabled() and ({' or '.join(wants)}))"
            f"{' and not (' * bool(bits)}{' or '.join(bits)}{')' * bool(bits)}:"
        )
        with out.block():
            out.line(f"return core(self, self._runner, {tensors}, *self._values)")
        out.line(f"return self._dispatch({tensors})")


def _lazy_bits(spec: OpSpec, dtype: str) -> list[str]:
    """Methods that tell whether a tensor's memory holds other values than the tensor: by dtype, few can."""
    if any("complex" in member.dtype for member in spec.inputs.values()):
        return ["is_neg", "is_conj"]
    choices = SlotDtype.parse(dtype, spec.params).choices
    return [] if choices and all(choice.startswith(("int", "uint", "bool")) for choice in choices) else ["is_neg"]
