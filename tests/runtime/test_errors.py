"""What a wrong call says, word for word, before any call worked and after one did."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tileops
from tileops.errors import CallError
from tileops.op import Op

X, W = torch.randn(2, 3, 64), torch.randn(64)
HALF = torch.float16
Q, KV = torch.zeros(1, 4, 4, 64, dtype=HALF), torch.zeros(1, 6, 2, 64, dtype=HALF)


def rms() -> Op:
    return tileops.RMSNormFwdOp(normalized_shape=(64,))


def attention(**params: Any) -> Op:
    return tileops.GroupedQueryAttentionDenseFwdOp(**params)


REFUSED = {
    "type": (rms, ([1.0], W), "RMSNormFwdOp: x must be a torch.Tensor, got list"),
    "type of an optional": (rms, (X, 2), "RMSNormFwdOp: weight must be a torch.Tensor or None, got int"),
    "required, absent": (rms, (None, W), "RMSNormFwdOp: x must be a torch.Tensor, got NoneType"),
    "rank": (
        tileops.GemmFwdOp,
        (torch.zeros(64, dtype=HALF), torch.zeros(2, 64, dtype=HALF)),
        "GemmFwdOp: a must have 2 dimensions [K M if trans_a else M K], got 1 in shape (64,)",
    ),
    "rank at least": (
        lambda: tileops.RMSNormFwdOp(normalized_shape=(3, 64)),
        (W,),
        "RMSNormFwdOp: x must have at least 2 dimensions [*B *normalized_shape], got 1 in shape (64,)",
    ),
    "dtype": (
        rms,
        (X.double(), W),
        "RMSNormFwdOp: x must have dtype float16 or bfloat16 or float32, got float64",
    ),
    "dtype of another": (
        rms,
        (X, W.half()),
        "RMSNormFwdOp: weight must have the dtype of x, float32, got float16",
    ),
    "dtype row": (
        lambda: attention(out_dtype=torch.bfloat16),
        (Q, KV, KV),
        "GroupedQueryAttentionDenseFwdOp: the dtypes q float16, o bfloat16 do not go together; "
        "supported rows: q float16, o float16; q bfloat16, o bfloat16; "
        "q float8_e4m3fn, o float16; q float8_e4m3fn, o bfloat16; out_dtype chooses",
    ),
    "size of a param": (
        rms,
        (X[..., :63], W),
        "RMSNormFwdOp: x must have shape [*B *normalized_shape] with *normalized_shape = (64,), "
        "got (2, 3, 63)",
    ),
    "size of another": (
        tileops.GemmFwdOp,
        (torch.zeros(4, 8, dtype=HALF), torch.zeros(5, 9, dtype=HALF)),
        "GemmFwdOp: b must have shape [N K if trans_b else K N] with K = 8, got (5, 9)",
    ),
    "device": (
        rms,
        (X, W.to("meta")),
        "RMSNormFwdOp: weight must be on the device of x, cpu, got meta",
    ),
    "rule": (
        lambda: attention(is_causal=True),
        (torch.zeros(1, 7, 4, 64, dtype=HALF), KV, KV),
        "GroupedQueryAttentionDenseFwdOp: causal attention and rope need S_q <= S_kv "
        "(got S_kv=6, S_q=7, is_causal=True)",
    ),
    "rule about presence": (
        attention,
        (Q, KV, KV, torch.ones(1, 2)),
        "GroupedQueryAttentionDenseFwdOp: give all of q_scale, k_scale and v_scale, or none",
    ),
    "rule about a param and a rank": (
        lambda: tileops.SoftmaxFwdOp(dim=3),
        (X,),
        "SoftmaxFwdOp: dim must lie in [-rank, rank) (got dim=3, input=(2, 3, 64))",
    ),
    "rule about sizes of an input": (
        lambda: tileops.MaxPool2dFwdOp(kernel_size=3),
        (X,),
        "MaxPool2dFwdOp: input must be (N, C, H, W) (got input=(2, 3, 64))",
    ),
    "rule about what is computed from params": (
        lambda: tileops.MaxPool1dFwdOp(kernel_size=99),
        (X,),
        "MaxPool1dFwdOp: the window is larger than the padded input (got input=(2, 3, 64), ceil_mode=False, "
        "dilation=1, kernel_size=99, padding=0, stride=None)",
    ),
    "numbers for other axes": (
        lambda: tileops.AdaptiveMaxPool2dFwdOp(output_size=(3,)),
        (X[None],),
        "AdaptiveMaxPool2dFwdOp: output_size must be one number, two of them, or None, got (3,)",
    ),
    "a number that does not fit 32 bits": (
        lambda: tileops.Conv1dFwdOp(padding=2**30),
        (X, X[:, :, :3]),
        "Conv1dFwdOp: padding must leave each size of the padded input less than 2**31, got 1073741824",
    ),
    "layout": (
        rms,
        (X.to_sparse(), W),
        "RMSNormFwdOp: x must be a strided tensor, got torch.sparse_coo",
    ),
}
NEVER_WORK = ("dtype row", "rank at least", "rule about a param and a rank")
WORKS: dict[Any, tuple[torch.Tensor, ...]] = {
    "RMSNormFwdOp": (X, W),
    "GemmFwdOp": (torch.zeros(4, 8, dtype=HALF), torch.zeros(5, 8, dtype=HALF)),
    "GroupedQueryAttentionDenseFwdOp": (Q, KV, KV),
    "SoftmaxFwdOp": (X,),
    "MaxPool2dFwdOp": (X[None],),
    "MaxPool1dFwdOp": (torch.zeros(2, 3, 99),),
}


def refusal(call) -> str:
    with pytest.raises(CallError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize("kind", REFUSED)
def test_a_wrong_call_says_what_came_and_what_is_needed(kind: str) -> None:
    make, tensors, message = REFUSED[kind]
    op = make()
    assert refusal(lambda: op(*tensors)) == message  # cold: this instance has not been called
    # Of some kinds an instance refuses every call: its params alone are wrong, or wrong for all ranks here.
    if (works := WORKS.get(type(op).__name__)) and kind not in NEVER_WORK:
        op(*works)
        assert refusal(lambda: op(*tensors)) == message


@pytest.mark.parametrize("kind", [kind for kind in REFUSED if kind != "layout"])
def test_explain_build_and_validate_refuse_with_the_same_words(kind: str) -> None:
    make, tensors, message = REFUSED[kind]
    op = make()
    for ask in (op.explain, op.build, op.validate):
        assert refusal(lambda ask=ask: ask(*tensors)) == message


def test_the_number_of_tensors_is_pythons_own_error() -> None:
    with pytest.raises(TypeError, match=r"takes from 2 to 3 positional arguments but 4 were given"):
        rms()(X, W, W)
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'x'"):
        rms()()
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'bias'"):
        rms()(X, bias=W)
    for ask in (rms().explain, rms().build, rms().validate):
        assert refusal(lambda ask=ask: ask(X, W, W)) == "RMSNormFwdOp: takes 2 tensors, got 3"


def test_tensors_may_be_named() -> None:
    assert torch.equal(rms()(weight=W, x=X), rms()(X, W))


def test_an_implementation_that_does_not_serve_the_call() -> None:
    op = tileops.RMSNormFwdOp(normalized_shape=(70000,), implementation="rows")
    x = torch.randn(1, 70000)
    (rule,) = op.spec.implementations["rows"].domain
    reason = f"rows: {rule.message}"
    assert refusal(lambda: op(x)) == (
        f"RMSNormFwdOp: implementation='rows' does not serve this call: {reason}"
    )
    assert refusal(lambda: op.build(x)) == refusal(lambda: op(x))


def test_a_call_that_no_implementation_serves() -> None:
    op = tileops.FP8LightningIndexerFwdOp()
    keys, rows = torch.zeros(1, 3, 1, 320), torch.zeros(2, dtype=torch.int32)
    tensors = [torch.zeros(1, 2, 4, 320), keys, torch.ones(2, 4), rows, rows + 3]
    tensors = [t.bfloat16() if t.ndim == 4 else t for t in tensors]
    with pytest.raises(NotImplementedError) as caught:
        op(*tensors)
    assert str(caught.value).startswith(
        "FP8LightningIndexerFwdOp: no implementation serves this call. tiles: "
    )
    assert op(*(t.to("meta") for t in tensors)).shape == (1, 2, 3, 1)


def test_a_device_that_runs_nothing() -> None:
    from tileops.runner import target_of

    with pytest.raises(tileops.UnsupportedDeviceError, match="tensors on xpu:0 cannot be computed"):
        target_of(torch.device("xpu:0"))


def test_tensors_elsewhere_than_the_chosen_target(monkeypatch: pytest.MonkeyPatch) -> None:
    from tileops import targets

    monkeypatch.setattr(targets.get("hopper"), "unavailable", lambda: None)
    op = tileops.SoftmaxFwdOp(target="hopper")
    for ask in (op, op.explain, op.build):
        assert refusal(lambda ask=ask: ask(torch.randn(2, 8))) == (
            "SoftmaxFwdOp: target='hopper' was chosen, but the tensors are on cpu"
        )


@pytest.mark.parametrize("way", ["profiler", "compile"])
def test_the_chosen_target_holds_on_the_way_through_the_dispatcher(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tileops import targets

    monkeypatch.setattr(targets.get("hopper"), "unavailable", lambda: None)
    op, x = tileops.SoftmaxFwdOp(target="hopper"), torch.randn(2, 8)
    torch.compiler.reset()
    with pytest.raises(CallError, match="target='hopper' was chosen, but the tensors are on cpu"):
        if way == "compile":
            torch.compile(lambda t: op(t), fullgraph=True)(x)
        else:
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
                op(x)


def test_an_operator_that_is_only_specified() -> None:
    op = tileops.MoeUnpermuteFwdOp()
    tensors = [torch.zeros(12, 16).half(), torch.zeros(10, dtype=torch.int32), torch.zeros(5, 2)]
    wrong = [tensors[0].double(), *tensors[1:]]
    assert refusal(lambda: op(*wrong)).startswith("MoeUnpermuteFwdOp: mm2_pad must have dtype ")
    message = "MoeUnpermuteFwdOp is specified and not yet implemented"
    for ask in (op, op.build):
        with pytest.raises(NotImplementedError, match=message):
            ask(*tensors)
    op.validate(*tensors)
    assert op.explain(*tensors).implementation is None
    meta = op(*(t.to("meta") for t in tensors))
    assert (meta.shape, meta.device.type) == ((5, 16), "meta")
    assert op.eval_roofline().flops > 0


def test_every_error_of_a_call_is_a_value_error() -> None:
    assert issubclass(CallError, ValueError)
    assert not issubclass(tileops.UnsupportedDeviceError, CallError)


def test_sizes_of_two_to_the_31_and_more_are_refused_by_name() -> None:
    large = torch.empty(1, 2**31, dtype=HALF, device="meta")
    for refused, name in [
        (lambda: tileops.GemmFwdOp().explain(large, large), "K"),
        (lambda: tileops.SoftmaxFwdOp(dim=-1)(large), "N"),
        (lambda: tileops.RMSNormFwdOp(normalized_shape=(2**31,)).build(large), "N"),
    ]:
        with pytest.raises(CallError, match=rf"{name} must be less than 2\*\*31, got {2**31}"):
            refused()


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1])
def test_a_number_of_a_call_that_64_bits_do_not_hold_is_refused(number: int) -> None:
    q, offsets = torch.zeros(3, 2, 16).half(), torch.tensor([0, 3], dtype=torch.int32)
    attention = tileops.GroupedQueryAttentionPrefillVarlenFwdOp()
    for device in ("meta", "cpu"):
        tensors = [t.to(device) for t in (q, q, q, offsets, offsets)]
        with pytest.raises(CallError, match=f"max_seqlen_q must fit 64 bits, got {number}"):
            attention(*tensors, max_seqlen_q=number, max_seqlen_kv=3)


def test_a_flattened_size_may_be_larger() -> None:
    rows = torch.empty(2**31 + 1, 4, dtype=HALF, device="meta")
    assert tileops.RMSNormFwdOp(normalized_shape=(4,))(rows).shape == rows.shape


def test_explain_build_and_validate_take_tensors_by_name_as_calls_do() -> None:
    op = attention()
    assert op.explain(Q, KV, v=KV).implementation == "flash"
    op.build(Q, k=KV, v=KV)
    op.validate(q=Q, k=KV, v=KV)
    with pytest.raises(CallError, match="w is not an input; there are q, k, v"):
        op.explain(Q, KV, KV, w=KV)
    with pytest.raises(CallError, match="k is given twice"):
        op.validate(Q, KV, k=KV)
