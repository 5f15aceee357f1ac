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
        group: How many steps of float8 products are in flight before their sums are promoted.
        turns: Whether two warp groups take turns with the tensor cores, so that one promotes the sums of its
            step while the step of the other is in flight.
    """

    rows: int
    cols: int
    stages: int
    threads: int
    depth: int = 64
    pieces: int = 1
    blocks: int = 1
    group: int = 1
    turns: bool = False

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


TURN = 6  # named barriers TURN and TURN + 1; the compiler's own have lower numbers


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
        product(chip, kind)
        if kind.promoted:
            promote(chip, kind, tile)


@T.macro
def product(chip, kind):
    """The product of a step, added to the sums, or apart where it is promoted."""
    T.gemm(
        chip.a,
        chip.b,
        chip.step if kind.promoted else chip.acc,
        transpose_A=kind.trans_a,
        transpose_B=kind.trans_b,
        policy=T.GemmWarpPolicy.FullRow,
        clear_accum=kind.promoted,
    )


@T.macro
def begin(chip):
    """The product of a float8 step begins; `T.wait_wgmma` waits for it."""
    T.wgmma_gemm(
        chip.a, chip.b, chip.step, transpose_B=True, policy=T.GemmWarpPolicy.FullRow, clear_accum=True
    )


@T.macro
def promote(chip, kind, tile):
    """Add the sums of a step in float32, times the block scales."""
    for i, j in T.Parallel(tile.rows, tile.cols):
        if kind.blocks:
            chip.acc[i, j] += chip.step[i, j] * (chip.scale_a[i] * chip.scale_b[j])
        else:
            chip.acc[i, j] += chip.step[i, j]


@T.macro
def first_turn():
    """Before all loops: the first of two warp groups may begin."""
    if T.get_thread_binding(0) < 128:
        T.named_barrier_arrive(TURN, 256)


@T.macro
def my_turn():
    T.call_extern("handle", "tl::__sync_thread_partial", TURN + T.get_thread_binding(0) // 128, 256)


@T.macro
def your_turn():
    T.named_barrier_arrive(TURN + 1 - T.get_thread_binding(0) // 128, 256)


@T.macro
def hold(chip, never):
    """Keep the operands from being overwritten up to here.

    A tile that TMA filled is handed back after its last reader in the program, but a product that is still in
    flight has not read it yet. This reader, which never runs, stands after the wait for the product.
    """
    if never:
        for i, j in T.Parallel(*chip.step.shape):
            chip.step[i, j] = T.cast(chip.a[i, 0], F32) + T.cast(chip.b[j, 0], F32)


@T.macro
def load_step(A, B, scales, chip, at, row, col, step, kind, tile):
    """Both operands of a step, and their block scales."""
    load(A, chip.a, at[0], row, tile.rows, step * tile.depth, tile.depth, kind.trans_a)
    load(B, chip.b, at[1], col, tile.cols, step * tile.depth, tile.depth, not kind.trans_b)
    if kind.blocks:
        T.copy(scales[0][step, row : row + max(tile.rows, SCALES)], chip.scale_a)
        T.copy(scales[1][step, col : col + max(tile.cols, SCALES)], chip.scale_b)


@T.macro
def load_steps(A, B, scales, chips, at, row, col, step, kind, tile):
    """Steps of K one behind another, one for each of ``chips``."""
    load_step(A, B, scales, chips[0], at, row, col, step, kind, tile)
    if len(chips) > 1:
        load_steps(A, B, scales, chips[1:], at, row, col, step + 1, kind, tile)


@T.macro
def begin_all(chips):
    """The products of all steps begin."""
    begin(chips[0])
    if len(chips) > 1:
        begin_all(chips[1:])


@T.macro
def end_all(chips, kind, tile, never):
    """Each product is promoted as it ends."""
    T.wait_wgmma(len(chips) - 1)
    hold(chips[0], never)
    promote(chips[0], kind, tile)
    if len(chips) > 1:
        end_all(chips[1:], kind, tile, never)


@T.macro
def multiply_ahead(A, B, scales, chips, at, row, col, steps, kind, tile, never):
    """The loop of float8 operands with ``tile.group`` steps in flight, or with turns of two warp groups.

    Beyond the last step both operands are zero. ``never`` is false, but not known to be.
    """
    for ko in T.Pipelined(T.ceildiv(steps, tile.group), num_stages=tile.stages):
        load_steps(A, B, scales, chips, at, row, col, ko * tile.group, kind, tile)
        if tile.turns:
            my_turn()
        begin_all(chips)
        if tile.turns:
            your_turn()
        end_all(chips, kind, tile, never)
