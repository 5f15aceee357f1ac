"""The pieces of a reduction: a tile of elements into states, states of a block into results.

A tile is (batch, A, B, width): every lane (a, b, j) reads `batch` elements of the reduced axis, at positions
``first + u * step[0] + a * step[1] + b * step[2] + j * step[3]``, and keeps a state of its own; states are
fragments (A, B, width), one for each part. Nothing is exchanged until the last element is read.
"""

from typing import Any

import tilelang.language as T

from tileops.kernels.reduction.operators import F32, I32, I64, LOG2E, Reduction, largest, pivot

Shape = tuple[int, int, int]
BATCH = 4  # 16-byte accesses of a thread that are in flight
FEW = 16  # states that one thread joins


def fragments(op: Reduction, shape: Shape) -> list[Any]:
    """States in registers."""
    return [T.alloc_fragment(shape, op.acc) for _ in range(op.parts)]


def shared(op: Reduction, shape: Shape) -> list[Any]:
    """States in shared memory."""
    return [T.alloc_shared(shape, op.acc) for _ in range(op.parts)]


def at(states: list[Any], *index: Any) -> tuple[Any, ...]:
    """The state at a place."""
    return tuple(part[index] for part in states)


def threads_of(shape: tuple[int, ...]) -> Any:
    """The layout of a tile or of its states: lane (a, b) is a thread, which holds the rest."""
    *batch, _, across, width = shape
    if batch:
        return T.Fragment(shape, forward_fn=lambda u, a, b, j: (a * across + b, u * width + j))
    return T.Fragment(shape, forward_fn=lambda a, b, j: (a * across + b, j))


def layouts(x: Any, *states: list[Any]) -> dict[Any, Any]:
    """Layouts of the tile of elements and of its states."""
    return {buffer: threads_of(buffer.shape) for buffer in (x, *(part for parts in states for part in parts))}


def lanes_of(op: Reduction, states: list[Any], shape: Shape) -> list[Any]:
    """What lanes hold while they read: their states, or the largest element and its number."""
    if op.kind != "position":
        return states
    return [T.alloc_fragment(shape, op.element), T.alloc_fragment(shape, I32)]


@T.macro
def reset(op, states, shape):
    """The state of no elements everywhere."""
    for a, b, j in T.Parallel(*shape):
        for part, empty in zip(states, op.empty, strict=True):
            part[a, b, j] = empty


@T.macro
def absorb(op, states, index, other):
    """Joins another state to the one at `index`: all parts are computed before one is written."""
    joined = []
    for part in op.join(at(states, *index), other):
        joined.append(part)
    for k, part in enumerate(joined):
        states[k][index] = part


def inside(first, step, limit, u, a, b):
    """Whether a lane's element number `u` is one; with 16-byte accesses all of an access are."""
    return along(first, step, u, a, b, 0) < limit


def along(first, step, u, a, b, j):
    """The place of a lane's element number `u` along the reduced axis."""
    return first + u * step[0] + a * step[1] + b * step[2] + j * step[3]


@T.macro
def begin(op, mine, shape):
    """What lanes hold before they read."""
    if op.kind == "position":
        for a, b, j in T.Parallel(*shape):
            mine[0][a, b, j] = op.lowest
            mine[1][a, b, j] = 0
    else:
        reset(op, mine, shape)


@T.macro
def take(op, mine, x, middle, first, slot, step, limit, batch, shape):
    """Takes a tile of elements into its lanes; those from `limit` on are none."""
    if op.kind == "moments":
        take_moments(op, mine, x, middle, first, step, limit, batch, shape)
    elif op.kind == "exponentials":
        take_exponentials(op, mine, x, first, step, limit, batch, shape)
    else:
        for u in T.unroll(batch):
            for a, b, j in T.Parallel(*shape):
                value = op.load(x[u, a, b, j])
                if op.padded:
                    absorb(op, mine, (a, b, j), (value,))
                elif op.kind == "fold":
                    there = inside(first, step, limit, u, a, b)
                    absorb(op, mine, (a, b, j), (T.if_then_else(there, value, op.empty[0]),))
                else:
                    known = T.if_then_else(inside(first, step, limit, u, a, b), value, op.lowest)
                    mine[1][a, b, j] = T.if_then_else(
                        op.wins(known, mine[0][a, b, j]), slot + u, mine[1][a, b, j]
                    )
                    mine[0][a, b, j] = largest(mine[0][a, b, j], known)


@T.macro
def take_moments(op, mine, x, middle, first, step, limit, batch, shape):
    """Count, mean and squared distances of a lane's elements, by two passes over them, joined to its own.

    Means are counted from `middle`. No sum exceeds the elements.
    """
    count, mean, squares = states = fragments(op, shape)
    reset(op, states, shape)
    for u in T.unroll(batch):
        for a, b, j in T.Parallel(*shape):
            there = inside(first, step, limit, u, a, b)
            count[a, b, j] += T.if_then_else(there, 1.0, 0.0)
    for u in T.unroll(batch):
        for a, b, j in T.Parallel(*shape):
            share = (op.load(x[u, a, b, j]) - middle[a, b, j]) * (1.0 / T.max(count[a, b, j], 1.0))
            mean[a, b, j] += T.if_then_else(inside(first, step, limit, u, a, b), share, 0.0)
    for u in T.unroll(batch):
        for a, b, j in T.Parallel(*shape):
            away = (op.load(x[u, a, b, j]) - middle[a, b, j]) - mean[a, b, j]
            squares[a, b, j] += T.if_then_else(inside(first, step, limit, u, a, b), away * away, 0.0)
    for a, b, j in T.Parallel(*shape):
        absorb(op, mine, (a, b, j), (count[a, b, j], mean[a, b, j], squares[a, b, j]))


