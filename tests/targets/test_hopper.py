"""The corpus for sm_90a: it lowers without a GPU, compiles with nvcc, and runs where a GPU is."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.targets.programs import CASES, REFUSED
from tests.targets.programs.case import arguments, as_list, compare
from tileops.targets import TargetError, clear, entries, hopper

LOWERED = [*CASES, *(name for name in REFUSED if name != "curand")]  # it needs headers of its own
# One of each kind, since nvcc takes seconds: row kernel, wgmma with TMA, attention, warp specialized.
COMPILED = ["dyn_rows_scalar_arg", "gemm_dynamic_m", "attention_causal", "warp_specialized"]


def traced(name: str) -> Any:
    return CASES[name].build() if name in CASES else REFUSED[name][0]()


@pytest.mark.parametrize("name", LOWERED)
def test_lowers(name: str) -> None:
    lowered = hopper.lower(traced(name))
    assert "__global__" in lowered.source
    assert lowered.shared_memory <= hopper.SHARED_MEMORY_LIMIT
    for text in CASES[name].needs if name in CASES else ():
        assert text in lowered.source, f"{text} not in the generated source"


def test_shared_memory_is_reported() -> None:
    assert hopper.lower(traced("gemm_dynamic_m")).shared_memory >= 3 * (64 + 128) * 64 * 2


@pytest.mark.nvcc
@pytest.mark.parametrize("name", COMPILED)
def test_nvcc_accepts_it_without_spills(name: str) -> None:
    for kernel in hopper.check(hopper.lower(traced(name)).source):
        assert kernel.spill_bytes == 0
        assert 0 < kernel.registers <= 255


@pytest.mark.nvcc
def test_nvcc_errors_are_shown() -> None:
    with pytest.raises(TargetError, match="no_such_name"):
        hopper.check('extern "C" __global__ void main_kernel() { no_such_name(); }')


def test_lowered_source_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tileops.targets import _tilelang

    program = traced("dyn_rows_scalar_arg")
    first = hopper.lower(program, cache=tmp_path)
    monkeypatch.setattr(_tilelang, "lower_sm90", lambda *_: pytest.fail("lowered again"))
    assert hopper.lower(program, cache=tmp_path) == first
    assert clear(tmp_path) == 0  # sources are no compiled programs, and go all the same
    assert not any(tmp_path.iterdir())


def test_pass_configs_reach_the_lowering() -> None:
    program = traced("gemm_dynamic_m")
    assert "warpgroup_reg_alloc" in hopper.lower(program).source
    plain = hopper.lower(program, {"tl.disable_warp_specialized": True})
    assert "warpgroup_reg" not in plain.source


def test_without_nvcc_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from tileops.targets import _tilelang

    def fail(*_: Any) -> None:
        raise RuntimeError("no such file")

    monkeypatch.setattr(_tilelang, "nvcc_command", lambda: None)
    monkeypatch.setattr(_tilelang, "compile_sm90", fail)
    with pytest.raises(TargetError, match=r"nvcc is not found; .* CUDA_HOME"):
        hopper.compile(traced("dyn_rows_scalar_arg"), cache=tmp_path)
    with pytest.raises(TargetError, match=r"nvcc is not found; .* CUDA_HOME"):
        hopper.check("", cache=tmp_path)


@pytest.mark.nvcc
def test_compile_without_a_gpu_prints_nothing_and_keeps_everything_in_the_folder(tmp_path: Path) -> None:
    code = (
        "import sys; from tests.targets.programs.elementwise import dyn_rows; from tileops import targets\n"
        "for _ in range(2): targets.hopper.compile(dyn_rows(128), cache=sys.argv[1])\n"
    )
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
    assert [entry.target for entry in entries(tmp_path)] == ["hopper"]
    assert {path.name for path in tmp_path.iterdir()} == {"hopper"}


def test_unavailable_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert "no CUDA device; a GPU of compute capability 9.0" in (hopper.unavailable() or "")


def test_unavailable_on_another_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda *_: (8, 0))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda *_: "NVIDIA A100")
    assert hopper.unavailable() == "NVIDIA A100 has compute capability 8.0; 9.0 (H100, H200) is needed"
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda *_: (9, 0))
    assert hopper.unavailable() is None


def to_gpu(x: Any) -> Any:
    """Copy to the GPU with the strides kept (``cuda()`` would compact a sliced tensor)."""
    if not isinstance(x, torch.Tensor):
        return x
    return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="cuda").copy_(x)


@pytest.mark.gpu
@pytest.mark.parametrize("name", CASES)
def test_program_on_the_gpu(name: str) -> None:
    case, program = CASES[name], CASES[name].build()
    torch.manual_seed(0)
    inputs = case.inputs()
    expected = as_list(case.expect(*[x.clone() if isinstance(x, torch.Tensor) else x for x in inputs]))
    args = [to_gpu(x) for x in arguments(program, case, inputs, expected if case.outputs else [])]
    hopper.compile(program)(*args)
    got = [args[i] for i in case.inplace or case.outputs]
    want = [expected[i] for i in case.inplace] if case.inplace else expected
    for g, w in zip(got, want, strict=True):
        compare(g.cpu(), w, max(case.tol, case.gpu_tol))
