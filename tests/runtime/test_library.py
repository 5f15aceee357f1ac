"""Operators as PyTorch sees them: the schema, `torch.compile`, `torch.export`, tracing."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch._dynamo.testing import CompileCounter
from torch.fx.experimental.proxy_tensor import make_fx

import tileops
from tileops.errors import CallError
from tileops.op import Op

X, W = torch.randn(4, 64), torch.randn(64)
HALF = torch.float16


def half(*shape: int) -> torch.Tensor:
    return torch.randn(*shape).to(HALF)


def attention_inputs(length: int) -> tuple[torch.Tensor, ...]:
    return half(1, 2, 2, 64), half(1, length, 1, 64), half(1, length, 1, 64)


# The operator, tensors for a length, and what PyTorch has for it where that is one call.
OPS: dict[str, tuple[Op, Any]] = {
    "RMSNormFwdOp": (tileops.RMSNormFwdOp(normalized_shape=(64,)), lambda n: (torch.randn(n, 64), W)),
    "LayerNormFwdOp": (
        tileops.LayerNormFwdOp(normalized_shape=(64,)),
        lambda n: (torch.randn(n, 64), None, W),
    ),
    "FusedAddRMSNormFwdOp": (tileops.FusedAddRMSNormFwdOp(), lambda n: (*torch.randn(2, n, 64), W)),
    "SoftmaxFwdOp": (tileops.SoftmaxFwdOp(dim=-1), lambda n: (torch.randn(6, n),)),
    "GemmFwdOp": (tileops.GemmFwdOp(trans_b=False), lambda n: (half(n, 64), half(64, 48))),
    "GroupedQueryAttentionDenseFwdOp": (
        tileops.GroupedQueryAttentionDenseFwdOp(is_causal=True),
        attention_inputs,
    ),
}


@pytest.fixture(autouse=True)
def _fresh_compiler():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def same(got: Any, want: Any) -> None:
    got, want = (x if isinstance(x, tuple) else (x,) for x in (got, want))
    assert len(got) == len(want)
    assert all(torch.equal(a, b) for a, b in zip(got, want, strict=True))


def overload(op: Op) -> Any:
    return getattr(torch.ops.tileops, op.spec.torch_name).default


def test_schemas_have_every_param_and_no_default() -> None:
    assert str(overload(OPS["RMSNormFwdOp"][0])._schema) == (
        "tileops::rms_norm(Tensor x, Tensor? weight, SymInt[] normalized_shape, float eps, "
        "str? target, str? implementation) -> Tensor"
    )
    assert str(overload(OPS["FusedAddRMSNormFwdOp"][0])._schema) == (
        "tileops::fused_add_rms_norm(Tensor x, Tensor residual, Tensor weight, float eps, "
        "str? target, str? implementation) -> (Tensor, Tensor)"
    )
    for op, _ in OPS.values():
        schema = overload(op)._schema
        names = [*op.spec.inputs, *op.spec.params, "target", "implementation"]
        assert [argument.name for argument in schema.arguments] == names
        assert not any(argument.has_default_value() for argument in schema.arguments)


@pytest.mark.parametrize("name", OPS)
def test_opcheck(name: str) -> None:
    op, tensors = OPS[name]
    params = [list(v) if isinstance(v, tuple) else v for v in op.params.values()]
    inputs = tensors(5)
    absent = [None] * (len(op.spec.inputs) - len(inputs))
    torch.library.opcheck(overload(op), (*inputs, *absent, *params, None, None))


def test_opcheck_of_a_view() -> None:
    torch.library.opcheck(overload(OPS["RMSNormFwdOp"][0]), (torch.randn(64, 5).T, W, [64], 1e-6, None, None))


def test_params_reach_the_operator_as_lists() -> None:
    same(torch.ops.tileops.rms_norm(X, W, [64], 1e-6, None, None), OPS["RMSNormFwdOp"][0](X, W))
    same(
        torch.ops.tileops.rms_norm(X.view(4, 8, 8), None, [8, 8], 1e-6, None, None).view(4, 64),
        OPS["RMSNormFwdOp"][0](X),
    )
    # An integer where a float belongs, and the name of an implementation.
    torch.testing.assert_close(
        torch.ops.tileops.rms_norm(X, W, [64], 1, None, "long_rows"), F.rms_norm(X, (64,), W, 1.0)
    )


def test_the_operator_refuses_what_the_class_refuses() -> None:
    rms_norm = torch.ops.tileops.rms_norm
    for call, message in [
        (lambda: rms_norm(X, W, [63], 1e-6, None, None), r"x must have shape \[\*B \*normalized_shape\]"),
        (
            lambda: rms_norm(X, W, [64], 1e-6, None, "fast"),
            r"implementation='fast' does not exist; there are 'rows'",
        ),
        (lambda: rms_norm(X, None, [], 1e-6, None, None), r"normalized_shape must name at least one axis"),
        (lambda: rms_norm(X.double(), W, [64], 1e-6, None, None), r"x must have dtype"),
    ]:
        with pytest.raises(CallError, match=f"^RMSNormFwdOp: {message}"):
            call()


# ------------------------------------------------------------------------------------------ torch.compile
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", OPS)
def test_compiles_whole_and_again_only_to_make_a_length_dynamic(
    name: str, dynamic: bool | None, cold: None
) -> None:
    op, tensors = OPS[name]
    counter = CompileCounter()
    compiled = torch.compile(lambda *t: op(*t), fullgraph=True, dynamic=dynamic, backend=counter)
    for length in (3, 4, 5, 8, 13):
        inputs = tensors(length)
        same(compiled(*inputs), op(*inputs))
    assert counter.frame_count == (1 if dynamic else 2)


def test_inductor_runs_the_operator_between_its_own_kernels(cold: None) -> None:
    op, _ = OPS["FusedAddRMSNormFwdOp"]

    def block(x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        y, total = op(x * 2, residual, W)
        return y + total.sin()

    compiled = torch.compile(block, fullgraph=True)
    for n in (3, 4):
        x, residual = torch.randn(2, n, 64)
        torch.testing.assert_close(compiled(x, residual), block(x, residual))


def test_a_view_gives_the_same_under_compile() -> None:
    op, _ = OPS["RMSNormFwdOp"]
    compiled = torch.compile(lambda x: op(x.T, W), fullgraph=True, backend="aot_eager")
    x = torch.randn(64, 5)
    same(compiled(x), op(x.T, W))


def test_the_chosen_implementation_is_in_the_graph() -> None:
    op = tileops.RMSNormFwdOp(normalized_shape=(64,), implementation="long_rows")
    seen: list[Any] = []

    def backend(graph: torch.fx.GraphModule, example: Any) -> Any:
        seen.extend(node.args[-1] for node in graph.graph.nodes if node.op == "call_function")
        return graph

    result = torch.compile(lambda x: op(x, W), fullgraph=True, backend=backend)(X)
    assert seen == ["long_rows"]
    same(result, op(X, W))


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(64))
        self.norm = tileops.RMSNormFwdOp(normalized_shape=(64,))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x, self.weight) * 2


def test_a_module_compiles_without_gradients_and_is_refused_with_them() -> None:
    block = Block()
    compiled = torch.compile(block, fullgraph=True, backend="aot_eager")
    with torch.no_grad():
        same(compiled(X), block(X))
    with pytest.raises(Exception, match="RMSNormFwdOp has no backward"):
        compiled(X)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tileops.ReluFwdOp()(x),
        lambda x: tileops.RMSNormFwdOp(normalized_shape=[x.shape[-1]], implementation="long_rows")(x, W),
        lambda x: tileops.SinusoidalFwdOp(seq_len=4, d_model=64, dtype=torch.float32)(device="cpu") + x,
        lambda x: tileops.DropoutFwdOp(p=0.25, target="cpu")(x, seed=3),
    ],
)
def test_a_compiled_function_constructs_operators(function: Any, cold: None) -> None:
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    for _ in range(2):
        same(compiled(X), function(X))


def test_a_wrong_operator_in_a_compiled_function_says_so() -> None:
    wrong = torch.compile(lambda x: tileops.SoftmaxFwdOp(dim="rows")(x), fullgraph=True, backend="eager")
    with pytest.raises(Exception, match=r"SoftmaxFwdOp: dim must be int \| None, got 'rows' of type str"):
        wrong(X)


def test_a_wrong_call_in_a_compiled_function_says_so() -> None:
    op, _ = OPS["RMSNormFwdOp"]
    with pytest.raises(Exception, match=r"RMSNormFwdOp: x must have shape .* got \(4, 63\)"):
        torch.compile(lambda x: op(x, W), fullgraph=True, backend="eager")(X[:, :63])
    specified = tileops.MoeUnpermuteFwdOp()
    pairs = [torch.zeros(12, 16).half(), torch.zeros(10, dtype=torch.int32), torch.zeros(5, 2)]
    with pytest.raises(Exception, match="MoeUnpermuteFwdOp is specified and not yet implemented"):
        torch.compile(lambda *tensors: specified(*tensors), fullgraph=True, backend="eager")(*pairs)


@pytest.mark.parametrize("strict", [False, True])
def test_export_keeps_the_batch_dynamic(strict: bool) -> None:
    block = Block().requires_grad_(False)
    shapes = {"x": {0: torch.export.Dim("n")}}
    program = torch.export.export(block, (X,), dynamic_shapes=shapes, strict=strict)
    assert overload(block.norm) in [node.target for node in program.graph.nodes]
    for n in (2, 9):
        x = torch.randn(n, 64)
        same(program.module()(x), block(x))


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_make_fx_records_the_operator(mode: str) -> None:
    op, _ = OPS["RMSNormFwdOp"]
    graph = make_fx(lambda x, weight: op(x, weight), tracing_mode=mode)(X, W)
    assert overload(op) in [node.target for node in graph.graph.nodes]
    x = torch.randn(4, 64)
    same(graph(x, W), op(x, W))


def test_jit_trace_records_the_operator() -> None:
    op, _ = OPS["RMSNormFwdOp"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(lambda x: op(x, W), (X,))
    x = torch.randn(7, 64)
    same(traced(x), op(x, W))
