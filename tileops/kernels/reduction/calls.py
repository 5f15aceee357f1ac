"""From a call to its programs: dtypes as registers hold them, tensors as the programs see them."""

import math
from collections.abc import Callable
from typing import Any

import torch

from tileops.kernel import Key
from tileops.kernels.reduction.operators import OPERATORS, SIZES, WORDS, Reduction

BLOCKS = 2048  # that a split aims at
WIDE = {
    "float32": "float4",
    "int8": "int4",
    "int16": "int4",
    "int32": "int4",
    "int64": "longlong2",
}  # 16 bytes; of others uint4


def reduction(key: Key) -> Reduction:
    """The operator of a key."""
    return OPERATORS[key.op](key.dtypes[0][1])


def flag(key: Key, name: str) -> bool:
    """A static value, which operators of one axis do not declare."""
    return bool(dict(key.static).get(name))


def stored(dtype: str) -> str:
    """The dtype of a tensor's elements in registers: there are no vectors of bool, nor complex numbers."""
    return {"bool": "uint8", "complex64": "int64"}.get(dtype, dtype)


def walked(key: Key) -> tuple[Reduction, str, int]:
    """How rows are read: operator, dtype of elements, and what their number is a multiple of when aligned.

    What only asks whether elements are 0 takes small ones by the word of 32 bits.
    """
    dtype = key.dtypes[0][1]
    size = SIZES.get(dtype, 4)
    if key.aligned and key.op in WORDS and size <= 4:
        return WORDS[key.op](dtype), "int32", 4 * size
    return reduction(key), stored(dtype), 16


def words(x: torch.Tensor, dtype: str) -> torch.Tensor:
    """The same memory as elements of another dtype."""
    return x.view(getattr(torch, dtype))


def claims(dtype: str, aligned: bool) -> tuple[str, ...]:
    """What the generated source must show."""
    return (WIDE.get(dtype, "uint4"),) if aligned else ()


def plain(x: torch.Tensor) -> torch.Tensor:
    """A tensor as programs see it."""
    if x.dtype is torch.complex64:
        return x.view(torch.int64)
    return x.view(torch.uint8) if x.dtype is torch.bool else x


def gathered(x: torch.Tensor, fold: tuple[int, ...]) -> torch.Tensor:
    """The input with its reduced axes last: a copy, unless they are last already."""
    if len(fold) == 3:
        return x
    return x.view(fold).permute(*range(0, len(fold), 2), *range(1, len(fold), 2)).contiguous()


def split(tiles: int, blocks: int) -> tuple[int, int]:
    """(pieces, tiles of each) for `tiles` that `blocks` blocks would walk: enough blocks to fill the chip."""
    each = -(-tiles // min(tiles, max(1, BLOCKS // blocks)))
    return -(-tiles // each), each


def workspace(op: Reduction, x: torch.Tensor, count: int) -> torch.Tensor:
    """Room for `count` states."""
    return torch.empty(op.parts * count, dtype=getattr(torch, op.acc), device=x.device)


def launcher(op: Reduction, launch: Callable[..., None]) -> Callable[..., None]:
    """``launch(run, x, y, z, fold, divisor)`` as it is called, where there is something to reduce.

    `z` is the second result, or the first again; the divisor is the number of elements less the correction.
    """

    def call(
        run: Any, x: torch.Tensor, outputs: tuple[torch.Tensor, ...], fold: Any, correction: int
    ) -> None:
        count = math.prod(fold[1::2])
        if count == 0:
            for output in outputs:
                output.fill_(op.nothing)
            return
        divisor = max(float(count - correction), 0.0)
        launch(run, plain(x), plain(outputs[0]), plain(outputs[-1]), fold, divisor)

    if op.outputs == 1:
        return lambda run, x, y, fold, correction=0: call(run, x, (y,), fold, correction)
    return lambda run, x, y, z, fold, correction: call(run, x, (y, z), fold, correction)