@T.macro
def take_exponentials(op, mine, x, first, step, limit, batch, shape):
    """The maximum of a lane and the sum of exponentials relative to it: one more exponential a batch."""
    top = T.alloc_fragment(shape, F32)
    for a, b, j in T.Parallel(*shape):
        top[a, b, j] = mine[0][a, b, j]
    for u in T.unroll(batch):
        for a, b, j in T.Parallel(*shape):
            known = T.if_then_else(inside(first, step, limit, u, a, b), op.load(x[u, a, b, j]), op.empty[0])
            top[a, b, j] = T.max(top[a, b, j], known)
    for a, b, j in T.Parallel(*shape):
        mine[1][a, b, j] = mine[1][a, b, j] * T.exp2((mine[0][a, b, j] - pivot(top[a, b, j])) * LOG2E)
        mine[0][a, b, j] = top[a, b, j]
    for u in T.unroll(batch):
        for a, b, j in T.Parallel(*shape):
            known = T.if_then_else(inside(first, step, limit, u, a, b), op.load(x[u, a, b, j]), op.empty[0])
            mine[1][a, b, j] += T.exp2((known - pivot(top[a, b, j])) * LOG2E)


@T.macro
def seal(op, mine, states, first, step, limit, shape):
    """The states of lanes that have read everything: a position is counted from the start of the row."""
    if op.kind == "position":
        for a, b, j in T.Parallel(*shape):
            place = T.cast(along(first, step, mine[1][a, b, j], a, b, j), I64)
            states[0][a, b, j] = T.if_then_else(place < limit, op.order(mine[0][a, b, j]), T.min_value(I64))
            states[1][a, b, j] = place


@T.macro
def join_width(op, states, lanes, shape):
    """The states of neighbours that one access has read, joined: `lanes` is (A, B, 1)."""
    reset(op, lanes, (shape[0], shape[1], 1))
    for j in T.unroll(shape[2]):
        for a, b, _ in T.Parallel(shape[0], shape[1], 1):
            absorb(op, lanes, (a, b, 0), at(states, a, b, j))


@T.macro
def publish(states, into):
    """States from registers to shared memory."""
    for part, other in zip(states, into, strict=True):
        T.copy(part, other)


@T.macro
def join_lanes(op, source, into, count, shape):
    """Joins `count` states of shared memory to each of `into`, (A, B, 1): every B-th lane to the same one."""
    reset(op, into, shape)
    for g in T.serial(count):
        for a, b, _ in T.Parallel(*shape):
            absorb(op, into, (a, b, 0), at(source, a, g * shape[1] + b, 0))


@T.macro
def join_row(op, states, into, shape):
    """The states of all lanes of a row, joined: `into` is (A, 1, 1)."""
    rows, lanes = shape[:2]
    if lanes == 1:
        join_width(op, states, into, shape)
    else:
        mine, ours = fragments(op, (rows, lanes, 1)), shared(op, (rows, lanes, 1))
        join_width(op, states, mine, shape)
        publish(mine, ours)
        if lanes <= FEW:
            join_lanes(op, ours, into, lanes, (rows, 1, 1))
        else:
            some, fewer = fragments(op, (rows, FEW, 1)), shared(op, (rows, FEW, 1))
            join_lanes(op, ours, some, lanes // FEW, (rows, FEW, 1))
            publish(some, fewer)
            join_lanes(op, fewer, into, FEW, (rows, 1, 1))


@T.macro
def join_columns(op, states, into, shape):
    """The states of the lanes that share columns, joined: `into` is (1, B, width), or of all lanes again."""
    ours = shared(op, shape)
    publish(states, ours)
    reset(op, into, into[0].shape)
    for g in T.serial(shape[0]):
        for a, b, j in T.Parallel(*into[0].shape):
            absorb(op, into, (a, b, j), at(ours, g, b, j))


@T.macro
def store(op, state, divisor, Y, Z, index):
    """Writes what comes of a state to one output, or to two."""
    for k, result in enumerate(op.finish(state, divisor)):
        (Y, Z)[k][index] = T.cast(result, Y.dtype)


@T.macro
def keep(P, state, index):
    """Writes a state to the workspace, whose first axis is the part."""
    for k, part in enumerate(state):
        P[(k, *index)] = part


def kept(op: Reduction, P: Any, there: Any, *index: Any) -> tuple[Any, ...]:
    """A state of the workspace, or that of no elements where there is none."""
    return tuple(T.if_then_else(there, P[(k, *index)], op.empty[k]) for k in range(op.parts))


@T.macro
def finish_pieces(op, Q, Y, Z, divisor, outer, count, width, blocks, across):
    """The second kernel of a split: joins `count` states of every result; `blocks` cover a row of results."""
    groups = min(32, 256 // across)
    shape = (groups, across, 1)
    with T.Kernel(T.cast(outer, "int32") * blocks, threads=groups * across) as bx:
        states, result = fragments(op, shape), fragments(op, (1, across, 1))
        o, c = T.truncdiv(bx, blocks), T.cast(T.truncmod(bx, blocks), "int64") * across
        reset(op, states, shape)
        for i in T.serial(T.ceildiv(count, groups)):
            for a, b, j in T.Parallel(*shape):
                s = i * groups + a
                absorb(op, states, (a, b, j), kept(op, Q, (s < count) & (c + b < width), o, s, c + b))
        join_columns(op, states, result, shape)
        for a, b, j in T.Parallel(1, across, 1):
            if c + b < width:
                store(op, at(result, a, b, j), divisor, Y, Z, (o, c + b))
