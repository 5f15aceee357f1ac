"""Whatever a caller passes, a call ends well or with an error that TileOps raises on purpose."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tileops
from tests.spec.hard import HARD, functions
from tileops import CallError
from tileops.compiled import DTYPE
from tileops.spec import OpSpec, all_specs, bind_case
from tileops.spec.params import ParamType

ON_PURPOSE = (CallError, NotImplementedError, tileops.UnsupportedDeviceError)
SIZES = st.integers(0, 5)
SHAPES = st.lists(SIZES, max_size=5).map(tuple)
INTS = st.integers(-6, 6) | st.sampled_from([-(2**63), 2**31, 2**63, 10**30])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "int": INTS,
    "float": st.floats() | INTS,
    "str": st.sampled_from(["none", "rope", "neox", "", "None"]),
    "dtype": st.sampled_from(list(DTYPE.values())),
    "tuple[int, ...]": st.lists(INTS, max_size=4).map(tuple),
    "tuple[int | None, ...]": st.lists(INTS | st.none(), max_size=4).map(tuple),
    "None": st.none(),
}
ANYTHING = st.one_of(*VALUES.values(), st.just("x"), st.just(object()))


def _op(spec: OpSpec) -> type[tileops.Op]:
    return getattr(tileops, spec.name)  # type: ignore[no-any-return]


def _call(spec: OpSpec, params: dict[str, Any], tensors: list[Any]) -> tuple[tileops.Op, dict[str, Any], Any]:
    """The operator, what a call takes beside tensors, and what it returns."""
    op = _op(spec)(**{name: value for name, value in params.items() if name not in spec.call})
    others = {name: params[name] for name in spec.call} | ({} if spec.inputs else {"device": "meta"})
    return op, others, op(*tensors, **others)


def _default(value: Any, kind: str) -> Any:
    if "dtype" in kind and isinstance(value, str):
        return DTYPE[value]
    return value


@st.composite
def calls(draw: st.DrawFn, spec: OpSpec) -> tuple[dict[str, Any], list[torch.Tensor | None]]:
    """A case of the operator with some of its params and tensors replaced by something else."""
    case = bind_case(spec, draw(st.sampled_from(spec.cases)))
    params = {name: _default(case.params[name], param.type) for name, param in spec.params.items()}
    for name in draw(st.lists(st.sampled_from([*spec.params]), max_size=3)) if spec.params else ():
        members = ParamType.parse(spec.params[name].type).members
        params[name] = draw(st.one_of(*(VALUES[member] for member in members)))
    tensors = []
    for name, shape in case.shapes.items():
        dtype = case.dtypes[name]
        if draw(st.integers(0, 3)) == 0:
            shape = draw(st.none() | SHAPES) if spec.inputs[name].optional else draw(SHAPES)
            dtype = dtype or "float32"
        if shape is not None and draw(st.integers(0, 9)) == 0:
            dtype = draw(st.sampled_from(sorted(DTYPE)))
        tensors.append(None if shape is None else torch.empty(shape, dtype=DTYPE[str(dtype)], device="meta"))
    return params, tensors


@pytest.mark.parametrize("name", sorted(all_specs()))
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_odd_values_and_shapes(name: str, data: st.DataObject) -> None:
    params, tensors = data.draw(calls(all_specs()[name]))
    try:
        op, others, outputs = _call(all_specs()[name], params, tensors)
    except ON_PURPOSE:
        return
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    assert all(isinstance(output, torch.Tensor) and output.is_meta for output in outputs)
    op.eval_roofline()
    op.explain(*tensors, **others)


@pytest.mark.parametrize("name", sorted(all_specs()))
@settings(max_examples=15, deadline=None, derandomize=True)
@given(data=st.data())
def test_values_of_any_type(name: str, data: st.DataObject) -> None:
    """A param of a wrong type is refused by the constructor, a tensor that is none by the call."""
    spec = all_specs()[name]
    case = bind_case(spec, spec.cases[0])
    params = {n: _default(case.params[n], param.type) for n, param in spec.params.items()}
    for wrong in data.draw(st.lists(st.sampled_from([*spec.params]), max_size=2)) if spec.params else ():
        params[wrong] = data.draw(ANYTHING)
    tensors: list[Any] = [
        None if shape is None else torch.empty(shape, dtype=DTYPE[str(case.dtypes[slot])], device="meta")
        for slot, shape in case.shapes.items()
    ]
    if not tensors:
        with contextlib.suppress(*ON_PURPOSE):
            _call(spec, params, tensors)
        return
    at = data.draw(st.integers(0, len(tensors) - 1))
    tensors[at] = data.draw(ANYTHING)
    try:
        _call(spec, params, tensors)
    except ON_PURPOSE:
        return
    assert tensors[at] is None and list(spec.inputs.values())[at].optional


@pytest.mark.parametrize("name", sorted(HARD))
@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data())
def test_rules_that_guard_nothing(name: str, data: st.DataObject) -> None:
    """The hard entries have rules such as `H % H_kv == 0`, for which zero is an error of Python."""
    params, tensors = data.draw(calls(HARD[name]))
    made = functions(f"hard.{name}")
    inputs = tensors if HARD[name].inputs else [torch.device("meta")]
    with contextlib.suppress(CallError):
        made.params(*params.values())
        device, outputs = made.outputs(*inputs, *params.values())
        assert device.type == "meta"
        assert len(outputs) == len(HARD[name].outputs)
        made.facts(*inputs, *params.values())


def test_a_rule_that_cannot_be_evaluated_says_so() -> None:
    spec = HARD["GroupedQueryAttentionDecodePagedWithKVCacheFwdOp"]
    shapes, dtypes = [(3, 4, 8), (6, 0, 8), (6, 0, 8), (3,), (3, 1)], ["float16"] * 3 + ["int32"] * 2
    tensors = [torch.empty(s, dtype=DTYPE[d], device="meta") for s, d in zip(shapes, dtypes, strict=True)]
    says = r"H must be a multiple of H_kv \[H % H_kv == 0\]: .*by zero \(got H=4, H_kv=0\)"
    with pytest.raises(CallError, match=says):
        functions(f"hard.{spec.name}").outputs(*tensors, 1)


def test_a_rule_comes_before_what_it_guards() -> None:
    """`N` reads the axis that `dim` names; the rule that refuses `dim` speaks first."""
    with pytest.raises(CallError, match=r"dim must lie in \[-rank, rank\)"):
        tileops.SoftmaxFwdOp(dim=5)(torch.empty(2, 3, device="meta"))


def test_a_shape_function_says_what_is_wrong() -> None:
    with pytest.raises(CallError, match=r"SumFwdOp.*dim 5 is out of range for 2 dimensions \(got .*dim=5"):
        tileops.SumFwdOp(dim=5)(torch.empty(2, 3, device="meta"))
    with pytest.raises(CallError, match="names an axis twice"):
        tileops.SumFwdOp(dim=(0, -2))(torch.empty(2, 3, device="meta"))
