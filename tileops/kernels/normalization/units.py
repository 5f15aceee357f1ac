"""What batch, group and instance normalization share: units of values with one mean and one variance.

An input is (A, U, L): U units, each of A segments of L neighbouring values. A channel of batch normalization
has a segment in every sample; a group, or an instance, is one segment. A tile is (R, W): R segments of a
unit, W values of each; or, where L is 1, R values of each of W neighbouring units, its columns.
"""

from typing import Any, NamedTuple

import tilelang.language as T

from tileops.kernel import Key
from tileops.kernels.rows import F32, wide_access

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
    def pieces(self) -> Any:
        """Tiles of a unit."""
        return T.ceildiv(self.A, self.R) * self.across

    def count(self, piece: Any) -> Any:
        """Values of a unit in one of its tiles."""
        rows = T.min(self.R, self.A - piece // self.across * self.R)
        return T.cast(
            rows if self.columns else rows * T.min(self.W, self.L - piece % self.across * self.W), F32
        )

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
    sizes = (size, 1) if columns else (T.dynamic("u"), size)
    threads = min(512, max(128, rows * width // 32))
    claims = ("AllReduce",) if columns and whole else wide_access(8 if key.aligned else 1, dtype)
    return Units(T.dynamic("a"), *sizes, rows, width, columns, threads, claims)


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
def sum_tile(x, mean, out, a, l, k, centered):
    """Sum over each unit of a tile, or of squared distances from `mean`; only values of the input count."""
    total = T.alloc_reducer((k.Q,), F32, op="sum")
    T.reducer_init(total)
    for r, j in T.Parallel(k.R, k.W):
        if centered:
            d = T.if_then_else(a + r < k.A, T.cast(x[r, j], F32) - mean[unit(k, j)], 0.0)
            T.reducer_update(total[unit(k, j)], T.if_then_else(k.columns or l + j < k.L, d * d, 0.0))
        else:
            T.reducer_update(total[unit(k, j)], T.cast(x[r, j], F32))
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
    """Which channel a value of unit `u` has: `size` channels of `inner` values in each of `count` units."""

    count: Any
    size: Any
    inner: Any
    single: bool
    even: bool

    def channel(self, u: Any, place: Any) -> Any:
        """An even vector lies in one channel, which is found once for it."""
        if self.single:
            return u % self.count
        return u % self.count * self.size + (place // 8 * 8 if self.even else place) // self.inner


@T.macro
def moments(X, x, mean, square, a, u, l, k, count):
    """Read a tile; the mean of each of its units and their squared distances from it."""
    read_tile(X, x, a, u, l, k)
    sum_tile(x, mean, mean, a, l, k, False)
    for q in T.Parallel(k.Q):
        mean[q] = mean[q] / count
    sum_tile(x, mean, square, a, l, k, True)


@T.macro
def normalize_tile(x, mean, scale, W, B, u, l, k, groups, dtype):
    """``x = (x - mean) * scale * W + B``, of those of W and B that there are."""
    for r, j in T.Parallel(k.R, k.W):
        x[r, j] = T.cast(_normalized(x, mean, scale, W, B, r, j, u, l, k, groups), dtype)


def _normalized(x, mean, scale, W, B, r, j, u, l, k, groups):
    y = (T.cast(x[r, j], F32) - mean[unit(k, j)]) * scale[unit(k, j)]
    c = u + unit(k, j) if groups is None else groups.channel(u, l + j)
    y = y if W is False else y * T.cast(W[c], F32)
    return y if B is False else y + T.cast(B[c], F32)


@T.macro
def merge_pieces(P, acc, mean, square, u, pieces, k):
    """Mean and squared distances of a unit from those of its pieces, in a fixed order.

    Distances of the pieces' means from the whole one are squared: no difference of large sums is formed.
    """
    T.clear(acc)
    for b in T.serial(T.ceildiv(pieces, MERGE)):
        for t in T.Parallel(MERGE):
            p = b * MERGE + t
            acc[t] = acc[t] + T.if_then_else(p < pieces, k.count(p) * P[0, u, p], 0.0)
    T.reduce_sum(acc, mean, dim=0)
    mean[0] = mean[0] / k.total()
    T.clear(acc)
    for b in T.serial(T.ceildiv(pieces, MERGE)):
        for t in T.Parallel(MERGE):
            p = b * MERGE + t
            d = P[0, u, p] - mean[0]
            acc[t] = acc[t] + T.if_then_else(p < pieces, P[1, u, p] + k.count(p) * d * d, 0.0)
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
