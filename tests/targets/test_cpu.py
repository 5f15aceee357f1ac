"""The corpus on the CPU: every program runs and agrees with PyTorch."""

import subprocess
import sys
from pathlib import Path

import pytest
import tilelang.language as T
import torch

from tests.targets.programs import CASES, REFUSED, decode
from tests.targets.programs.case import BF16, F32, F64, I32, arguments, as_list, compare, poisoned, randn
from tileops.targets import UnsupportedOnCpu, cpu


@pytest.mark.parametrize("name", CASES)
def test_program(name: str) -> None:
    case, program = CASES[name], CASES[name].build()
    torch.manual_seed(0)
    inputs = case.inputs()
    expected = as_list(case.expect(*[x.clone() if isinstance(x, torch.Tensor) else x for x in inputs]))
    args = arguments(program, case, inputs, expected if case.outputs else [])
    cpu.compile(program)(*args)
    got = [args[i] for i in case.inplace or case.outputs]
    want = [expected[i] for i in case.inplace] if case.inplace else expected
    for g, w in zip(got, want, strict=True):
        compare(g, w, case.tol)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    build, reason = REFUSED[name]
    with pytest.raises(UnsupportedOnCpu, match=reason):
        cpu.lower(build())


def test_decode_end_to_end() -> None:
    inputs = decode.paged_inputs()
    partial, weights = poisoned((2, 8, 3, 64), torch.float32), poisoned((2, 8, 3), torch.float32)
    out = poisoned((2, 8, 64), torch.bfloat16)
    cpu.compile(decode.decode_split(2, 8, 2, 64, 12, 32, 5, 3))(*inputs, partial, weights)
    cpu.compile(decode.combine_splits(2, 8, 64, 3))(partial, weights, out)
    compare(out, decode.paged_ref(*inputs), 2e-2)


CONSTANTS = (0.1, -1 / 3, 2.0**64, 1 / (2 * 3.141592653589793), -448.0, float("inf"), 1e-300)


def constants():
    @T.prim_func
    def main(X: T.Tensor((len(CONSTANTS),), F32), Y: T.Tensor((len(CONSTANTS),), F64)):
        with T.Kernel(1, threads=32):
            for i, value in enumerate(CONSTANTS):
                X[i] = value
                Y[i] = value

    return main


def test_constants_keep_every_bit() -> None:
    x, y = torch.zeros(len(CONSTANTS)), torch.zeros(len(CONSTANTS), dtype=torch.float64)
    cpu.compile(constants())(x, y)
    assert x.tolist() == torch.tensor(CONSTANTS).tolist()
    assert y.tolist() == list(CONSTANTS)


def convert(n: int, src: str, dst: str):
    @T.prim_func
    def main(X: T.Tensor((n,), src), Y: T.Tensor((n,), dst)):
        with T.Kernel(T.ceildiv(n, 256), threads=128) as bx:
            x = T.alloc_fragment((256,), src)
            T.copy(X[bx * 256], x)
            T.copy(x, Y[bx * 256])

    return main


NARROW = [torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2]


@pytest.mark.parametrize("dtype", NARROW)
def test_conversions_are_exact(dtype: torch.dtype) -> None:
    name, bits = str(dtype)[6:], torch.uint8 if dtype.itemsize == 1 else torch.uint16
    every = torch.arange(2 ** (8 * dtype.itemsize), dtype=torch.int32).to(bits).view(dtype)
    wide = poisoned(tuple(every.shape), torch.float32)
    cpu.compile(convert(every.numel(), name, F32))(every, wide)
    torch.testing.assert_close(wide, every.float(), rtol=0, atol=0, equal_nan=True)

    finite = every.float()[every.float().isfinite()]
    halves = (finite.sort().values[1:] + finite.sort().values[:-1]) / 2  # ties
    x = torch.cat([finite, halves, *(randn(20000) * s for s in (1e-8, 1e-4, 1.0, 1e4))])
    if dtype.itemsize == 1:
        x = x.clamp(-torch.finfo(dtype).max, torch.finfo(dtype).max)  # torch does not saturate
    narrow = poisoned(tuple(x.shape), dtype)
    cpu.compile(convert(x.numel(), F32, name))(x, narrow)
    assert torch.equal(narrow.view(bits), x.to(dtype).view(bits))


