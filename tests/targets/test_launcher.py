"""The CPU launcher: sizes solved from the arguments, one clear error for each misfit, a low cost."""

import threading
import timeit

import pytest
import tilelang.language as T
import torch

from tests.targets.programs.case import F16, F32, I32, randn
from tests.targets.programs.elementwise import dyn_aligned, dyn_rows, dyn_strides
from tileops.targets import cpu


def halves(*shape: int) -> torch.Tensor:
    return randn(*shape, dtype=torch.float16)


@pytest.fixture(scope="module")
def run():
    return cpu.compile(dyn_rows(128))


MISFITS = {
    "dtype": (
        lambda: (randn(4, 128), 1.0, halves(4, 128)),
        "X: expected a torch.float16 CPU tensor, got torch.float32",
    ),
    "meta": (
        lambda: (halves(4, 128).to("meta"), 1.0, halves(4, 128)),
        "X: .*CPU tensor, got torch.float16 on meta",
    ),
    "no tensor": (lambda: (3, 1.0, halves(4, 128)), "X: expected a torch.float16 CPU tensor, got int"),
    "list": (lambda: ([1.0], 1.0, halves(4, 128)), "X: expected a torch.float16 CPU tensor, got list"),
    "rank": (lambda: (halves(128), 1.0, halves(4, 128)), "X: expected 2 dimensions, got 1"),
    "static size": (lambda: (halves(4, 64), 1.0, halves(4, 128)), "X: size 64 in dimension 1, expected 128"),
    "repeated size": (lambda: (halves(4, 128), 1.0, halves(5, 128)), "Y: size 5 in dimension 0, expected 4"),
    "strides": (
        lambda: (halves(128, 4).T, 1.0, halves(4, 128)),
        "X: expected a contiguous tensor, got strides",
    ),
    "scalar": (lambda: (halves(4, 128), "1", halves(4, 128)), r"S: expected a number \(float32\), got str"),
}


@pytest.mark.parametrize("kind", MISFITS)
def test_a_misfit_names_the_argument(run, kind: str) -> None:
    args, message = MISFITS[kind]
    with pytest.raises(ValueError, match=f"argument {message}"):
        run(*args())


def test_too_few_arguments(run) -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'Y'"):
        run(halves(4, 128), 1.0)


def test_one_compilation_serves_every_length(run) -> None:
    for rows in (0, 1, 15, 16, 17, 100):
        x, y = halves(rows, 128), torch.zeros(rows, 128, dtype=torch.float16)
        run(x, 2, y)
        torch.testing.assert_close(y, x.relu() * 2)


def test_a_unit_dimension_may_have_any_stride(run) -> None:
    x = halves(1, 128).as_strided((1, 128), (7, 1))
    y = torch.zeros(1, 128, dtype=torch.float16)
    run(x, 1.0, y)
    torch.testing.assert_close(y, x.relu())


def test_a_multiple_is_solved_and_checked() -> None:
    run = cpu.compile(dyn_aligned())
    x = randn(3, 200, dtype=torch.bfloat16)
    run(x, torch.empty_like(x))
    with pytest.raises(ValueError, match="argument X: size 201 in dimension 1, expected 200"):
        run(randn(3, 201, dtype=torch.bfloat16), torch.empty_like(x))


def test_declared_strides_are_read() -> None:
    run, x = cpu.compile(dyn_strides()), randn(9, 300)
    y = torch.empty(9, 200)
    run(x[:, :200], y)
    torch.testing.assert_close(y, x[:, :200] + 1)
    with pytest.raises(ValueError, match="argument X: stride 2 in dimension 1, expected 1"):
        run(x[:, ::2][:, :100], torch.empty(9, 100))


def products():
    m, n = T.dynamic("m"), T.dynamic("n")

    @T.prim_func
    def main(A: T.Tensor((m, n), F32), X: T.Tensor((m * n,), F32), Y: T.Tensor((m * n + 1,), F32)):
        with T.Kernel(m, threads=32) as row:
            for j in T.serial(n):
                Y[row * n + j] = X[row * n + j] + A[row, j]

    return main


def test_sizes_may_be_expressions_of_known_ones() -> None:
    run, a, y = cpu.compile(products()), randn(3, 5), torch.zeros(16)
    run(a, torch.ones(15), y)
    torch.testing.assert_close(y[:15], a.flatten() + 1)
    with pytest.raises(ValueError, match="argument X: size 14 in dimension 0, expected 15"):
        run(a, torch.ones(14), y)
    with pytest.raises(ValueError, match="argument Y: size 15 in dimension 0, expected 16"):
        run(a, torch.ones(15), y[:15])


def wide_index(dtype: str):
    n = T.dynamic("n", dtype)

    @T.prim_func
    def main(X: T.Tensor((n,), "int8")):
        with T.Kernel(1, threads=32):
            X[n - 1] = T.cast(7, "int8")

    return main


def test_a_large_size_needs_a_wide_index() -> None:
    x = torch.empty(2**31 + 8, dtype=torch.int8)  # never touched but for one page
    with pytest.raises(ValueError, match=r"size n = 2147483656 needs T.dynamic\('n', 'int64'\)"):
        cpu.compile(wide_index(I32))(x)
    cpu.compile(wide_index("int64"))(x)
    assert x[-1] == 7


def test_threads_share_one_build_and_run_at_the_same_time() -> None:
    found, results = [], []

    def work(seed: int) -> None:
        run = cpu.compile(dyn_rows(96))
        found.append(run)
        x = randn(33, 96, dtype=torch.float16, seed=seed)
        y = torch.empty_like(x)
        run(x, 1.0, y)
        results.append(torch.equal(y, x.relu()))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 8
    assert len({id(run) for run in found}) == 1


def three_tensors():
    n = T.dynamic("n", "int64")

    @T.prim_func
    def main(A: T.Tensor((n, 8), F16), B: T.Tensor((8,), F16), C: T.Tensor((n, 8), F16)):
        with T.Kernel(n, threads=32) as row:
            for j in T.Parallel(8):
                C[row, j] = A[row, j] + B[j]

    return main


def test_a_call_costs_microseconds() -> None:
    run, a, b, c = cpu.compile(three_tensors()), halves(1, 8), halves(8), halves(1, 8)
    best = min(timeit.repeat(lambda: run(a, b, c), number=2000, repeat=10)) / 2000
    assert best < 15e-6, f"{best * 1e6:.1f} µs"  # 2-3 µs on an idle machine; solving sizes in the IR takes 35
