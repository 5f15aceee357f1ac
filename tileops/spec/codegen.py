"""An entry of the manifest to the source of the functions that serve its calls.

`params(params)` checks the rules that speak of params only. Three functions are generated from the same
straight-line checks: types, devices, ranks, dtypes, sizes, rules.

* `outputs(tensors, params)` ends with the shapes and dtypes of the outputs: fake and meta tensors.
* `facts(tensors, params)` ends with all that was bound: to choose and explain an implementation, for costs.
* `values(tensors, params)` ends with a look into index tensors; `None` where nothing is said of them.
* `core(op, runner, tensors, params)` ends with the launch: look the kernel up, allocate, launch, return. Its
  callers have checked the types, and with an `op` also the rules of `params`. Without one it also returns
  the outputs that only a backward uses.

Variables: `t_x` a tensor, `s_x` its shape, `d_x` its dtype, `n_N` a size, param or `let`, `o_y` an output,
`w_x` a tensor that is written, while a copy that the program can take stands for it, `i_x` whether such a
tensor was made in inference mode, `l_x` whether a tensor is channels-last.
Operators without tensor inputs take `device` in their place.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tileops.spec.binding import emit_branches, emit_params, emit_rank, emit_sizes
from tileops.spec.dtypes import PROMOTIONS, SlotDtype, slot_dtypes
from tileops.spec.expressions import Expression
from tileops.spec.launch import emit_call, emit_large, emit_launch, emit_values, written
from tileops.spec.model import OpSpec
from tileops.spec.patterns import Branch, Pattern
from tileops.spec.source import Source, comment, prune

__all__ = ["generate"]

_WRONG = "except (ArithmeticError, LookupError, TypeError, ValueError) as error:"
"""What an expression may raise for values that nobody thought of; `fail_evaluation` passes others on."""


def generate(spec: OpSpec) -> str:
    """Source of `params`, `outputs`, `facts`, `core` and `call` for one operator."""
    out = Source()
    tensors = ", ".join(f"t_{name}" for name in spec.inputs) or "device"
    arguments = ", ".join([tensors, *(f"n_{name}" for name in spec.params)])
    values = ", ".join(f"n_{name}" for name in spec.constructor)
    _emit_protected(out, f"params({values})", emit_params(spec), [])
    _emit_function(out, spec, f"outputs({arguments})", _emit_outputs)
    _emit_function(out, spec, f"facts({arguments})", _emit_facts)
    _emit_function(out, spec, f"core(op, runner, {arguments})", emit_launch, known=True)
    if any(member.values for member in spec.inputs.values()):
        _emit_function(out, spec, f"values({arguments})", lambda _, after, spec: emit_values(after, spec))
    else:
        out.line("values = None")
    emit_call(out, spec)
    return str(out)


def _emit_function(
    out: Source, spec: OpSpec, head: str, tail: Callable[[Source, Source, OpSpec], None], known: bool = False
) -> None:
    """`tail` adds what still is evaluated under the protection of the checks, and what comes after."""
    checks, after = Source(), Source()
    checks.constant, after.constant = out.constant, out.constant  # type: ignore[method-assign]
    _emit_checks(checks, spec, known)
    tail(checks, after, spec)
    _emit_protected(out, head, checks.lines, after.lines)


def _emit_protected(out: Source, head: str, checks: list[str], after: list[str]) -> None:
    body = Source()
    with body.block("try:"):
        body.extend(checks or ["pass"])
    with body.block(_WRONG):
        body.line("raise fail_evaluation(error) from None")
    body.extend(after)
    with out.block(f"def {head}:"):
        out.extend(prune(body.lines))


# ------------------------------------------------------------------------------------------------ checks
def _emit_checks(out: Source, spec: OpSpec, known: bool) -> None:
    slots = slot_dtypes(spec)
    required = [name for name, member in spec.inputs.items() if not member.optional]
    for name in required:
        if not known:
            out.line(f"if not isinstance(t_{name}, Tensor): raise fail_type({name!r}, t_{name})")
    for name in required:
        out.line(f"s_{name} = t_{name}.shape")
        out.line(f"d_{name} = t_{name}.dtype")
    for n, name in enumerate(required):
        out.line(f"device = t_{name}.device" if n == 0 else _device_check(name, required[0]))
    for name in required:
        emit_rank(out, spec, name)
    for name in required:
        _emit_choices(out, name, slots[name])
    for name in (name for name in spec.inputs if name not in required):
        out.line(f"s_{name} = d_{name} = None")
        with out.block(f"if t_{name} is not None:"):
            if not known:
                out.line(f"if not isinstance(t_{name}, Tensor): raise fail_type({name!r}, t_{name})")
            out.line(f"s_{name} = t_{name}.shape")
            out.line(f"d_{name} = t_{name}.dtype")
            out.line(_device_check(name, required[0]))
            emit_rank(out, spec, name)
            _emit_choices(out, name, slots[name])
    for name, member in spec.inputs.items():
        if member.channels_last:
            there = f"t_{name} is not None and " if member.optional else ""
            out.line(f"l_{name} = {there}channels_last(t_{name})")
    _emit_output_dtypes(out, spec)
    for name in required:
        out.extend(_same_dtype_check(name, slots[name]))
    given = {name: _same_dtype_check(name, slots[name]) for name in spec.inputs if name not in required}
    out.extend(emit_sizes(spec, "op is None" if known else "", given).lines)
    for name, member in spec.inputs.items():
        if member.mutated:
            with out.block(f"if {written(spec, name)}:"):
                out.line(f"i_{name} = t_{name}.is_inference()")
                out.line(f"if i_{name} and not inference_mode(): raise fail_inference({name!r})")
                out.line(f"if not t_{name}.is_contiguous() and overlaps(t_{name}):")
                out.line(f"    raise fail_overlap({name!r}, t_{name})")
    for name, output in spec.outputs.items():
        _emit_shape(out, spec, name, output.shape)


def _device_check(name: str, first: str) -> str:
    return f"if t_{name}.device != device: raise fail_device({name!r}, t_{name}.device, {first!r}, device)"


def _emit_choices(out: Source, name: str, slot: SlotDtype) -> None:
    if not slot.choices:
        return
    allowed = ", ".join(map(_dtype, slot.choices))
    one = len(slot.choices) == 1
    wrong = f"is not {out.constant(allowed)}" if one else f"not in {out.constant(f'frozenset(({allowed}))')}"
    out.line(f"if d_{name} {wrong}: raise fail_dtype({name!r}, d_{name}, {' or '.join(slot.choices)!r})")


def _dtype(name: str) -> str:
    return f"DTYPE[{name!r}]"


def _emit_output_dtypes(out: Source, spec: OpSpec) -> None:
    """Dtypes of the outputs, each after those that it is the same as; then the row that all must be in."""
    slots = slot_dtypes(spec)
    outputs = {name: slots[name] for name in spec.outputs}
    while outputs:
        name = next(name for name, slot in outputs.items() if slot.same_as not in outputs)
        out.line(f"d_{name} = {_output_dtype(out, outputs.pop(name))}")
    owners = [name for name in spec.rows[0] if len(slots[name].choices) != 1]
    every = math.prod(len(slots[name].choices) for name in owners)
    if len(spec.rows) == every:  # a param's dtype counts as no choice: then there are always fewer
        return
    rows = [""]
    for row in spec.rows:
        found = [""]
        for owner in owners:
            absent = ["None, "] if owner in spec.inputs and spec.inputs[owner].optional else []
            found = [f"{start}{dtype}" for start in found for dtype in [f"{_dtype(row[owner])}, ", *absent]]
        rows += [f"({text})" for text in found]
    got = "".join(f"d_{owner}, " for owner in owners)
    allowed = out.constant(f"frozenset(({', '.join(dict.fromkeys(rows[1:]))},))")
    out.line(f"if ({got}) not in {allowed}: raise fail_row({owners!r}, ({got}))")


def _output_dtype(out: Source, slot: SlotDtype) -> str:
    same = f"d_{slot.same_as}"
    if slot.promotion:
        table = ", ".join(f"{_dtype(old)}: {_dtype(new)}" for old, new in PROMOTIONS[slot.promotion].items())
        return f"{out.constant('{' + table + '}')}.get({same}, {same})"
    if slot.param:
        return f"{same} if n_{slot.param} is None else n_{slot.param}" if slot.same_as else f"n_{slot.param}"
    return same if slot.same_as else out.constant(_dtype(slot.choices[0]))


def _same_dtype_check(name: str, slot: SlotDtype) -> list[str]:
    if slot.same_as is None:
        return []
    other = slot.same_as
    return [f"if d_{name} is not d_{other}: raise fail_same_dtype({name!r}, d_{name}, {other!r}, d_{other})"]


def _emit_shape(out: Source, spec: OpSpec, name: str, text: str) -> None:
    """The shape of an output, whose names are all bound; an input's when it has the same pattern."""
    if same := same_shape(spec, text):
        out.line(f"s_{name} = s_{same}")
        return

    def emit(branch: Branch, _: str | None) -> None:
        items = "".join(f"{'*' * item.splat}{item.expression.python}, " for item in branch.items)
        out.line(f"s_{name} = ({items}){comment(name, text)}")

    emit_branches(out, Pattern.parse(text), emit)