def test_float8_saturates_and_keeps_nan() -> None:
    x = torch.tensor([1e6, -1e6, float("inf"), float("nan")])
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        y = poisoned((4,), dtype)
        cpu.compile(convert(4, F32, str(dtype)[6:]))(x, y)
        top = torch.finfo(dtype).max
        compare(y.float(), torch.tensor([top, -top, top, float("nan")]), 0)


def nan_reductions(n: int, propagate: bool):
    @T.prim_func
    def main(X: T.Tensor((4, n), BF16), Y: T.Tensor((4,), F32)):
        with T.Kernel(1, threads=128):
            x, y = T.alloc_fragment((4, n), F32), T.alloc_fragment((4,), F32)
            T.copy(X, x)
            T.reduce_max(x, y, dim=1, nan_propagate=propagate)
            T.copy(y, Y)

    return main


@pytest.mark.parametrize("propagate", [False, True])
def test_nan_loses_a_maximum_unless_asked(propagate: bool) -> None:
    x = randn(4, 64, dtype=torch.bfloat16)
    x[1, 5] = x[2, 0] = float("nan")
    y = poisoned((4,), torch.float32)
    cpu.compile(nan_reductions(64, propagate))(x, y)
    want = x.float().amax(1) if propagate else x.float().nan_to_num(-torch.inf).amax(1)
    compare(y, want, 0)


def total_of(n: int):
    @T.prim_func
    def main(X: T.Tensor((n,), F32), Y: T.Tensor((1,), F32)):
        with T.Kernel(1, threads=128):
            x, y = T.alloc_fragment((n,), F32), T.alloc_fragment((1,), F32)
            total = T.alloc_reducer((1,), F32, op="sum")
            T.copy(X, x)
            T.reducer_init(total)
            for i in T.Parallel(n):
                T.reducer_update(total[0], x[i])
            T.finalize_reducer(total, y)
            T.copy(y, Y)

    return main


def test_sums_of_reducers_lose_no_more_than_those_of_a_tree() -> None:
    """Added one after the other in float32, 4096 equal values are wrong in the fourth digit."""
    x, y = torch.full((4096,), 1000.1), poisoned((1,), torch.float32)
    cpu.compile(total_of(4096))(x, y)
    assert y[0] == 4096 * x[0]


def unwritten(n: int):
    @T.prim_func
    def main(Y: T.Tensor((n,), F32)):
        with T.Kernel(1, threads=n):
            s = T.alloc_shared((n,), F32)
            for i in T.Parallel(n):
                Y[i] = s[i]

    return main


def test_debug_shows_unwritten_memory() -> None:
    y = torch.zeros(32)
    cpu.compile(unwritten(32), debug=True)(y)
    assert (y < -1e38).all()


def beyond(n: int):
    @T.prim_func
    def main(X: T.Tensor((n,), F32), At: T.Tensor((1,), I32)):
        with T.Kernel(1, threads=n):
            s = T.alloc_shared((n,), F32)
            T.copy(X, s)
            X[0] = s[At[0]]

    return main


OUT_OF_BOUNDS = """
import torch
from tests.targets.test_cpu import beyond
from tileops.targets import cpu
cpu.compile(beyond(32), debug=True)(torch.zeros(32), torch.tensor([100], dtype=torch.int32))
"""


def test_debug_stops_at_an_index_out_of_bounds() -> None:
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", OUT_OF_BOUNDS], cwd=root, capture_output=True, text=True)
    assert done.returncode != 0
    assert "index 100 out of bounds for type 'float [32]'" in done.stderr


def asserting(n: int):
    @T.prim_func
    def main(X: T.Tensor((n,), F32)):
        with T.Kernel(1, threads=n):
            for i in T.Parallel(n):
                T.device_assert(X[i] > 0.0)

    return main


def test_device_assert_raises_and_is_forgotten() -> None:
    run = cpu.compile(asserting(32))
    with pytest.raises(AssertionError, match="device_assert"):
        run(torch.zeros(32))
    run(torch.ones(32))
