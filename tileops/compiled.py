"""The generated functions of an operator, with what they need from torch."""

from __future__ import annotations

import functools
import linecache
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch.autograd import forward_ad, profiler
from torch.utils._device import DeviceContext

from tileops.fail import failures, refuse_large
from tileops.params import normalize_one
from tileops.spec.codegen import generate
from tileops.spec.expressions import GLOBALS
from tileops.spec.model import DTYPES, OpSpec
from tileops.values import value_checks

__all__ = ["DTYPE", "Compiled", "compile_functions", "compile_spec", "dtype_name", "make_outputs"]

DTYPE: dict[str, torch.dtype] = {name: getattr(torch, name) for name in DTYPES}
"""torch dtypes by the names that the manifest uses."""

_NAMES: dict[torch.dtype | None, str | None] = {dtype: name for name, dtype in DTYPE.items()} | {None: None}


def dtype_name(dtype: torch.dtype | None) -> str | None:
    """The manifest's name of a dtype."""
    return _NAMES.get(dtype, str(dtype))


class Compiled(NamedTuple):
    """The functions that `tileops.spec.codegen` generates."""

    params: Callable[..., None]
    outputs: Callable[..., Any]
    facts: Callable[..., Any]
    values: Callable[..., None] | None
    core: Callable[..., Any]
    call: Callable[..., Any]
    source: str


def undisturbed() -> bool:
    """Whether no mode, transform, trace or profiler watches operators: the dispatcher would add nothing."""
    return (
        _dispatch_modes() == 0
        and (_function_modes() == 0 or _only_a_default_device())
        and _transforms() is None
        and not profiler._is_profiler_enabled
        and forward_ad._current_level < 0
        and _jit_trace() is None
    )


def _only_a_default_device() -> bool:
    """Whether the one mode is `torch.set_default_device`: it changes nothing where a device is given."""
    return _function_modes() == 1 and type(torch._C._get_function_stack_at(0)) is DeviceContext


_dispatch_modes = torch._C._len_torch_dispatch_stack
_function_modes = torch._C._len_torch_function_stack
_transforms = torch._C._functorch.peek_interpreter_stack
_jit_trace = torch._C._get_tracing_state


def device_of(device: Any) -> torch.device:
    """The device on which a call without tensors runs: PyTorch's default when none is named."""
    found = torch.get_default_device() if device is None else torch.device(device)
    return torch.device("cuda", torch.cuda.current_device()) if str(found) == "cuda" else found


def dense(tensor: torch.Tensor, last: bool = False) -> torch.Tensor:
    """A copy, contiguous or channels-last, whose memory starts at a multiple of 16 bytes."""
    return tensor.clone(memory_format=torch.preserve_format if last else torch.contiguous_format)


def channels_last(tensor: torch.Tensor) -> bool:
    """Whether axis 1 is innermost in memory; a tensor that is contiguous, too, counts as contiguous."""
    return tensor.ndim > 2 and not tensor.is_contiguous() and tensor.movedim(1, -1).is_contiguous()


def empty_channels_last(shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """A new tensor whose axis 1 is innermost in memory."""
    batch, channels, *others = shape
    return torch.empty((batch, *others, channels), dtype=dtype, device=device).movedim(-1, 1)


def make_outputs(device: torch.device, made: Iterable[tuple[Any, ...]]) -> tuple[torch.Tensor, ...]:
    """New tensors for what the generated `outputs` returns: shape, dtype, and whether it is channels-last."""
    return tuple(
        empty_channels_last(shape, dtype, device)
        if any(last)
        else torch.empty(shape, dtype=dtype, device=device)
        for shape, dtype, *last in made
    )


def overlaps(tensor: torch.Tensor) -> bool:
    """Whether elements share memory, or may: strides none of which is beyond what smaller ones reach."""
    if tensor.layout is not torch.strided or tensor.numel() == 0:
        return False
    reach = 0
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1 and stride <= reach:
            return True
        reach += stride * (size - 1)
    return False


@functools.cache
def compile_spec(spec_name: str) -> Compiled:
    """The functions of one operator of the manifest."""
    from tileops.spec import load

    return compile_functions(load(spec_name))


def compile_functions(spec: OpSpec) -> Compiled:
    """Generate and compile the functions of a specification."""
    source = generate(spec)
    fail = failures(spec)
    scope: dict[str, Any] = {
        **GLOBALS,
        **fail,
        **value_checks(spec),
        "f_dtype": _NAMES.get,
        "DTYPE": DTYPE,
        "SOURCE": source.splitlines(),
        "Tensor": torch.Tensor,
        "Parameter": torch.nn.Parameter,
        "channels_last": channels_last,
        "current_device": torch._C._cuda_getDevice if torch.cuda.is_available() else lambda: None,
        "dense": dense,
        "device_guard": torch.cuda.device,
        "device_of": device_of,
        "empty": torch.empty,
        "empty_channels_last": empty_channels_last,
        "empty_like": torch.empty_like,
        "grad_enabled": torch.is_grad_enabled,
        "inference_mode": torch.is_inference_mode_enabled,
        "is_compiling": torch.compiler.is_compiling,
        "number": functools.partial(normalize_one, spec),
        "overlaps": overlaps,
        "strided": torch.strided,
        "refuse_large": functools.partial(refuse_large, spec),
        "solve": functools.partial(_solve, fail["fail_unsolvable"]),
        "undisturbed": undisturbed,
        "wrote": torch.autograd.graph.increment_version,
    }
    filename = f"<tileops {spec.name}>"
    exec(compile(source, filename, "exec"), scope)
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    return Compiled(**{name: scope[name] for name in Compiled._fields if name != "source"}, source=source)


def _solve(fail: Any, slot: str, text: str, function: Callable[[int], int], size: int, shape: Any) -> int:
    """The `x >= 0` with `function(x) == size`, for a function that is linear in `x`."""
    at0, at1 = function(0), function(1)
    slope = at1 - at0
    if slope == 0 or (size - at0) % slope:
        raise fail(slot, text, size, shape)
    found = (size - at0) // slope
    if found < 0 or function(found) != size:
        raise fail(slot, text, size, shape)
    return found
