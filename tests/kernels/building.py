"""Builds one implementation by hand, below the Op layer: a key, its factory, its programs on the CPU."""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from tileops import targets
from tileops.kernel import Kernel, Key

DTYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32}


@cache
def build(
    factory: Callable[[Key], Kernel], slots: tuple[str, ...], dtype: str, **static: Any
) -> Callable[..., None]:
    """``launch`` of the kernel for these slots, all of one dtype, with its programs bound."""
    key = Key(
        op="test",
        implementation=factory.__name__,
        target="cpu",
        dtypes=tuple((slot, dtype) for slot in slots),
        static=tuple(static.items()),
    )
    kernel = factory(key)
    programs = tuple(targets.get("cpu").compile(p) for p in kernel.programs)
    run = programs[0] if len(programs) == 1 else programs
    return lambda *args: kernel.launch(run, *args)


def randn(*shape: int, dtype: str = "float32", seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(*shape, generator=generator).to(DTYPES[dtype])


def poisoned(*shape: int, dtype: str = "float32") -> torch.Tensor:
    """An output that shows every element which was not written."""
    return torch.full(shape, float("nan"), dtype=DTYPES[dtype])


def close(got: torch.Tensor, want: torch.Tensor, terms: int = 1) -> None:
    """``got`` is ``want`` (float64) rounded once, give or take a serial float32 sum of ``terms`` terms."""
    slack = 4e-6 + 3e-7 * terms**0.5
    rtol = torch.finfo(got.dtype).eps + slack
    torch.testing.assert_close(got.double(), want, rtol=rtol, atol=slack, equal_nan=True)
