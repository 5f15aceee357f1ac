"""Calls that must not take the fast path: the right value, or the one clear error."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.autograd import forward_ad
from torch.func import functionalize, grad, jvp, vmap
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import tileops
from tileops import compiled

OP = tileops.RMSNormFwdOp(normalized_shape=(64,))
X, W = torch.randn(4, 64), torch.randn(64)
WANT = OP(X, W)
NO_BACKWARD = (
    r"^RMSNormFwdOp has no backward, and an input requires a gradient. Call it under torch.no_grad\(\)"
)


def test_the_reference_value() -> None:
    torch.testing.assert_close(WANT, F.rms_norm(X, (64,), W, 1e-6))


def test_a_plain_call_skips_the_dispatcher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tileops.Op, "_dispatch", lambda *_: pytest.fail("dispatched"))
    for x, weight in (
        (X, W),
        (X, None),
        (X, torch.nn.Parameter(W, requires_grad=False)),
        (X.T.contiguous().T, W),
    ):
        OP(x, weight)
    with torch.no_grad():
        OP(X.clone().requires_grad_(), torch.nn.Parameter(W))


# ------------------------------------------------------------------------------ who watches sees a call
def test_a_profiler_sees_it() -> None:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        result = OP(X, W)
    assert torch.equal(result, WANT)
    assert "tileops::rms_norm" in {event.key for event in profile.key_averages()}
    assert compiled.undisturbed()


def test_a_dispatch_mode_sees_it() -> None:
    seen = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    with Mode():
        result = OP(X, W)
    assert torch.equal(result, WANT)
    assert seen == [torch.ops.tileops.rms_norm.default]


def test_a_function_mode_sees_it() -> None:
    seen = []

    class Mode(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    with Mode():
        result = OP(X, W)
    assert torch.equal(result, WANT)
    assert torch.ops.tileops.rms_norm.default in seen


@pytest.mark.parametrize("device", ["meta", "cpu"])
def test_a_default_device_changes_nothing(device: str) -> None:
    with torch.device(device):
        assert torch.equal(OP(X, W), WANT)
        assert compiled.undisturbed()
        with torch.overrides.BaseTorchFunctionMode():
            assert not compiled.undisturbed()
            assert torch.equal(OP(X, W), WANT)


# --------------------------------------------------------------------------------------- other tensors
@pytest.mark.parametrize("inside", [True, False])
def test_fake_tensors_get_shape_and_dtype(inside: bool) -> None:
    mode = FakeTensorMode()
    x, weight = mode.from_tensor(X.half()), mode.from_tensor(W.half())
    specified = tileops.SumFwdOp(dim=0)
    if inside:
        with mode:
            results = OP(x, weight), specified(x)
    else:
        results = OP(x, weight), specified(x)
    for result, shape in zip(results, [(4, 64), (64,)], strict=True):
        assert isinstance(result, FakeTensor)
        assert (tuple(result.shape), result.dtype, result.device.type) == (shape, torch.float16, "cpu")
    assert OP.explain(x, weight).implementation == "rows"


def test_a_tensor_subclass_keeps_its_type() -> None:
    class Named(torch.Tensor):
        pass

    result = OP(X.as_subclass(Named), W)
    assert type(result) is Named
    assert torch.equal(result.as_subclass(torch.Tensor), WANT)


def test_a_subclass_that_overrides_functions_decides() -> None:
    class Logged(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func is torch.ops.tileops.rms_norm.default:
                return "mine"
            return super().__torch_function__(func, types, args, kwargs)

    assert OP(X.as_subclass(Logged), W) == "mine"


def test_a_negative_bit_is_resolved() -> None:
    x = torch.randn(4, 64, dtype=torch.cfloat).conj().imag
    assert x.is_neg()
    assert type(x) is torch.Tensor
    assert torch.equal(OP(x, W), OP(x.resolve_neg().clone(), W))


def test_a_conjugate_is_refused_by_its_dtype() -> None:
    with pytest.raises(tileops.CallError, match="got complex64"):
        OP(torch.randn(4, 64, dtype=torch.cfloat).conj(), W)


# --------------------------------------------------------------------------------- modes of computation
def test_inference_mode() -> None:
    with torch.inference_mode():
        x = X.clone()
        result = OP(x, W)
        assert torch.equal(result, WANT)
        assert result.is_inference()
    assert torch.equal(OP(x, W), WANT)


def test_autocast_casts_nothing() -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(OP(X, W), WANT)
        profiled = torch.ops.tileops.rms_norm(X, W, [64], 1e-6, None, None)
    assert torch.equal(profiled, WANT)


@pytest.mark.parametrize("which", ["x", "weight"])
def test_a_gradient_is_refused_and_not_lost(which: str) -> None:
    tensors = {"x": X.clone(), "weight": W.clone()}
    tensors[which].requires_grad_()
    with pytest.raises(NotImplementedError, match=NO_BACKWARD):
        OP(**tensors)
    with torch.no_grad():
        result = OP(**tensors)
    assert torch.equal(result, WANT)
    assert not result.requires_grad
    assert torch.equal(OP(**{name: t.detach() for name, t in tensors.items()}), WANT)


def test_a_forward_derivative_is_refused_and_not_lost() -> None:
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(X, torch.ones_like(X))
        with pytest.raises(NotImplementedError, match=NO_BACKWARD):
            OP(dual, W)
        assert torch.equal(OP(X, W), WANT)
    with pytest.raises(NotImplementedError, match=NO_BACKWARD):
        jvp(lambda x: OP(x, W), (X,), (X,))


def test_functional_gradients_are_refused() -> None:
    with pytest.raises(NotImplementedError, match=NO_BACKWARD):
        grad(lambda x: OP(x, W).sum())(X)
    with pytest.raises(NotImplementedError, match=NO_BACKWARD):
        vmap(grad(lambda x: OP(x, W).sum()))(X)


def test_vmap_and_functionalize_give_the_value() -> None:
    assert torch.equal(vmap(OP, in_dims=(0, None))(X, W), WANT)
    assert torch.equal(vmap(OP)(X, W.expand(4, 64)), WANT)
    assert torch.equal(functionalize(OP)(X, W), WANT)


def test_checkpointing_gives_the_value() -> None:
    result = torch.utils.checkpoint.checkpoint(OP, X, W, use_reentrant=False)
    assert torch.equal(result, WANT)


# ------------------------------------------------------------------------------------------- lifetimes
def dies(call) -> bool:
    x, weight = X.clone(), W.clone()
    refs = [weakref.ref(x), weakref.ref(weight)]
    result = call(x, weight)
    refs += [weakref.ref(result)] if isinstance(result, torch.Tensor) else []
    del x, weight, result
    gc.collect()
    return all(ref() is None for ref in refs)


def refused(x: torch.Tensor, weight: torch.Tensor) -> None:
    with pytest.raises(tileops.CallError):
        OP(x, weight.half())


def test_no_tensor_outlives_its_call() -> None:
    assert dies(OP)
    assert dies(lambda x, w: OP(x.T.contiguous().T, w))
    assert dies(lambda x, w: OP.explain(x, w) and None)
    assert dies(lambda x, w: OP._dispatch(x, w))
    assert dies(refused)
