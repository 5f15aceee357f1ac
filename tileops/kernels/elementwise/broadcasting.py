"""Broadcasting on the host: the shapes of a call to the few numbers that a program finds its elements by.

Neighbouring axes that all operands walk alike are one. What is left are rarely more than four: the program
takes four, and a call with more is launched once for each index of the outer ones.
"""

import functools
import itertools
import math
from collections.abc import Iterator

from tileops.spec.functions import broadcast

AXES, THREADS = 4, 256
UNROLL, NARROW = 2, 4  # vectors, or elements, of a thread
BLOCKS = 6  # on a multiprocessor
MOST = 2**31 - 2 * THREADS * NARROW  # elements that an int32 counts, with a last block that is not full

Axis = tuple[int, tuple[int, ...]]  # size, and the stride of each operand; the innermost stride is 0 or 1
Shape = tuple[int, ...]


@functools.lru_cache(4096)
def launches(shapes: tuple[Shape, ...], vector: int) -> tuple[tuple[int, ...], ...]:
    """The arguments of every launch: blocks, count, wide, the axes, each operand's places, the first output.

    With `wide` an element is a vector of 16 bytes: the innermost size is whole vectors. An operand that is
    the same along the innermost axis counts its strides in elements, the others theirs in such vectors.
    """
    axes = merged(shapes)
    size, strides = axes[-1]
    wide = size % vector == 0
    if wide:
        units = [vector if stride else 1 for stride in strides]
        axes = [(n, tuple(s // u for s, u in zip(each, units, strict=True))) for n, each in axes[:-1]]
        axes.append((size // vector, strides))
    return tuple(_launch(part, first, wide) for part, first in _parts(axes))


def merged(shapes: tuple[Shape, ...]) -> list[Axis]:
    """The axes of the result, outermost first, without those of size 1, and as few as will do."""
    result = broadcast(*shapes)
    operands = [_strides(shape, len(result)) for shape in shapes]
    axes: list[Axis] = []
    for size, *strides in zip(result, *operands, strict=True):
        if size == 1:
            continue
        if axes and all(outer == s * size for outer, s in zip(axes[-1][1], strides, strict=True)):
            size *= axes.pop()[0]
        axes.append((size, tuple(strides)))
    return axes or [(1, (0,) * len(shapes))]


def _strides(shape: Shape, rank: int) -> list[int]:
    """Strides of a contiguous tensor along the axes of the result: 0 where it is the same all along."""
    full = (1,) * (rank - len(shape)) + shape
    return [0 if n == 1 else math.prod(full[d + 1 :]) for d, n in enumerate(full)]


def _parts(axes: list[Axis]) -> Iterator[tuple[list[Axis], tuple[int, ...]]]:
    """Pieces of at most `AXES` axes and `MOST` elements, with where each operand and the result begin."""
    sizes = [n for n, _ in axes]
    steps = [(*each, math.prod(sizes[d + 1 :])) for d, (_, each) in enumerate(axes)]
    inside = max(0, len(axes) - AXES)
    while math.prod(sizes[inside + 1 :]) > MOST:
        inside += 1
    most = max(1, MOST // math.prod(sizes[inside + 1 :]))
    ranges = [range(n) for n in sizes[:inside]] + [range(0, sizes[inside], most)]
    for index in itertools.product(*ranges):
        first = [sum(i * steps[d][k] for d, i in enumerate(index)) for k in range(len(steps[0]))]
        outermost = (min(most, sizes[inside] - index[-1]), axes[inside][1])
        yield [outermost, *axes[inside + 1 :]], tuple(first)


def _launch(axes: list[Axis], first: tuple[int, ...], wide: bool) -> tuple[int, ...]:
    operands = len(first) - 1
    axes = [(1, (0,) * operands)] * (AXES - len(axes)) + axes
    count = math.prod(n for n, _ in axes)
    blocks = -(-count // (THREADS * (UNROLL if wide else NARROW)))
    places = [x for k in range(operands) for x in (*(each[k] for _, each in axes), first[k])]
    sizes = [n for n, _ in axes[1:]]
    return (blocks, count, int(wide), *sizes, *map(reciprocal, sizes), *places, first[-1])


def reciprocal(size: int) -> int:
    """`shift << 32 | factor` with `i * factor >> shift == i // size` for every i below 2**31."""
    shift = 31 + (size - 1).bit_length()
    return shift << 32 | -(-(1 << shift) // size)