def same_shape(spec: OpSpec, text: str) -> str | None:
    """A required input whose shape is declared with the same words."""
    return next((name for name, m in spec.inputs.items() if m.shape == text and not m.optional), None)


# ------------------------------------------------------------------------------------------------- tails
def _emit_outputs(checks: Source, after: Source, spec: OpSpec) -> None:
    pairs = "".join(
        f"(s_{name}, d_{name}{f', l_{o.layout_of}' if o.layout_of else ''}), "
        for name, o in spec.outputs.items()
    )
    after.line(f"return device, ({pairs})")


def _emit_facts(checks: Source, after: Source, spec: OpSpec) -> None:
    bound = sorted({*emit_sizes(spec).names, *spec.params, *spec.let})
    names = ", ".join(f"{name!r}: n_{name}" for name in bound)
    slots = [*spec.inputs, *spec.outputs]
    shapes = ", ".join(f"{name!r}: s_{name}" for name in slots)
    dtypes = ", ".join(f"{name!r}: d_{name}" for name in slots)
    tables = f"'names': {{{names}}}, 'shapes': {{{shapes}}}, 'dtypes': {{{dtypes}}}"
    checks.line(f"facts = {{{tables}, 'device': device}}")
    for name, implementation in spec.implementations.items():
        domain = "".join(f"bool({Expression(rule.rule).python}), " for rule in implementation.domain)
        static = ", ".join(f"{s!r}: {Expression(text).python}" for s, text in implementation.static.items())
        layouts = "".join(
            f"l_{slot} == {slot in implementation.channels_last}, "
            for slot, member in spec.inputs.items()
            if member.channels_last
        )
        if layouts:
            checks.line(f"facts[{'layout:' + name!r}] = ({layouts})")
        checks.line(f"facts[{'domain:' + name!r}] = ({domain}){comment('domain', name)}")
        checks.line(f"facts[{'static:' + name!r}] = {{{static}}}{comment('static', name)}")
    emit_large(after, spec)
    after.line("return facts")
