"""What is built, when, and once; and which memory a kernel gets."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import torch
import torch.nn.functional as F

import tileops
from tests.runtime.conftest import Builds
from tileops import runner

KEY = "RMSNormFwdOp[rows, cpu](x={0}, weight={0}, y={0}, N=64)"


def rms() -> tileops.RMSNormFwdOp:
    return tileops.RMSNormFwdOp(normalized_shape=(64,))


def inputs(*batch: int, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(*batch, 64).to(dtype), torch.randn(64).to(dtype)


def want(x: torch.Tensor, weight: torch.Tensor | None) -> torch.Tensor:
    return F.rms_norm(x, (64,), weight, 1e-6)


def test_construction_builds_nothing_and_the_first_call_does(builds: Builds) -> None:
    op = rms()
    assert len(builds) == 0
    op(*inputs(3))
    assert builds.keys == [KEY.format("float32")]


def test_a_new_batch_builds_nothing(builds: Builds) -> None:
    op = rms()
    for batch in [(1,), (2,), (7,), (129,), (2, 3), (2, 3, 4), (), (0,), (5, 0)]:
        x, weight = inputs(*batch)
        torch.testing.assert_close(op(x, weight), want(x, weight))
    assert len(builds) == 1


def test_a_call_whose_outputs_are_empty_builds_nothing_and_is_checked_all_the_same(builds: Builds) -> None:
    assert tileops.RopeNeoxFwdOp()(torch.zeros(3, 0)).shape == (3, 0)
    assert rms()(*inputs(0)).shape == (0, 64)
    assert tileops.MeanPoolingFwdOp(chunk_size=4)(torch.zeros(1, 9, 2, 0)).shape == (1, 3, 2, 0)
    rms().build(*inputs(0))
    assert len(builds) == 0
    with pytest.raises(tileops.CallError, match="normalized_shape"):
        rms()(torch.zeros(0, 63))
    with pytest.raises(tileops.CallError, match="more than 4096 elements"):
        tileops.RopeNeoxFwdOp(implementation="angles")(torch.zeros(0, 8192))
    assert torch.equal(tileops.SumFwdOp(dim=0)(torch.zeros(0, 2)), torch.zeros(2))
    assert len(builds) == 1  # empty inputs, and outputs that are not


def test_a_thousand_lengths_of_a_decode_build_one_kernel(builds: Builds) -> None:
    softmax = tileops.SoftmaxFwdOp(dim=-1)
    for length in range(513, 1025):  # one bucket of row lengths; aligned and not
        softmax(torch.zeros(1, length))
    assert len(builds) == 2


def test_a_second_dtype_builds_a_second_kernel_in_the_same_instance(builds: Builds) -> None:
    op = rms()
    for dtype in (torch.float32, torch.bfloat16, torch.float32, torch.bfloat16):
        x, weight = inputs(3, dtype=dtype)
        result = op(x, weight)
        assert result.dtype is dtype
        torch.testing.assert_close(result, want(x, weight))
    assert builds.keys == [KEY.format("float32"), KEY.format("bfloat16")]


def test_presence_of_an_optional_input_is_part_of_the_key(builds: Builds) -> None:
    op, (x, weight) = rms(), inputs(3)
    torch.testing.assert_close(op(x), want(x, None))
    torch.testing.assert_close(op(x, weight), want(x, weight))
    torch.testing.assert_close(op(x, None), want(x, None))
    assert len(builds) == 2


def test_instances_share_kernels_and_run_time_params_are_in_no_key(builds: Builds) -> None:
    x, weight = inputs(3)
    for eps in (1e-6, 1e-3, 1.0):
        op = tileops.RMSNormFwdOp(normalized_shape=(64,), eps=eps)
        torch.testing.assert_close(op(x, weight), F.rms_norm(x, (64,), weight, eps))
    assert len(builds) == 1


def test_build_ahead_then_a_call_builds_nothing(builds: Builds) -> None:
    op = rms()
    meta = [t.to("meta") for t in inputs(3)]
    op_for_here = tileops.RMSNormFwdOp(normalized_shape=(64,), target="cpu")
    op_for_here.build(*meta)
    op_for_here.build(*meta)
    assert builds.keys == [KEY.format("float32")]
    op(*inputs(5))
    op_for_here(*inputs(5))
    assert len(builds) == 1


def test_meta_explain_and_refused_calls_build_nothing(builds: Builds) -> None:
    op = rms()
    op(*(t.to("meta") for t in inputs(3)))
    op.explain(*inputs(3))
    op.validate(*inputs(3))
    with pytest.raises(tileops.CallError):
        op(torch.randn(3, 63))
    assert len(builds) == 0


def test_threads_build_once(builds: Builds) -> None:
    count = 8
    barrier, (x, weight) = Barrier(count), inputs(3)

    def call(_: int) -> torch.Tensor:
        barrier.wait()
        return rms()(x, weight)

    with ThreadPoolExecutor(count) as pool:
        results = list(pool.map(call, range(count)))
    assert len(builds) == 1
    for result in results:
        assert torch.equal(result, results[0])


def test_threads_share_one_instance(builds: Builds) -> None:
    op, weight = rms(), torch.randn(64)

    def call(n: int) -> bool:
        x = torch.full((n % 7 + 1, 64), float(n + 1))
        return torch.allclose(op(x, weight), want(x, weight), rtol=1e-5, atol=1e-6)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(200)))
    assert len(builds) == 1


def test_a_build_that_fails_is_tried_again(builds: Builds, monkeypatch: pytest.MonkeyPatch) -> None:
    op, (x, weight) = rms(), inputs(3)
    with monkeypatch.context() as patch:
        patch.setattr(runner, "factory", lambda spec, key: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            op(x, weight)
    torch.testing.assert_close(op(x, weight), want(x, weight))
    assert len(builds) == 1


# ---------------------------------------------------------------------------------------------- memory
WHOLE = torch.randn(8, 6, 128)
VIEWS = {
    "a slice of the rows' elements": WHOLE[..., :64],
    "every second element": WHOLE[..., ::2],
    "every second row": WHOLE[:, ::2, :64],
    "transposed": torch.randn(64, 5).T,
    "expanded": torch.randn(64).expand(5, 64),
    "not at a multiple of 16 bytes": torch.randn(5 * 64 + 1)[1:].view(5, 64),
    "of 1-D, off by one": torch.randn(65)[1:],
}


@pytest.mark.parametrize("kind", VIEWS)
def test_a_view_gives_the_values_of_its_copy_and_explain_says_so(kind: str) -> None:
    x, weight = VIEWS[kind], torch.randn(64)
    before = x.clone()
    result = rms()(x, weight)
    assert result.is_contiguous()
    torch.testing.assert_close(result, want(x, weight))
    assert torch.equal(x, before)
    reason = "it is not contiguous"
    if x.is_contiguous():
        reason = "its memory does not start at a multiple of 16 bytes"
    explanation = rms().explain(x, weight)
    assert explanation.copies == {"x": reason}
    assert str(explanation).endswith(f"\n  x is copied: {reason}")


def test_an_input_without_copies_is_read_in_place() -> None:
    x, weight = inputs(3)
    assert rms().explain(x, weight).copies == {}
    assert rms().explain(x.to("meta"), weight.to("meta")).copies == {}
    assert rms().explain(torch.randn(0, 128)[:, ::2], weight).copies == {}


def test_a_view_whose_unit_dimension_has_an_odd_stride() -> None:
    x = torch.empty_strided((1, 64), (999, 1)).normal_()
    torch.testing.assert_close(rms()(x), want(x, None))


def test_the_same_tensor_may_be_several_inputs() -> None:
    op = tileops.FusedAddRMSNormFwdOp()
    x, weight = inputs(3)
    y, total = op(x, x, weight)
    assert torch.equal(total, x + x)
    torch.testing.assert_close(y, want(x + x, weight))


def test_outputs_are_new_memory() -> None:
    x, weight = inputs(3)
    a, b = rms()(x, weight), rms()(x, weight)
    assert len({x.data_ptr(), a.data_ptr(), b.data_ptr()}) == 3


def test_an_explanation_is_a_report() -> None:
    x, weight = inputs(3)
    explanation = tileops.RMSNormFwdOp(normalized_shape=(64,)).explain(x, weight)
    assert (explanation.op, explanation.target, explanation.implementation) == ("RMSNormFwdOp", "cpu", "rows")
    assert str(explanation).splitlines() == [
        "RMSNormFwdOp on cpu: rows",
        "  rows (rank 10): chosen",
        "  long_rows (rank 0): applies",
        "  key: " + KEY.format("float32"),
    ]
    (rule,) = tileops.RMSNormFwdOp.spec.implementations["rows"].domain
    long = tileops.RMSNormFwdOp(normalized_shape=(70000,)).explain(torch.randn(1, 70000))
    assert str(long).splitlines()[:3] == [
        "RMSNormFwdOp on cpu: long_rows",
        f"  rows (rank 10): {rule.message}",
        "  long_rows (rank 0): chosen",
    ]
    forced = tileops.RMSNormFwdOp(normalized_shape=(64,), implementation="long_rows").explain(x, weight)
    assert (forced.implementation, forced.key.implementation) == ("long_rows", "long_rows")
    pairs = [torch.zeros(12, 16).half(), torch.zeros(10, dtype=torch.int32), torch.zeros(5, 2)]
    nothing = tileops.MoeUnpermuteFwdOp().explain(*pairs)
    assert str(nothing) == "MoeUnpermuteFwdOp on cpu: no implementation serves this call"
