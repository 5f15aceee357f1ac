"""What this device reaches at best, measured in the same run: moving memory, and multiplying matrices."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

import torch

__all__ = ["Ceilings", "measure"]

Ceilings = dict[str, float | None]
GIB = 2**30
PRODUCTS = ((8192, 8192, 8192), (4096, 8192, 8192), (4096, 7168, 16384))
"""Shapes of the matrix products; the best of them counts."""


def measure(device: str) -> Ceilings:
    """Terabytes and teraflops a second, the best of several tries; `None` for what a device does not offer.

    Returns:
        `copy_tbs`, `read_tbs`, `bf16_tflops`, `fp8_tflops`.
    """
    if device == "cpu":
        return _cpu()
    source = torch.randn(GIB, dtype=torch.bfloat16, device=device)
    target = torch.empty_like(source)
    copy = _best(functools.partial(target.copy_, source), 8)
    read = _best(source.view(torch.float32).sum, 8)
    size = source.numel() * source.element_size()
    del source, target
    bf16 = max(_product(shape, device, _bf16) for shape in PRODUCTS)
    try:
        fp8 = max(_product(shape, device, _fp8) for shape in PRODUCTS)
    except RuntimeError:  # no float8 units
        fp8 = None
    torch.cuda.empty_cache()
    return {
        "copy_tbs": 2 * size / copy / 1e12,
        "read_tbs": size / read / 1e12,
        "bf16_tflops": bf16,
        "fp8_tflops": fp8,
    }


Product = Callable[[torch.Tensor, torch.Tensor], Callable[[], torch.Tensor]]


def _bf16(a: torch.Tensor, b: torch.Tensor) -> Callable[[], torch.Tensor]:
    return lambda: a @ b.T


def _fp8(a: torch.Tensor, b: torch.Tensor) -> Callable[[], torch.Tensor]:
    left, right = a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn).T
    one = torch.ones((), device=a.device)
    return lambda: torch._scaled_mm(
        left, right, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True
    )


def _product(shape: tuple[int, int, int], device: str, product: Product) -> float:
    m, n, k = shape
    a, b = (torch.randn(rows, k, dtype=torch.bfloat16, device=device) for rows in (m, n))
    return 2 * m * n * k / _best(product(a, b), 8) / 1e12


def _best(run: Callable[[], object], tries: int) -> float:
    """Seconds of the fastest of several runs of two calls each."""
    for _ in range(3):
        run()
    times = []
    for _ in range(tries):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        run()
        start.record()
        run()
        run()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / 2e3)
    return min(times)


def _cpu() -> Ceilings:
    source = torch.randn(2**24)
    target = torch.empty_like(source)
    start = time.perf_counter()
    target.copy_(source)
    copied = 8 * source.numel() / (time.perf_counter() - start) / 1e12
    return {"copy_tbs": copied, "read_tbs": None, "bf16_tflops": None, "fp8_tflops": None}
