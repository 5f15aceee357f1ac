"""What index tensors may hold: checked for tensors on the CPU, and by `op.validate` on any device.

A call on a GPU does not look, since that would wait for the GPU; programs clamp or skip what is out of range.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from tileops.errors import CallError
from tileops.spec.model import OpSpec

__all__ = ["value_checks"]


def value_checks(spec: OpSpec) -> dict[str, Callable[..., None]]:
    """The functions that generated code calls, by the names in `values` of the manifest."""
    return {f"values_{name}": _bind(spec, function) for name, function in _CHECKS.items()}


def _bind(spec: OpSpec, function: Callable[..., tuple[Tensor, str]]) -> Callable[..., None]:
    def check(slot: str, tensor: Tensor | None, *arguments: Any) -> None:
        if tensor is None or tensor.is_meta or tensor.numel() == 0:
            return
        wrong, need = function(tensor, *arguments)
        if not wrong.any():
            return
        at = tuple(wrong.nonzero()[0].tolist())
        raise CallError(f"{spec.name}: {slot} must hold {need}, got {tensor[at].item()} at {list(at)}")

    return check


def _range(tensor: Tensor, least: int, most: int) -> tuple[Tensor, str]:
    """Every value from `least` to `most`, both included."""
    return ~((tensor >= least) & (tensor <= most)), f"values in [{least}, {most}]"


def _columns(tensor: Tensor, *most: int) -> tuple[Tensor, str]:
    """In each column of the last axis, every value from 0 to its `most`."""
    wrong = (tensor < 0) | (tensor > torch.tensor(most, dtype=torch.int64, device=tensor.device))
    return wrong, " and ".join(f"values in [0, {last}] in column {n}" for n, last in enumerate(most))


def _offsets(tensor: Tensor, total: int) -> tuple[Tensor, str]:
    """Prefix sums: 0 first, never less than the one before, `total` last."""
    wrong = torch.zeros_like(tensor, dtype=torch.bool)
    wrong[0] = tensor[0] != 0
    wrong[1:] = tensor[1:] < tensor[:-1]
    wrong[-1] |= tensor[-1] != total
    return wrong, f"prefix sums from 0 to {total} that do not decrease"


def _pages(tensor: Tensor, lengths: Tensor, page_size: int, pages: int) -> tuple[Tensor, str]:
    """In each row, the entries that its length needs are pages; what lies beyond them is never read."""
    used = torch.arange(tensor.shape[1], device=tensor.device) * page_size < lengths[:, None]
    return used & ((tensor < 0) | (tensor >= pages)), f"pages in [0, {pages - 1}] where the lengths need one"


def _room(tensor: Tensor, offsets: Tensor, capacity: int) -> tuple[Tensor, str]:
    """Lengths of sequences that grow by what the prefix sums `offsets` hold of each, within `capacity`."""
    wrong = (tensor < 0) | (tensor.long() + offsets.long().diff() > capacity)
    return wrong, f"lengths from 0 on that with the new rows are at most {capacity}"


def _grown_pages(
    tensor: Tensor, lengths: Tensor, offsets: Tensor, page_size: int, pages: int
) -> tuple[Tensor, str]:
    """The same where each length grows by what the prefix sums `offsets` hold of its sequence."""
    return _pages(tensor, lengths + offsets.diff(), page_size, pages)


_CHECKS: dict[str, Callable[..., tuple[Tensor, str]]] = {
    "range": _range,
    "columns": _columns,
    "offsets": _offsets,
    "pages": _pages,
    "room": _room,
    "grown_pages": _grown_pages,
}
