"""Calls on NVIDIA GPUs: streams, graphs, several devices, the memory that kernels get."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import tileops
from tests.runtime.conftest import Builds
from tileops import runner

pytestmark = pytest.mark.gpu
WIDTH = 4096


def rms() -> tileops.RMSNormFwdOp:
    return tileops.RMSNormFwdOp(normalized_shape=(WIDTH,))


def inputs(rows: int, device: str = "cuda") -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(rows, WIDTH, device=device).bfloat16(), torch.randn(WIDTH, device=device).bfloat16()


def check(result: torch.Tensor, x: torch.Tensor, weight: torch.Tensor | None) -> None:
    want = F.rms_norm(x.float(), (WIDTH,), None if weight is None else weight.float(), 1e-6)
    assert result.device == x.device
    torch.testing.assert_close(result.float(), want, rtol=1e-2, atol=1e-2)


# ----------------------------------------------------------------------------------------------- streams
def test_a_call_runs_on_the_current_stream() -> None:
    op, (x, weight) = rms(), inputs(64)
    twos = torch.full_like(x, 2.0)
    op(x, weight)
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.cuda._sleep(
            500_000_000
        )  # a quarter of a second: a launch on another stream would not wait for it
        x.copy_(twos)
        result = op(x, weight)
    side.synchronize()
    check(result, twos, weight)


def test_work_that_follows_on_the_stream_sees_the_result() -> None:
    op, weight = rms(), inputs(1)[1]
    side = torch.cuda.Stream()
    for _ in range(20):
        x = inputs(2048)[0]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            total = op(x, weight).float().sum()
        side.synchronize()
        torch.testing.assert_close(total, op(x, weight).float().sum())


def test_a_call_does_not_synchronize() -> None:
    op, (x, weight) = rms(), inputs(64)
    op(x, weight)
    torch.cuda.set_sync_debug_mode("error")
    try:
        op(x, weight)
        op(x[:33, :], None)
        op.explain(x, weight)
    finally:
        torch.cuda.set_sync_debug_mode("default")


# ------------------------------------------------------------------------------------------------ graphs
@pytest.mark.parametrize("warm", ["call", "build"])
def test_a_captured_call_is_replayed_with_new_values(warm: str, cold: None) -> None:
    op, (x, weight) = rms(), inputs(64)
    if warm == "call":
        op(x, weight)
    else:
        op.build(x.to("meta"), weight.to("meta"))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = op(x, weight)
    x.copy_(inputs(64)[0])
    graph.replay()
    torch.cuda.synchronize()
    check(result, x, weight)


def test_a_cold_call_in_a_capture_names_build(cold: None) -> None:
    op, (x, weight) = rms(), inputs(64)
    graph = torch.cuda.CUDAGraph()
    not_built = pytest.raises(RuntimeError, match=r"RMSNormFwdOp: .* not built yet, .* op\.build\(")
    with not_built, torch.cuda.graph(graph):
        op(x, weight)
    torch.cuda.synchronize()
    check(op(x, weight), x, weight)


def test_a_copied_input_can_be_captured() -> None:
    op, weight = rms(), inputs(1)[1]
    wide = torch.randn(64, 2 * WIDTH, device="cuda").bfloat16()
    op(wide[:, :WIDTH], weight)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = op(wide[:, :WIDTH], weight)
    wide.normal_()
    graph.replay()
    torch.cuda.synchronize()
    check(result, wide[:, :WIDTH], weight)


# ----------------------------------------------------------------------------------------------- kernels
def test_batches_share_a_kernel_and_dtypes_do_not(builds: Builds) -> None:
    op, weight = rms(), inputs(1)[1]
    for rows in (1, 2, 131, 4096):
        x = inputs(rows)[0]
        check(op(x, weight), x, weight)
    op(x.half(), weight.half())
    assert [key.partition("(")[2][:12] for key in builds.keys] == ["x=bfloat16, ", "x=float16, w"]


def test_cpu_and_gpu_calls_of_one_instance(builds: Builds) -> None:
    op, (x, weight) = rms(), inputs(3)
    on_gpu, on_cpu = op(x, weight), op(x.cpu(), weight.cpu())
    assert (on_gpu.device.type, on_cpu.device.type) == ("cuda", "cpu")
    torch.testing.assert_close(on_gpu.cpu().float(), on_cpu.float(), rtol=1e-2, atol=1e-2)
    assert len(builds) == 2


def test_views_are_copied() -> None:
    wide, weight = torch.randn(8, 2 * WIDTH, device="cuda").bfloat16(), inputs(1)[1]
    off_by_one = torch.randn(WIDTH + 1, device="cuda").bfloat16()[1:]
    odd = torch.empty_strided((1, WIDTH), (WIDTH + 7, 1), device="cuda", dtype=torch.bfloat16).normal_()
    for x in (wide[:, ::2], wide[::2, :WIDTH], wide.view(WIDTH, 16).T[:8], off_by_one, odd):
        check(rms()(x, weight), x, weight)
    assert "multiple of 16 bytes" in rms().explain(off_by_one, weight).copies["x"]


def test_tensors_on_two_devices_are_refused() -> None:
    x, weight = inputs(3)
    with pytest.raises(tileops.CallError, match="weight must be on the device of x, cuda:0, got cpu"):
        rms()(x, weight.cpu())


@pytest.mark.parametrize("backend", ["inductor", "cudagraphs"])
def test_compiled_calls(backend: str, cold: None) -> None:
    op, (x, weight) = rms(), inputs(64)
    torch.compiler.reset()
    mode = {"mode": "reduce-overhead"} if backend == "inductor" else {"backend": backend}
    compiled = torch.compile(lambda a: op(a * 2, weight) + 1, fullgraph=True, **mode)
    for _ in range(3):
        result = compiled(x).clone()
        torch.testing.assert_close(result, op(x * 2, weight) + 1)
        x = inputs(64)[0]


# --------------------------------------------------------------------------------------------- two devices
@pytest.mark.gpu2
@pytest.mark.parametrize("state", ["cold", "warm"])
def test_tensors_on_another_device_than_the_current_one(state: str, cold: None) -> None:
    op, (x, weight) = rms(), inputs(64, "cuda:1")
    if state == "warm":
        op(*inputs(64, "cuda:0"))
        op(x, weight)
    assert torch.cuda.current_device() == 0
    result = op(x, weight)
    assert torch.cuda.current_device() == 0
    assert result.device == torch.device("cuda:1")
    check(result, x, weight)


@pytest.mark.gpu2
def test_devices_share_a_kernel_and_take_turns(builds: Builds) -> None:
    op = rms()
    for device in ("cuda:1", "cuda:0", "cuda:1"):
        x, weight = inputs(64, device)
        check(op(x, weight), x, weight)
        with torch.cuda.device(1):
            check(op(x, weight), x, weight)
            assert torch.cuda.current_device() == 1
    assert len(builds) == 1
    assert torch.cuda.current_device() == 0


@pytest.mark.gpu2
def test_a_call_that_fails_leaves_the_current_device(monkeypatch: pytest.MonkeyPatch, cold: None) -> None:
    op, (x, weight) = rms(), inputs(64, "cuda:1")
    op(x, weight)
    (key,) = op._runner.kernels
    op._runner.kernels[key] = runner.Entry(lambda *_: 1 / 0, None, "rows")
    with pytest.raises(ZeroDivisionError):
        op(x, weight)
    assert torch.cuda.current_device() == 0


@pytest.mark.gpu2
def test_the_current_stream_of_the_other_device_is_used() -> None:
    op, (x, weight) = rms(), inputs(64, "cuda:1")
    op(x, weight)
    torch.cuda.synchronize(1)
    side = torch.cuda.Stream("cuda:1")
    with torch.cuda.device(1), torch.cuda.stream(side):
        torch.cuda._sleep(50_000_000)
        x.copy_(torch.full_like(x, 2.0))
    with torch.cuda.stream(side), torch.cuda.device(0):
        result = op(x, weight)
    side.synchronize()
    check(result, torch.full_like(x, 2.0), weight)
