"""Schedules and epilogues: which tiles of the output a block computes, and how they leave."""

from typing import Any

import tilelang.language as T
import torch

from tileops.kernels.gemm.tiles import F32, allocate, first_turn, multiply, multiply_ahead

SMS = 132
PANEL = 8  # rows of tiles that are walked together, so that what they load is shared through the L2 cache
STORED = 4  # a barrier that TileLang does not use itself
SUM, LOADS = 512, 8  # elements of a block that adds partial products, and how many it loads at a time


def place(i: Any, tm: Any, tn: Any) -> tuple[Any, Any]:
    """Row and column of the i-th of ``tm`` by ``tn`` tiles, down the columns of one panel after another."""
    first = T.truncdiv(i, PANEL * tn) * PANEL
    height = T.min(PANEL, tm - first)
    inside = T.truncmod(i, PANEL * tn)
    return first + T.truncmod(inside, height), T.truncdiv(inside, height)


@T.macro
def share_chip(tile):
    """Registers for loading and computing threads, where some blocks shall share a multiprocessor."""
    T.annotate_min_blocks_per_sm(tile.blocks)
    T.annotate_producer_reg_dealloc(tile.registers[0])
    T.annotate_consumer_reg_alloc(tile.registers[1])


@T.macro
def finish(acc, scales, bias, col, n, kind, tile):
    """The scales of whole float8 operands, and a bias of each column."""
    if kind.whole:
        for i, j in T.Parallel(tile.rows, tile.cols):
            acc[i, j] *= scales[0][0] * scales[1][0]
    if bias is not None:
        for i, j in T.Parallel(tile.rows, tile.cols):
            acc[i, j] += T.cast(bias[T.min(col + j, n - 1)], F32)  # what lies outside is not stored


@T.macro
def store(acc, out, D, at, row, col, tile):
    """The sums leave through shared memory, by TMA; what lies outside of the output is dropped."""
    if tile.pieces == 1:
        T.copy(acc, out)
        T.copy(out, D[(*at, slice(row, row + tile.rows), slice(col, col + tile.cols))])
    else:
        width = tile.cols // tile.pieces
        for piece in T.unroll(tile.pieces):
            left = col + piece * width
            T.copy(acc[:, piece * width : (piece + 1) * width], out)
            T.copy(out, D[(*at, slice(row, row + tile.rows), slice(left, left + width))])


@T.macro
def await_store(tile):
    """The computing threads of a block that stays wait until a result has left shared memory.

    TileLang compares places of results and operands in elements, and where these differ in size it finds that
    loads for the next tile might overwrite the result. Without this wait it makes all threads wait, so that
    nothing is loaded meanwhile.
    """
    T.sync_threads(STORED, tile.threads)


@T.macro
def walk(A, B, scales, bias, D, steps, batch, kind, tile, worker, workers):
    """The tiles of a block that stays: the loads of the next one begin while a result leaves."""
    m, n = D.shape[-2:]
    chip, out = allocate(kind, tile), T.alloc_shared((tile.rows, tile.cols // tile.pieces), D.dtype)
    ahead = tile.group > 1 or tile.turns
    chips = [chip, *(allocate(kind, tile)._replace(acc=chip.acc) for _ in range(tile.group - 1))]
    share_chip(tile)
    if tile.turns:
        first_turn()
    tm, tn = T.ceildiv(m, tile.rows), T.ceildiv(n, tile.cols)
    for turn in T.serial(T.ceildiv(tm * tn * batch - worker, workers)):
        which, by, bx = T.alloc_var("int32"), T.alloc_var("int32"), T.alloc_var("int32")
        which = T.truncdiv(worker + turn * workers, tm * tn)
        by, bx = place(worker + turn * workers - which * (tm * tn), tm, tn)
        at = (which,) * len(kind.lead)
        T.clear(chip.acc)
        row, col = by * tile.rows, bx * tile.cols
        if ahead:
            multiply_ahead(A, B, scales, chips, (at, at), row, col, steps, kind, tile, workers < 0)
        else:
            multiply(A, B, scales, chip, (at, at), row, col, 0, steps, kind, tile)
        finish(chip.acc, scales, bias, bx * tile.cols, n, kind, tile)
        store(chip.acc, out, D, at, by * tile.rows, bx * tile.cols, tile)
        if D.dtype != kind.dtype:
            await_store(tile)


@T.macro
def guarded(A, B, scales, bias, D, steps, at, row, col, kind, tile, dtype):
    """One tile of any sizes: operands of the type ``dtype`` on chip, element by element under a guard."""
    chip = allocate(kind, tile, dtype)
    T.clear(chip.acc)
    multiply(A, B, scales, chip, (at, at), row, col, 0, steps, kind, tile, guarded=True)
    finish(chip.acc, scales, bias, col, D.shape[-1], kind, tile)
    T.copy(chip.acc, D[(*at, slice(row, row + tile.rows), slice(col, col + tile.cols))], disable_tma=True)


def tiles(m: int, n: int, rows: int, cols: int) -> int:
    """How many tiles cover an output."""
    return -(-m // rows) * -(-n // cols)


def share(steps: int, count: int) -> int:
    """Steps of K for each block where ``count`` output tiles are split until they fill the chip."""
    return max(4, -(-steps // max(1, SMS // count)))


def empty_sum(d: torch.Tensor, bias: torch.Tensor | None = None) -> None:
    """A sum of no terms."""
    if bias is None:
        d.zero_()
    else:
        d.copy_(bias.expand_as(d))
