"""Operators with a twin in PyTorch give its shapes and dtypes on meta tensors, and refuse what it refuses."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.spec.hard import meta, shapes_of
from tileops.errors import CallError

FLOATS = st.sampled_from(["float16", "bfloat16", "float32"])
SIZES = st.integers(1, 9)
Draw = Callable[..., Any]


def agree(key: str, tensors: list[Any], params: dict[str, Any], twin: Callable[[], Any]) -> None:
    """Same shapes and dtypes, or both refuse."""
    try:
        want = twin()
    except (RuntimeError, IndexError, ValueError, TypeError) as error:
        with pytest.raises(CallError):
            shapes_of(key, tensors, params)
            pytest.fail(f"PyTorch refuses: {error}")
        return
    outputs = want if isinstance(want, tuple) else (want,)
    assert shapes_of(key, tensors, params) == [(tuple(o.shape), o.dtype) for o in outputs]


def several(n: int, values: st.SearchStrategy[int]) -> st.SearchStrategy[Any]:
    """One value for all dimensions, or one for each."""
    return values | st.lists(values, min_size=n, max_size=n).map(tuple)


@st.composite
def broadcastable(draw: Draw, count: int) -> list[tuple[int, ...]]:
    """Shapes that mostly broadcast: 1 or a common size in each dimension, now and then another size."""
    whole = draw(st.lists(st.integers(0, 4), max_size=4))
    shapes = []
    for _ in range(count):
        shape = [draw(st.sampled_from([size, size, 1, 3])) for size in whole]
        shapes.append(tuple(shape[draw(st.integers(0, len(shape))) :]))
    return shapes


@pytest.mark.parametrize(
    ("key", "n"), [("hard.AvgPool1dFwdOp", 1), ("pool.AvgPool2dFwdOp", 2), ("hard.AvgPool3dFwdOp", 3)]
)
@settings(max_examples=80, deadline=None, derandomize=True)
@given(data=st.data())
def test_avg_pool(key: str, n: int, data: st.DataObject) -> None:
    size = data.draw(st.lists(SIZES, min_size=n, max_size=n))
    x = meta((data.draw(st.integers(0, 2)), data.draw(SIZES), *size), data.draw(FLOATS))
    params = {
        "kernel_size": data.draw(several(n, st.integers(1, 6))),
        "stride": data.draw(st.none() | several(n, st.integers(1, 4))),
        "padding": data.draw(several(n, st.integers(0, 3))),
        "ceil_mode": data.draw(st.booleans()),
    }
    twin = getattr(F, f"avg_pool{n}d")
    agree(key, [x], params, lambda: twin(x, **params))


@pytest.mark.parametrize("key", ["hard.SumFwdOp", "reduction.SumFwdOp"])
@settings(max_examples=80, deadline=None, derandomize=True)
@given(data=st.data())
def test_sum(key: str, data: st.DataObject) -> None:
    x = meta(data.draw(st.lists(st.integers(0, 4), max_size=4)), data.draw(FLOATS))
    dims = st.integers(-5, 4)
    dim = data.draw(st.none() | dims | st.lists(dims, max_size=3).map(tuple))
    keepdim = data.draw(st.booleans())
    agree(key, [x], {"dim": dim, "keepdim": keepdim}, lambda: torch.sum(x, dim=dim, keepdim=keepdim))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(shapes=broadcastable(3), absent=st.sampled_from([(), (1,), (2,), (1, 2)]))
def test_clamp(shapes: list[Any], absent: tuple[int, ...]) -> None:
    x, low, high = (None if n in absent else meta(shape, "float16") for n, shape in enumerate(shapes))
    agree("hard.ClampFwdOp", [x, low, high], {}, lambda: torch.clamp(x, low, high))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(shapes=broadcastable(2), dtype=st.sampled_from(["float16", "float32", "int32"]))
def test_true_division(shapes: list[Any], dtype: str) -> None:
    x, y = (meta(shape, dtype) for shape in shapes)
    agree("hard.DivFwdOp", [x, y], {}, lambda: torch.true_divide(x, y))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(data=st.data())
def test_conv2d(data: st.DataObject) -> None:
    groups = data.draw(st.integers(1, 3))
    c_in, c_out = (
        groups * data.draw(st.integers(1, 3)) + data.draw(st.sampled_from([0, 0, 0, 1])) for _ in "io"
    )
    kernel = data.draw(st.lists(st.integers(1, 4), min_size=2, max_size=2))
    x = torch.zeros(
        data.draw(SIZES), c_in, data.draw(SIZES), data.draw(SIZES)
    )  # on meta, it refuses too little
    weight = torch.zeros(c_out, max(c_in // groups, 1), *kernel)
    bias = data.draw(st.sampled_from([None, torch.zeros(c_out), torch.zeros(c_out + 1)]))
    params = {
        "stride": data.draw(several(2, st.integers(1, 3))),
        "padding": data.draw(st.sampled_from(["same", "valid"]) | several(2, st.integers(0, 3))),
        "dilation": data.draw(several(2, st.integers(1, 3))),
        "groups": groups,
    }
    agree("hard.Conv2dFwdOp", [x, weight, bias], params, lambda: F.conv2d(x, weight, bias, **params))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=4), split=st.integers(1, 4), wrong=st.booleans()
)
@pytest.mark.parametrize("name", ["RMSNormFwdOp", "LayerNormFwdOp"])
def test_norms(name: str, shape: list[int], split: int, wrong: bool) -> None:
    normalized = tuple(shape[-split:])
    normalized = (*normalized[:-1], normalized[-1] + 1) if wrong else normalized
    x, weight = meta(shape, "float32"), meta(normalized, "float32")
    twin, rest = (F.rms_norm, []) if name == "RMSNormFwdOp" else (F.layer_norm, [weight])
    tensors = [x, weight, *rest]
    agree(
        f"normalization.{name}",
        tensors,
        {"normalized_shape": normalized},
        lambda: twin(x, normalized, weight, *rest),
    )


@settings(max_examples=60, deadline=None, derandomize=True)
@given(shape=st.lists(st.integers(0, 4), max_size=4), dim=st.none() | st.integers(-6, 5))
def test_softmax(shape: list[int], dim: int | None) -> None:
    x = torch.zeros(shape)  # not on meta, where PyTorch takes any dim of a scalar
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch advises against dim=None
        agree("reduction.SoftmaxFwdOp", [x], {"dim": dim}, lambda: F.softmax(x, dim=dim))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    sizes=st.lists(st.integers(0, 5), min_size=4, max_size=4), trans_a=st.booleans(), trans_b=st.booleans()
)
def test_matmul(sizes: list[int], trans_a: bool, trans_b: bool) -> None:
    m, n, k, other = sizes
    a = meta((k, m) if trans_a else (m, k), "float16")
    b = meta((n, other) if trans_b else (other, n), "float16")
    assert a is not None and b is not None
    left, right = a.T if trans_a else a, b.T if trans_b else b
    agree("gemm.GemmFwdOp", [a, b], {"trans_a": trans_a, "trans_b": trans_b}, lambda: left @ right)
