"""The pieces of attention as macros: loads of tiles, masks, the online softmax, and what is written.

Every forward program is built of these; `core` has the loop over keys.
"""

import math
from typing import Any, NamedTuple

import tilelang.language as T

F32 = "float32"
LOG2E = math.log2(math.e)
LN2 = math.log(2.0)
HUGE = 2.0**30  # of an exponent: the next one is 64 or more away


class Mask(NamedTuple):
    """Which keys the rows of a tile see.

    Row `i` is query `(first + i) // group` of a head, which stands at key `offset` plus that. It sees keys
    from `left` before its place to `right` after it, as far as they are among the first `keys`.
    """

    offset: Any
    first: Any
    group: Any
    keys: Any
    left: Any
    right: Any

    def place(self, i: Any) -> Any:
        """The key at which row `i` stands."""
        return self.offset + (self.first + i) // self.group


class Scale(NamedTuple):
    """A weight is `exp2(factor * f(s))`: f(s) is s or, where it is adjusted, s * inner or tanh(s * inner)."""

    inner: Any
    factor: Any
    cap: Any


@T.macro
def dense_rows(X, s, at, n0, rows, width, tma):
    """Rows from `n0` of batch and head `at` into shared memory; zeros beyond the tensor."""
    if tma:
        T.copy(X[at[0], n0 : n0 + rows, at[1], 0:width], s, prefer_instruction="tma")
    else:
        for i, j in T.Parallel(rows, width):
            s[i, j] = T.if_then_else(n0 + i >= 0, X[at[0], T.max(n0 + i, 0), at[1], j], T.cast(0, s.dtype))


@T.macro
def packed_rows(X, s, at, n0, rows, width, tma):
    """The same of a packed sequence that begins at row `at[0]`: beyond its end come rows of the next one."""
    if tma:
        T.copy(X[at[0] + n0 : at[0] + n0 + rows, at[1], 0:width], s, prefer_instruction="tma")
    else:
        for i, j in T.Parallel(rows, width):
            r = at[0] + n0 + i
            s[i, j] = T.if_then_else(r >= 0, X[T.max(r, 0), at[1], j], T.cast(0, s.dtype))


@T.macro
def grouped_queries(Q, s, b, hk, mask, queries, rows, width):
    """Queries of all heads of a group: row i is query i // group of head hk * group + i % group."""
    for i, j in T.Parallel(rows, width):
        r = mask.first + i
        q = T.min(r // mask.group, queries - 1)
        inside = r < queries * mask.group
        s[i, j] = T.if_then_else(inside, Q[b, q, hk * mask.group + r % mask.group, j], T.cast(0, s.dtype))


@T.macro
def adjust(s, scale, rows, cols):
    """What comes between the product and the mask, where scores are capped or may be scaled by 0 or less."""
    if scale.cap > 0.0:
        for i, j in T.Parallel(rows, cols):
            s[i, j] = T.tanh(s[i, j] * scale.inner)
    else:
        for i, j in T.Parallel(rows, cols):
            s[i, j] = s[i, j] * scale.inner


@T.macro
def hide(s, mask, n0, rows, cols):
    """-inf for keys outside the sequence or the window, where an edge of them crosses the tile from `n0`."""
    beyond = n0 + cols > T.min(mask.keys, mask.place(0) + mask.right + 1)
    if beyond or (n0 < mask.place(rows - 1) - mask.left):
        for i, j in T.Parallel(rows, cols):
            seen = (n0 + j < mask.keys) and (n0 + j <= mask.place(i) + mask.right)
            seen = seen and (n0 + j >= mask.place(i) - mask.left)
            s[i, j] = T.if_then_else(seen, s[i, j], -T.infinity(F32))


@T.macro
def erase(sv, n0, keys, rows, width):
    """Zeros for values beyond the sequence: they may belong to another one, and 0 * NaN is NaN."""
    if n0 + rows > keys:
        for i, j in T.Parallel(rows, width):
            sv[i, j] = T.if_then_else(n0 + i < keys, sv[i, j], T.cast(0, sv.dtype))


def power_of_two(x: Any) -> Any:
    """The power of two at or below a positive float32: its exponent without its digits."""
    return T.reinterpret(T.bitwise_and(T.reinterpret(x, "int32"), 0x7F800000), F32)


@T.macro
def online_softmax(s, top, prev, low, alpha, part, total, factor, rows, cols):
    """Scores to weights, in base 2 relative to the running maximum; `alpha` rescales what came before.

    `low` is the maximum in units of the exponent, or 0 for a row that has seen no key: -inf - -inf is NaN.
    The exponent of the maximum is the rounding error of `low`, since product and difference are one
    instruction. From 2^30 on it would overflow, and keys that are not the maximum have no weight whatever the
    factor: there it is a power of two, whose product is exact.
    """
    T.copy(top, prev)
    T.reduce_max(s, top, dim=1, clear=False)
    for i in T.Parallel(rows):
        top[i] = T.max(top[i], prev[i])
        part[i] = T.if_then_else(T.abs(top[i] * factor) < HUGE, factor, power_of_two(factor))
        low[i] = T.if_then_else(top[i] == -T.infinity(F32), 0.0, top[i] * part[i])
        alpha[i] = T.exp2(prev[i] * part[i] - low[i])
    for i, j in T.Parallel(rows, cols):
        s[i, j] = T.exp2(s[i, j] * part[i] - low[i])
    T.reduce_sum(s, part, dim=1)
    for i in T.Parallel(rows):
        total[i] = total[i] * alpha[i] + part[i]


@T.macro
def hold(x, tile, never, rows):
    """Keep `tile` from being overwritten up to here.

    A tile that TMA filled is handed back after its last reader in the program, but a product that is still
    in flight has not read it yet. This reader, which never runs, stands after the wait for the product.
    """
    if never:
        for i in T.Parallel(rows):
            x[i] = T.cast(tile[i % tile.shape[0], 0], F32)


@T.macro
def normalize(o, top, total, factor, unit, rows, width):
    """The output times `unit`, in `top` the log-sum-exp of each row; 0 and -inf for rows without a key."""
    for i in T.Parallel(rows):
        seen = (T.log2(total[i]) + top[i] * factor) * LN2
        top[i] = T.if_then_else(total[i] == 0.0, -T.infinity(F32), seen)
        total[i] = T.if_then_else(total[i] == 0.0, 0.0, unit / total[i])
    for i, j in T.Parallel(rows, width):
        o[i, j] = o[i, j] * total[i]
