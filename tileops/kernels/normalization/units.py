"""What batch, group and instance normalization share: units of values with one mean and one variance.

An input is (A, U, L): U units, each of A segments of L neighbouring values. A channel of batch normalization
has a segment in every sample; a group, or an instance, is one segment. A tile is (R, W): R segments of a
unit, W values of each; or, where L is 1, R values of each of W neighbouring units, its columns.
"""

from typing import Any, NamedTuple

import tilelang.language as T

from tileops.kernel import Key
from tileops.kernels.elements import ITEM_SIZE, wide
from tileops.kernels.rows import F32, amid

PIECE, COLUMNS = 8192, 64  # values of a tile where units are spread over blocks; units of a tile of columns
MERGE = 128  # pieces that are merged at a time


class Units(NamedTuple):
    """Sizes of the input, and of a tile of it."""

    A: Any
    U: Any
    L: Any
    R: int
    W: int
    columns: bool
    threads: int
    blocks: int  # on a multiprocessor at least
    claims: tuple[str, ...]

    @property
    def Q(self) -> int:
        """Units of a tile."""
        return self.W if self.columns else 1

    @property
    def shape(self) -> tuple[Any, Any, Any]:
        """Of the input."""
        return self.A, self.U, self.L

    @property
    def across(self) -> Any:
        """Pieces of a segment."""
        return 1 if self.columns else T.ceildiv(self.L, self.W)

    @property
    def grid(self) -> tuple[Any, Any, Any]:
        """Tiles of units, of a segment, and of segments."""
        return T.ceildiv(self.U, self.Q), self.across, T.ceildiv(self.A, self.R)

    def values(self, a: Any, l: Any) -> Any:
        """Values of a unit in the tile from segment `a` and place `l`."""
        rows = T.min(self.R, self.A - a)
        return T.cast(rows if self.columns else rows * T.min(self.W, self.L - l), F32)

    def of_piece(self, piece: Any) -> Any:
        """Values of a unit in one of its tiles."""
        return self.values(T.truncdiv(piece, self.across) * self.R, T.truncmod(piece, self.across) * self.W)

    def parts(self, a: int, length: int) -> int:
        """Tiles of a unit, from numbers."""
        return -(-a // self.R) * (1 if self.columns else -(-length // self.W))

    def total(self) -> Any:
        """Values of a unit."""
        return T.cast(self.A, F32) * T.cast(self.L, F32)


def units(key: Key, dtype: str, whole: bool) -> Units:
    """The tiling of a key: `whole` units in a tile, or pieces of them. It has 1024 values or more."""
    columns, rows = getattr(key, "columns", False), getattr(key, "rows", 1)
    width = COLUMNS if columns else max(key.width, 8) if key.aligned else key.width
    rows = rows if whole else max(1, PIECE // width)
    width = max(width, 1024 // rows) if whole else min(width, PIECE)
    size = T.dynamic("n8") * 8 if key.aligned else T.dynamic("n")
    units_, length = (size, 1) if columns else (T.dynamic("u"), size)
    threads = min(512, max(128, rows * width // 32))
    claims = ("AllReduce",) if columns and whole else wide(dtype, key.aligned)
    blocks = max(1, 2048 // ITEM_SIZE[dtype] // threads) if whole and not columns else 1
    return Units(T.dynamic("a"), units_, length, rows, width, columns, threads, blocks, claims)


@T.macro
def read_tile(X, x, a, u, l, k):
    """Values from segment `a`, unit `u` and place `l`; 0 beyond the input."""
    for r, j in T.Parallel(k.R, k.W):
        if k.columns:
            x[r, j] = X[a + r, u + j, 0]
        else:
            x[r, j] = X[a + r, u, l + j]


@T.macro
def write_tile(x, Y, a, u, l, k):
    """The reverse of `read_tile`."""
    for r, j in T.Parallel(k.R, k.W):
        if k.columns:
            Y[a + r, u + j, 0] = x[r, j]
        else:
            Y[a + r, u, l + j] = x[r, j]


@T.macro
def sum_tile(x, center, out, a, l, k, squared):
    """Sum over each unit of distances from `center`, or of their squares; only values of the input count."""
    total = T.alloc_reducer((k.Q,), F32, op="sum")
    T.reducer_init(total)
    for r, j in T.Parallel(k.R, k.W):
        d = T.if_then_else(a + r < k.A, T.cast(x[r, j], F32) - center[unit(k, j)], 0.0)
        T.reducer_update(
            total[unit(k, j)], T.if_then_else(k.columns or l + j < k.L, d * d if squared else d, 0.0)
        )
    T.finalize_reducer(total, out)


def unit(k: Units, j: Any) -> Any:
    """Which unit of a tile a column belongs to."""
    return j if k.columns else 0


class Kept(NamedTuple):
    """A statistic that a kernel before left in memory, from the first unit of a tile on."""

    buffer: Any
    first: Any
    row: tuple[int, ...] = ()

    def __getitem__(self, q: Any) -> Any:
        return self.buffer[(*self.row, self.first + q)]


class Deviation(NamedTuple):
    """The factor of each unit, from variances in memory."""

    buffer: Any
    first: Any
    eps: Any

    def __getitem__(self, q: Any) -> Any:
        return T.rsqrt(self.buffer[self.first + q] + self.eps)


class Groups(NamedTuple):
    """Which channel a value has: one of `inner` values each from `first` on, or the one of its unit."""

    first: Any
    inner: Any
    single: bool
    even: bool

    def channel(self, place: Any) -> Any:
        """Of a place in a unit; an even vector lies in one channel, which is found once for it."""
        return self.first + T.truncdiv(place // 8 * 8 if self.even else place, self.inner)


def backwards(k: Units, bu: Any, bl: Any, ba: Any) -> tuple[Any, ...]:
    """Unit, place and segment of a tile, counted from the end: what was read last may be in the L2 cache."""
    steps = zip(k.grid, (bu, bl, ba), (k.Q, k.W, k.R), strict=True)
    return tuple((size - 1 - index) * step for size, index, step in steps)


@T.macro
def middles(X, out, u, k):
    """`amid` the first, the middle and the last value of each unit."""
    three = [T.alloc_fragment((k.Q,), F32) for _ in range(3)]
    places = (0, 0), (k.A // 2, k.L // 2), (k.A - 1, k.L - 1)
    for value, (a, l) in zip(three, places, strict=True):
        for q in T.Parallel(k.Q):
            value[q] = T.cast(X[a, u + q, l], F32)
    for q in T.Parallel(k.Q):
        out[q] = amid(three[0][q], three[1][q], three[2][q])


@T.macro
def moments(X, x, mean, away, square, a, u, l, k, count):
    """Read a tile; the mean of each of its units, how far it is from the `middles`, and squared distances."""
    middles(X, mean, u, k)
    read_tile(X, x, a, u, l, k)
    sum_tile(x, mean, away, a, l, k, False)
    for q in T.Parallel(k.Q):
        away[q] = away[q] / count
        mean[q] = mean[q] + away[q]
    sum_tile(x, mean, square, a, l, k, True)


@T.macro
def normalize_tile(x, mean, scale, W, B, u, l, k, groups, dtype):
    """``x = (x - mean) * scale * W + B``, of those of W and B that there are."""
    if groups is None or groups.single:
        for r, j in T.Parallel(k.R, k.W):
            c = u + unit(k, j) if groups is None else groups.first
            x[r, j] = T.cast(_normalized(x, mean, scale, W, B, r, j, c, k), dtype)
    else:
        channel = T.alloc_fragment((k.R, k.W), "int32")  # an index is computed in 64 bits, and this is not
        for r, j in T.Parallel(k.R, k.W):
            channel[r, j] = groups.channel(l + j)
        for r, j in T.Parallel(k.R, k.W):
            x[r, j] = T.cast(_normalized(x, mean, scale, W, B, r, j, channel[r, j], k), dtype)


def _normalized(x, mean, scale, W, B, r, j, c, k):
    y = (T.cast(x[r, j], F32) - mean[unit(k, j)]) * scale[unit(k, j)]
    y = y if W is False else y * T.cast(W[c], F32)
    return y if B is False else y + T.cast(B[c], F32)


@T.macro
def merge_pieces(P, acc, mean, square, u, pieces, k):
    """Mean and squared distances of a unit from those of its pieces, in a fixed order.

    Means are counted from the `middles`, and distances of the pieces' means from the whole one squared: no
    difference of large sums is formed.
    """
    T.clear(acc)
    for b in T.serial(T.ceildiv(pieces, MERGE)):
        for t in T.Parallel(MERGE):
            p = b * MERGE + t
            acc[t] = acc[t] + T.if_then_else(p < pieces, k.of_piece(p) * P[0, u, p], 0.0)
    T.reduce_sum(acc, mean, dim=0)
    mean[0] = mean[0] / k.total()
    T.clear(acc)
    for b in T.serial(T.ceildiv(pieces, MERGE)):
        for t in T.Parallel(MERGE):
            p = b * MERGE + t
            d = P[0, u, p] - mean[0]
            acc[t] = acc[t] + T.if_then_else(p < pieces, P[1, u, p] + k.of_piece(p) * d * d, 0.0)
    T.reduce_sum(acc, square, dim=0)


@T.macro
def update_running(RM, RV, old_mean, old_var, mean, square, u, k, momentum):
    """Running statistics, with the unbiased variance; the old values were read before the barrier."""
    T.sync_threads()
    for q in T.Parallel(k.Q):
        RM[u + q] = (1.0 - momentum) * old_mean[q] + momentum * mean[q]
        RV[u + q] = (1.0 - momentum) * old_var[q] + momentum * square[q] / (k.total() - 1.0)


@T.macro
def read_units(F, f, u, k):
    """One value of each unit of a tile, if there is a place for them."""
    if f is not None:
        for q in T.Parallel(k.Q):
            f[q] = F[u + q]
