"""The mainloop: tiles of two operands on their way from memory to the tensor cores.

Every product of this family is this loop over K. A schedule says which tiles of the output a block computes
and over which part of K; an epilogue says what becomes of the sums. Both are in `schedules`.
"""

from typing import Any, NamedTuple

import tilelang.language as T

F32 = "float32"
SCALES = 32  # TMA writes to multiples of 128 bytes of shared memory, also where a tile needs fewer scales


class Tile(NamedTuple):
    """The output tile of a block, how many steps of K are loaded ahead, and its computing threads.

    Attributes:
        depth: The K extent of a step.
        pieces: In how many pieces, side by side, the result leaves through shared memory.
        blocks: How many blocks share a multiprocessor.
    """

    rows: int
    cols: int
    stages: int
    threads: int
    depth: int = 64
    pieces: int = 1
    blocks: int = 1

    @property
    def registers(self) -> tuple[int, int]:
        """Registers of a loading and of a computing thread: what `blocks` blocks leave for each."""
        loading = 40
        all_threads = self.threads + 128
        each = 65536 // (self.blocks * all_threads) // 8 * 8
        return loading, min(232, (each * all_threads - loading * 128) // self.threads // 8 * 8)


class Operands(NamedTuple):
    """What is multiplied.

    Attributes:
        dtype: Of both operands in memory.
        trans_a: Whether a is stored (k, m).
        trans_b: Whether b is stored (n, k).
        lead: The batch, if there is one: a leading dimension of both.
        blocks: Whether float8 operands carry a scale for every row and 128 elements of K.
    """

    dtype: str
    trans_a: bool = False
    trans_b: bool = True
    lead: tuple[Any, ...] = ()
    blocks: bool = False

    @property
    def promoted(self) -> bool:
        """Whether the sum of each step is added in float32: float8 tensor cores keep 14 bits of it."""
        return self.dtype.startswith("float8")

    @property
    def whole(self) -> bool:
        """Whether float8 operands carry one scale each."""
        return self.promoted and not self.blocks

    def stored(self, m: Any, n: Any, k: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Shapes of a and b in memory."""
        a = (k, m) if self.trans_a else (m, k)
        b = (n, k) if self.trans_b else (k, n)
        return (*self.lead, *a), (*self.lead, *b)


class Chip(NamedTuple):
    """What a block holds: a tile of each operand, their scales, the sums, and those of one step."""

    a: Any
    b: Any
    scale_a: Any
    scale_b: Any
    acc: Any
    step: Any


def allocate(kind: Operands, tile: Tile, dtype: str | None = None) -> Chip:
    """The storage of a block; `dtype` is that of the operands on chip where it is not the one in memory."""
    rows, cols, depth = tile.rows, tile.cols, tile.depth
    dtype = dtype or kind.dtype
    return Chip(
        T.alloc_shared((depth, rows) if kind.trans_a else (rows, depth), dtype),
        T.alloc_shared((cols, depth) if kind.trans_b else (depth, cols), dtype),
        T.alloc_shared((max(rows, SCALES),), F32) if kind.blocks else None,
        T.alloc_shared((max(cols, SCALES),), F32) if kind.blocks else None,
        T.alloc_fragment((rows, cols), F32),
        T.alloc_fragment((rows, cols), F32) if kind.promoted else None,
    )


def part(X: Any, at: tuple[Any, ...], row: Any, rows: int, k: Any, depth: int, transposed: bool) -> Any:
    """The (rows, depth) tile of an operand in memory, or (depth, rows) where it is stored transposed."""
    across, along = slice(row, row + rows), slice(k, k + depth)
    return X[(*at, along, across) if transposed else (*at, across, along)]


@T.macro
def load(X, s, at, row, rows, k, depth, transposed):
    """A tile by TMA; outside of the operand it is zero."""
    T.copy(part(X, at, row, rows, k, depth, transposed), s)


@T.macro
def load_guarded(X, s, at, row, rows, k, depth, transposed):
    """The same element by element, for rows that are not whole 16 bytes, converted to the dtype of ``s``."""
    if transposed:
        for i, j in T.Parallel(depth, rows):
            s[i, j] = T.cast(X[(*at, k + i, row + j)], s.dtype)
    else:
        for i, j in T.Parallel(rows, depth):
            s[i, j] = T.cast(X[(*at, row + i, k + j)], s.dtype)


@T.macro
def multiply(A, B, scales, chip, at, row, col, first, steps, kind, tile, guarded=False):
    """``acc += a[row:, k] @ b[k, col:]`` over ``steps`` tiles of K from tile ``first``.

    ``at`` are the leading indices of a and b. Block scales are stored (K / 128, rows), one step of K a row;
    with guarded loads (rows, K / 128).
    """
    for ko in T.Pipelined(steps, num_stages=tile.stages):
        if guarded:
            load_guarded(
                A, chip.a, at[0], row, tile.rows, (first + ko) * tile.depth, tile.depth, kind.trans_a
            )
            load_guarded(
                B, chip.b, at[1], col, tile.cols, (first + ko) * tile.depth, tile.depth, not kind.trans_b
            )
        else:
            load(A, chip.a, at[0], row, tile.rows, (first + ko) * tile.depth, tile.depth, kind.trans_a)
            load(B, chip.b, at[1], col, tile.cols, (first + ko) * tile.depth, tile.depth, not kind.trans_b)
        if kind.blocks and guarded:
            for i in T.Parallel(tile.rows):
                chip.scale_a[i] = scales[0][row + i, first + ko]
            for i in T.Parallel(tile.cols):
                chip.scale_b[i] = scales[1][col + i, first + ko]
        elif kind.blocks:
            T.copy(scales[0][first + ko, row : row + max(tile.rows, SCALES)], chip.scale_a)
            T.copy(scales[1][first + ko, col : col + max(tile.cols, SCALES)], chip.scale_b)
        T.gemm(
            chip.a,
            chip.b,
            chip.step if kind.promoted else chip.acc,
            transpose_A=kind.trans_a,
            transpose_B=kind.trans_b,
            policy=T.GemmWarpPolicy.FullRow,
            clear_accum=kind.promoted,
        )
        if kind.blocks:
            for i, j in T.Parallel(tile.rows, tile.cols):
                chip.acc[i, j] += chip.step[i, j] * (chip.scale_a[i] * chip.scale_b[j])
        elif kind.promoted:
            for i, j in T.Parallel(tile.rows, tile.cols):
                chip.acc[i, j] += chip.step[i, j]
