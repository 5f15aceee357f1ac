"""Sizes are bound, checked and solved as the patterns say, by the code that calls execute."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.spec.hard import HARD, SPECS, arguments, functions, meta, shapes_of
from tileops.compiled import DTYPE, compile_functions
from tileops.errors import CallError
from tileops.spec import bind_case, read_file
from tileops.spec.cases import RuleBroken
from tileops.spec.functions import folded
from tileops.spec.params import ParamType

CASES = [(key, n) for key, spec in SPECS.items() for n in range(len(spec.cases))]
IDS = [f"{key}-{n}" for key, n in CASES]


def test_the_twelve_hard_operators_are_here() -> None:
    assert len(HARD) == 17  # and what the language learned since


@pytest.mark.parametrize(("key", "n"), CASES, ids=IDS)
def test_generated_code_binds_what_the_case_says(key: str, n: int) -> None:
    spec, bound_rows = SPECS[key], 0
    for row in spec.rows:
        try:
            case = bind_case(spec, spec.cases[n], row=row)
        except RuleBroken:
            continue
        bound_rows += 1
        facts = functions(key).facts(*arguments(spec, case))
        _, outputs = functions(key).outputs(*arguments(spec, case))
        assert [tuple(shape) for shape, *_ in outputs] == list(case.outputs.values())
        assert [dtype for _, dtype, *_ in outputs] == [DTYPE[str(case.dtypes[name])] for name in case.outputs]
        assert {name: _plain(value) for name, value in facts["names"].items()} == case.names
        assert {slot: _plain(shape) for slot, shape in facts["shapes"].items()} == {
            **case.shapes,
            **case.outputs,
        }
    assert bound_rows


def _plain(value: Any) -> Any:
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    return tuple(value) if isinstance(value, tuple) else value


@pytest.mark.parametrize(("key", "n"), CASES, ids=IDS)
def test_another_size_is_refused_or_free(key: str, n: int) -> None:
    """One size of one tensor changed: the call is refused, or what it binds gives just these shapes."""
    spec = SPECS[key]
    case = bind_case(spec, spec.cases[n])
    for slot, shape in case.shapes.items():
        for axis in range(len(shape or ())):
            for change in (1, -1):
                changed = list(shape or ())
                changed[axis] += change
                if changed[axis] >= 0:
                    _refused_or_consistent(key, n, {**case.shapes, slot: tuple(changed)})
        if shape is not None:
            with pytest.raises(CallError) if _fixed_rank(key, slot) else _nothing():
                _refused_or_consistent(key, n, {**case.shapes, slot: (*shape, 1)}, quiet=False)


class _nothing:
    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> bool:
        return error[0] is not None and issubclass(error[0], CallError)  # type: ignore[arg-type]


def _fixed_rank(key: str, slot: str) -> bool:
    return "*" not in SPECS[key].inputs[slot].shape.replace("T*K", "")


def _refused_or_consistent(key: str, n: int, shapes: dict[str, Any], quiet: bool = True) -> None:
    spec = SPECS[key]
    case = bind_case(spec, spec.cases[n])
    tensors = [meta(shape, case.dtypes[slot]) for slot, shape in shapes.items()]
    arguments_ = [*tensors, *arguments(spec, case)[len(tensors) :]]
    try:
        facts = functions(key).facts(*arguments_)
    except CallError:
        if quiet:
            return
        raise
    sizes = {name: list(v) if isinstance(v, tuple) else v for name, v in facts["names"].items()}
    for name in [
        *spec.let,
        *(name for name, v in facts["names"].items() if v is None or isinstance(v, torch.dtype)),
    ]:
        sizes.pop(name, None)
    again = bind_case(spec, {**spec.cases[n], **sizes})
    assert again.shapes == shapes
    assert {slot: tuple(facts["shapes"][slot]) for slot in spec.outputs} == again.outputs


GQA = [(2, 3, 4, 8), (2, 5, 2, 8), (2, 5, 2, 8), None, None, None]
REFUSED: list[tuple[str, list[Any], dict[str, Any], str]] = [
    ("GemmFp8FwdOp", [(2, 3), (4, 5), (1, 1), (1, 1), None], {}, r"b .*\[N K\] with K = 3"),
    ("MHCPreFwdOp", [(8, 8), (3, 8), (8,), (4,)], {}, r"alpha .*\[3\] with 3, got \(4,\)"),
    ("MoeUnpermuteFwdOp", [(12, 4), (11,), (5, 2), None], {}, r"fwd_idx .*T\*K = 10, got \(11,\)"),
    ("MeanPoolingFwdOp", [(1, 9, 2, 4), (0,), (5, 2)], {"chunk_size": 2}, r"offsets .*no N\+1 is 0"),
    ("MeanPoolingFwdOp", [(1, 9, 2, 4), None, None], {"chunk_size": 0}, "chunk_size must be positive"),
    ("ClampFwdOp", [(2, 3), None, None], {}, "give min, max or both"),
    ("ClampFwdOp", [(2, 3), (2,), None], {}, r"\(2, 3\), \(2,\).* do not broadcast"),
    ("GroupedGemmFwdOp", [(7, 3), (2, 4, 3), (2,), (2,)], {"transpose_b": False}, "b .*with K = 3"),
    ("GroupedGemmFwdOp", [(7, 3), (4, 3), (2,), (2,)], {}, "b must have 3 dimensions"),
    (
        "GroupedQueryAttentionDenseFwdOp",
        [*GQA, (6, 3), (6, 3)],
        {"pos_encoding_mode": "rope"},
        r"R//2 = 4, got",
    ),
    (
        "GroupedQueryAttentionDenseFwdOp",
        [*GQA, None, (6, 4)],
        {"pos_encoding_mode": "rope"},
        "tables go with",
    ),
    (
        "GroupedQueryAttentionDenseFwdOp",
        [*GQA, (6, 4), (7, 4)],
        {"pos_encoding_mode": "rope"},
        "rope_sin .*L = 6",
    ),
]


@pytest.mark.parametrize(("name", "shapes", "params", "says"), REFUSED)
def test_refused(name: str, shapes: list[Any], params: dict[str, Any], says: str) -> None:
    spec = HARD[name]
    dtypes = bind_case(spec, spec.cases[0], row=spec.rows[0]).dtypes
    other = dtypes.get("o", "bfloat16")
    tensors = [meta(shape, dtypes[slot] or other) for slot, shape in zip(spec.inputs, shapes, strict=True)]
    with pytest.raises(CallError, match=says):
        shapes_of(f"hard.{name}", tensors, params)


@given(st.integers(1, 40), st.integers(0, 40))
def test_a_linear_size_is_solved(offsets: int, chunks: int) -> None:
    tensors = [meta((1, 9, 2, 4), "float32"), meta((offsets,), "int32"), meta((chunks, 2), "int32")]
    facts = functions("hard.MeanPoolingFwdOp").facts(*tensors, 2)
    assert facts["names"]["N"] == offsets - 1
    assert tuple(facts["shapes"]["output"]) == (1, chunks, 2, 4)


@settings(deadline=None)
@given(st.integers(0, 9), st.integers(0, 9), st.booleans(), st.integers(-1, 9), st.integers(-1, 9))
def test_visible_counts_pairs(rows: int, columns: int, causal: bool, left: int, right: int) -> None:
    from tileops.spec.functions import visible

    def sees(i: int, j: int) -> bool:
        at = i + columns - rows
        ahead = 0 if causal else right
        return (left < 0 or j >= at - left) and (ahead < 0 or j <= at + ahead)

    pairs = sum(sees(i, j) for i in range(rows) for j in range(columns))
    assert visible(rows, columns, causal, left, right) == pairs


@pytest.mark.parametrize("dtype", sorted(DTYPE))
def test_promotion(dtype: str) -> None:
    """As PyTorch promotes for a true division, for the dtypes that the operator takes."""
    taken = HARD["ReciprocalFwdOp"].inputs["x"].dtype.split(" | ")
    tensor = meta((2, 3), dtype)
    if dtype not in taken:
        with pytest.raises(CallError, match="x must have dtype"):
            shapes_of("hard.ReciprocalFwdOp", [tensor])
        return
    assert shapes_of("hard.ReciprocalFwdOp", [tensor]) == [((2, 3), torch.reciprocal(tensor).dtype)]


@pytest.mark.parametrize("dtype", ["float16", "uint8", "complex64", "bool"])
def test_promotion_of_reductions(dtype: str) -> None:
    tensor = torch.ones(2, 3, dtype=DTYPE[dtype])
    found = [d for _, d in shapes_of("hard.AnyFwdOp", [tensor])]
    assert found == [torch.any(tensor).dtype, torch.sum(tensor).dtype]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(shape=st.lists(st.integers(0, 3), max_size=5), data=st.data())
def test_folded_keeps_the_order_of_the_elements(shape: list[int], data: st.DataObject) -> None:
    """A reduction of the folded view over its odd axes is the reduction."""
    dim = data.draw(st.sets(st.integers(0, max(len(shape) - 1, 0))).map(tuple))
    x = torch.randint(9, shape)
    sizes = folded(shape, dim)
    assert len(sizes) >= 3 and len(sizes) % 2 == 1 and 1 not in sizes[2:-1:2]
    assert torch.equal(x.view(sizes).sum(tuple(range(1, len(sizes), 2))).flatten(), x.sum(dim).flatten())


def test_a_call_without_tensors_takes_a_device() -> None:
    make = functions("hard.AlibiFwdOp")
    device, outputs = make.outputs(torch.device("meta"), 5, 2, torch.float16)
    assert (device.type, outputs) == ("meta", (((2, 5, 5), torch.float16),))
    with pytest.raises(CallError, match="sizes must be positive"):
        make.params(0, 2, torch.float16)
    with pytest.raises(CallError, match="dtypes output int32 do not go together"):
        make.outputs(torch.device("meta"), 5, 2, torch.int32)


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("int | float", "Scalar"),
        ("bool | int | float | None", "Scalar?"),
        ("int | tuple[int, ...]", "SymInt[]"),
        ("int | tuple[int, ...] | str", "SymInt[]"),
    ],
)
def test_what_a_schema_calls_a_union(text: str, schema: str) -> None:
    assert ParamType.parse(text).schema == schema


@pytest.mark.parametrize("value", ["same", "", 3, (1, 2), ()])
def test_a_string_travels_as_a_list_where_a_tuple_may_stand(value: object) -> None:
    kind = ParamType.parse("int | tuple[int, ...] | str")
    sent = kind.encode(value)
    assert isinstance(sent, list) and all(isinstance(number, int) for number in sent)
    came = kind.decode(sent)
    assert (came if isinstance(value, str) else tuple(came)) == (
        (value,) if isinstance(value, int) else value
    )


def test_sizes_of_an_absent_input_delay_no_let_and_no_rule(tmp_path: Path) -> None:
    path = tmp_path / "toy.yaml"
    path.write_text(
        """
ToyOp:
  family: toy
  status: spec-only
  signature:
    inputs:
      x: {dtype: float32, shape: "B 2*H"}
      y: {dtype: float32, shape: "N+1", optional: true}
    params: {c: {type: int, default: 1}}
    outputs: {z: {dtype: same_as(x), shape: "B D"}}
    let: {D: "H * c", M: "N if given(y) else 0"}
    shape_rules: [{rule: "c > 0 and H > 1", message: "no"}]
  roofline: {flops: "M"}
  cases: [{B: 1, H: 2, N: 3}]
"""
    )
    made = compile_functions(read_file(path)["ToyOp"])
    x, y = torch.zeros(3, 8), torch.zeros(5)
    for optional, m in ((y, 4), (None, 0)):
        assert made.facts(x, optional, 3)["names"] == {
            "B": 3,
            "H": 4,
            "c": 3,
            "D": 12,
            "M": m,
            "N": m or None,
        }
        for size, c in ((8, 0), (2, 1)):
            with pytest.raises(CallError, match="ToyOp: no"):
                made.outputs(torch.zeros(3, size), optional, c)
