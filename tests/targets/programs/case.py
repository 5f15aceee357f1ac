"""What a small program is in this corpus: how to trace it, what to feed it, what to expect."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

F16, BF16, F32, F64, I32, I64 = "float16", "bfloat16", "float32", "float64", "int32", "int64"
U8, I8, U32, BOOL, E4M3, E5M2 = "uint8", "int8", "uint32", "bool", "float8_e4m3fn", "float8_e5m2"


@dataclass
class Case:
    build: Callable[[], Any]
    inputs: Callable[[], list[Any]]
    expect: Callable[
        ..., Any
    ]  # of the inputs: the expected outputs (a list of several), None where undefined
    outputs: tuple[int, ...] = (-1,)  # positions of the arguments that are only written
    inplace: tuple[int, ...] = ()  # of those that are read and written: `expect` returns every argument
    tol: float = 1e-5
    gpu_tol: float = 1e-4  # slack of GPU arithmetic (fused multiply-add, approximate functions)
    needs: tuple[str, ...] = ()  # text that must occur in the generated CUDA source


CASES: dict[str, Case] = {}


def randn(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed + sum(shape))).to(dtype)


def as_list(x: Any) -> list[Any]:
    return list(x) if isinstance(x, (list, tuple)) else [x]


def arguments(program: Any, case: Case, inputs: list[Any], expected: list[Any]) -> list[Any]:
    """All arguments of a call: the inputs, and outputs full of a value that no program writes."""
    count = len(program.params)
    places = [p % count for p in case.outputs]
    args: list[Any] = [None] * count
    for place, want in zip(places, expected, strict=True):
        buffer = program.buffer_map[program.params[place]]
        shape = want.shape if want is not None else [int(size) for size in buffer.shape]
        args[place] = poisoned(tuple(shape), getattr(torch, str(buffer.dtype)))
    rest = iter(inputs)
    return [next(rest) if i not in places else arg for i, arg in enumerate(args)]


def poisoned(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    out = torch.empty(shape, dtype=dtype)
    out.view(torch.uint8).fill_(1 if dtype == torch.bool else 0x7B)
    return out


def compare(got: torch.Tensor, want: Any, tol: float) -> None:
    if want is None:
        return
    assert tuple(got.shape) == tuple(want.shape)
    if tol == 0 and got.dtype == want.dtype and got.element_size() == 1:
        got, want = got.view(torch.uint8), want.view(torch.uint8)
    if tol:
        got, want = got.double(), want.double()
    torch.testing.assert_close(got, want, rtol=tol, atol=tol, equal_nan=True, check_dtype=False)
