"""Gradients: whose entry names a backward, what needs none, transforms of `torch.func`."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, func
from torch.autograd import forward_ad

import tileops

NORM = tileops.BatchNormFwdOp(training=True)
DROP = tileops.DropoutFwdOp(p=0.25)
ATTENTION = tileops.MultiHeadAttentionFwdOp()
X, WEIGHT = torch.randn(4, 3), torch.randn(4, 3)
Q, K, V = torch.randn(3, 1, 4, 2, 16).bfloat16()


def normalized(x: Tensor) -> Tensor:
    return (NORM(x) * WEIGHT).sum()


def normalized_by_torch(x: Tensor) -> Tensor:
    return (F.batch_norm(x, None, None, training=True) * WEIGHT).sum()


def attended(q: Tensor, k: Tensor) -> Tensor:
    return ATTENTION(q, k, V).float().square().sum()


def test_an_absent_tensor_has_no_gradient() -> None:
    x = torch.randn(4, 3, 5, requires_grad=True)
    tileops.BatchNormFwdOp(training=True)(x).sum().backward()
    assert x.grad is not None and x.grad.abs().max() < 1e-4  # the sum of normalized values is constant


@pytest.mark.parametrize(
    ("name", "count"),
    [("Argmax", 1), ("Isnan", 1), ("Any", 1), ("CountNonzero", 1), ("Eq", 2), ("LogicalAnd", 2)],
)
def test_results_that_are_no_floats_need_no_backward(name: str, count: int) -> None:
    op = getattr(tileops, f"{name}FwdOp")()
    weights = [torch.tensor([1.0, 0.0, 2.0], requires_grad=True) for _ in range(count)]
    want = op(*(w.detach() for w in weights))
    got = op(*weights)
    assert torch.equal(got, want) and not got.requires_grad
    with forward_ad.dual_level():
        dual = [forward_ad.make_dual(w.detach(), torch.ones(3)) for w in weights]
        assert torch.equal(op(*dual), want)
    torch.compiler.reset()
    assert torch.equal(torch.compile(op, fullgraph=True, backend="aot_eager")(*weights), want)


def test_one_result_of_floats_needs_a_backward() -> None:
    x = torch.randn(2, 5, requires_grad=True)
    with pytest.raises(NotImplementedError, match="has no backward, and an input requires a gradient"):
        tileops.MaxPool1dIndicesFwdOp(kernel_size=2)(x[None])
    for view in (x, x[:1], x.t()):
        before = view.detach().clone()
        with pytest.raises(NotImplementedError, match="ReluFwdOp has no backward"):
            tileops.ReluFwdOp(inplace=True)(view)
        assert torch.equal(view, before)


def test_transforms_find_gradients() -> None:
    want = func.grad(normalized_by_torch)(X)
    torch.testing.assert_close(func.grad(normalized)(X), want)
    (got,) = func.vjp(normalized, X)[1](torch.ones(()))
    torch.testing.assert_close(got, want)
    batch = torch.stack([X, -X, X * X])
    got, want = (func.vmap(func.grad(f))(batch) for f in (normalized, normalized_by_torch))
    torch.testing.assert_close(got, want)
    torch.testing.assert_close(func.jacrev(NORM)(X), torch.autograd.functional.jacobian(NORM, X))
    torch.compiler.reset()
    compiled = torch.compile(func.grad(normalized), fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(X), func.grad(normalized)(X))


def test_transforms_find_gradients_of_several_tensors() -> None:
    q, k = (t.clone().requires_grad_() for t in (Q, K))
    want = torch.autograd.grad(attended(q, k), (q, k))
    assert all(map(torch.equal, func.grad(attended, argnums=(0, 1))(Q, K), want))


def test_transforms_keep_statistics_up() -> None:
    running, want = ((torch.zeros(3), torch.ones(3)) for _ in range(2))
    func.grad(lambda x: NORM(x, *running).square().sum())(X)
    NORM(X, *want)
    assert all(map(torch.equal, running, want))


def test_what_is_linear_has_gradients_of_every_order() -> None:
    def cubes(x: Tensor) -> Tensor:
        return (DROP(x, seed=1) ** 3).sum()

    kept = DROP(torch.ones_like(X), seed=1)
    second = func.grad(lambda x: func.grad(cubes)(x).sum())(X)
    torch.testing.assert_close(second, 6 * kept**3 * X)
    x = X.clone().requires_grad_()
    (first,) = torch.autograd.grad(cubes(x), x, create_graph=True)
    torch.testing.assert_close(torch.autograd.grad(first.sum(), x)[0], second)


@pytest.mark.parametrize("transformed", [False, True])
@pytest.mark.parametrize(
    ("name", "function", "x"),
    [("BatchNormFwdOp", normalized, X), ("MultiHeadAttentionFwdOp", lambda q: attended(q, K), Q)],
)
def test_a_second_derivative_names_the_operator(
    name: str, function: Any, x: Tensor, transformed: bool
) -> None:
    with pytest.raises(NotImplementedError, match=f"{name} can be differentiated once"):
        if transformed:
            func.grad(lambda x: func.grad(function)(x).square().sum())(x)
        x = x.clone().requires_grad_()
        (first,) = torch.autograd.grad(function(x), x, create_graph=True)
        torch.testing.assert_close(first, func.grad(function)(x.detach()))
        first.square().sum().backward()


@pytest.mark.parametrize(
    ("name", "function", "x"),
    [
        ("BatchNormFwdOp", normalized, X),
        ("DropoutFwdOp", lambda x: DROP(x, seed=1), X),
        ("MultiHeadAttentionFwdOp", lambda q: attended(q, K), Q),
    ],
)
def test_a_forward_derivative_names_the_operator(name: str, function: Any, x: Tensor) -> None:
    def total(x: Tensor) -> Any:
        return function(x).sum()

    says = f"{name} has no forward-mode derivative"
    with pytest.raises(NotImplementedError, match=says), forward_ad.dual_level():
        function(forward_ad.make_dual(x, torch.ones_like(x)))
    with pytest.raises(NotImplementedError, match=says):
        func.jvp(function, (x,), (x,))
    with pytest.raises(NotImplementedError, match=says):
        func.jvp(func.grad(total), (x,), (x,))
