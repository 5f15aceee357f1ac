"""From a call to its programs: dtypes as registers hold them, tensors as the programs see them."""

import math
from collections.abc import Callable
from typing import Any

import torch

from tileops.kernel import Key
from tileops.kernels.elements import ITEM_SIZE, plain, stored
from tileops.kernels.reduction.operators import OPERATORS, WORDS, Reduction


def flag(key: Key, name: str) -> bool:
    """A static value, which operators of one axis do not declare."""
    return bool(dict(key.static).get(name))


def walked(key: Key, rows: bool) -> tuple[Reduction, str, int]:
    """How memory is read: operator, dtype of elements, and of what an aligned length is a multiple.

    What only asks whether elements are 0 takes small ones of a row by the word of 32 bits.
    """
    dtype = key.dtypes[0][1]
    size = ITEM_SIZE[dtype]
    if rows and key.aligned and key.op in WORDS and size <= 4:
        return WORDS[key.op](dtype), "int32", 4 * size
    return OPERATORS[key.op](dtype), stored(dtype), 16


def words(x: torch.Tensor, dtype: str) -> torch.Tensor:
    """The same memory as elements of another dtype."""
    return x.view(getattr(torch, dtype))


def gathered(x: torch.Tensor, fold: tuple[int, ...]) -> torch.Tensor:
    """The input with its reduced axes last: a copy, unless they are last already."""
    if len(fold) == 3:
        return x
    return x.view(fold).permute(*range(0, len(fold), 2), *range(1, len(fold), 2)).contiguous()


def workspace(op: Reduction, x: torch.Tensor, count: int) -> torch.Tensor:
    """Room for `count` states."""
    return torch.empty(op.parts * count, dtype=getattr(torch, op.acc), device=x.device)


def launcher(op: Reduction, launch: Callable[..., None]) -> Callable[..., None]:
    """``launch(run, x, y, z, fold, divisor)`` as it is called, where there is something to join.

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
        if count == 1 and op.alone is not None:
            op.alone(x.view(outputs[0].shape), out=outputs[0])
            return
        divisor = max(float(count - correction), 0.0)
        launch(run, plain(x), plain(outputs[0]), plain(outputs[-1]), fold, divisor)

    if op.outputs == 1:
        return lambda run, x, y, fold, correction=0: call(run, x, (y,), fold, correction)
    return lambda run, x, y, z, fold, correction: call(run, x, (y, z), fold, correction)
