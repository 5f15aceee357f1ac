"""What a backward operator finds in use: outputs of its forward operator, not random numbers."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from torch import Tensor

from tileops.bench.plan import Case
from tileops.compiled import compile_spec
from tileops.errors import CallError
from tileops.kernel import Key
from tileops.params import normalize
from tileops.runner import choose, make_key, runner_for
from tileops.spec import OpSpec, all_specs
from tileops.testing import make_meta

__all__ = ["forward_key", "from_forward"]


class _Call(NamedTuple):
    """A call of the forward, with what of its outputs the backward takes."""

    spec: OpSpec
    arguments: list[Any]
    taken: list[str]


def from_forward(case: Case, made: Mapping[str, Tensor | None]) -> dict[str, Tensor]:
    """The inputs of a backward that its forward computes of the others; none for other operators."""
    call = _call(case, made)
    if call is None:
        return {}
    found = compile_spec(call.spec.name).core(None, runner_for(call.spec.name, None, None), *call.arguments)
    outputs = dict(zip(call.spec.outputs, (found,) if isinstance(found, Tensor) else found, strict=True))
    return {name: outputs[name] for name in call.taken}


def forward_key(case: Case, target: str) -> Key | None:
    """The program that the forward of a case needs, if it has one."""
    call = _call(case, dict(zip(case.spec.inputs, make_meta(case.spec, case.bound), strict=True)))
    if call is None:
        return None
    facts = compile_spec(call.spec.name).facts(*call.arguments)
    return make_key(call.spec, choose(call.spec, facts, target, None), facts, target)


def _call(case: Case, made: Mapping[str, Tensor | None]) -> _Call | None:
    spec = _forward_of(case.spec.name)
    if spec is None or spec.backward is None:
        return None
    taken = [
        n for n in case.spec.inputs if n in spec.outputs and n not in spec.inputs and made[n] is not None
    ]
    taken = [name for name in taken if name not in spec.backward.gradients]
    values = [case.params.get(name, param.default) for name, param in spec.params.items()]
    if not taken or msgspec.UNSET in values:
        return None
    arguments = [*(made.get(name) for name in spec.inputs), *normalize(spec, values)]
    try:
        compile_spec(spec.name).facts(*arguments)
    except CallError:
        return None  # statistics that training kept, say, are not among what the backward takes
    return _Call(spec, arguments, taken)


@functools.cache
def _forward_of(name: str) -> OpSpec | None:
    """The operator whose gradients an operator computes."""
    found = (spec for spec in all_specs().values() if spec.backward is not None and spec.backward.op == name)
    return next(found, None)
