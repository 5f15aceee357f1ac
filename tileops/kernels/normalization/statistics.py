"""Batch, group and instance normalization with the statistics of the input, and with given ones.

Statistics are float32, of centered values, and two runs are bitwise equal: pieces of a unit are merged in a
fixed order. Bound: the bytes of both tensors, and where a unit does not fit on chip of one more read.
"""

import copy
from collections.abc import Callable
from typing import Any

import tilelang.language as T
import torch

from tileops.kernel import Kernel, Key
from tileops.kernels.normalization import units as tiles
from tileops.kernels.normalization.units import MERGE
from tileops.kernels.rows import F32, fragment

_RUNNING = ("running_mean", "running_var")


class _Facts:
    """What the programs below know of a key; annotations that are False are constants, and no arguments."""

    def __init__(self, key: Key, whole: bool) -> None:
        self.dtype, self.k = key.dtype("x"), tiles.units(key, key.dtype("x"), whole)
        self.batch, self.runs = key.op.startswith("BatchNorm"), key.given("running_mean")
        self.keeps = self.batch or (self.runs and getattr(key, "training", True))
        channels = self.k.U if self.batch else T.dynamic("c")
        self._sizes = {
            slot: (channels, dtype) for slot, dtype in key.dtypes if slot in ("weight", "bias", *_RUNNING)
        }
        if self.keeps:
            self._sizes["kept"] = self.k.U, F32
        groups = key.op.startswith("GroupNorm")
        self._numbers = {"count", "size", "inner"} if groups else {"count", "momentum"}
        if self.batch:
            self._numbers = {"momentum"}
        self.vary = (key.single, key.even) if groups else (True, False)

    def vector(self, name: str) -> Any:
        """The argument for a tensor of the size of the units or the channels."""
        size, dtype = self._sizes.get(name, (None, None))
        return False if size is None else T.Tensor((size,), dtype)

    def number(self, name: str) -> Any:
        """The argument for a number that not every operator has."""
        return False if name not in self._numbers else T.float32 if name == "momentum" else T.int32

    @property
    def one(self) -> "_Facts":
        """The same for a single unit in the place of a tile of them."""
        other = copy.copy(self)
        other.k = self.k._replace(columns=False)
        return other

    def first(self, u: Any, count: Any, size: Any) -> Any:
        """The first channel of a unit."""
        return u if self.batch else T.truncmod(u, count) * (1 if self.vary[0] else size)

    def groups(self, first: Any, inner: Any) -> tiles.Groups | None:
        """How units go with channels; the units of batch normalization are channels."""
        return None if self.batch else tiles.Groups(first, inner, *self.vary)

    def kernel(self, program: Any, workspaces: Callable[[int, int, int], list[tuple[int, ...]]]) -> Kernel:
        """With a launch that passes tensors as (A, U, L) and makes workspaces for that."""
        count, output = (7, 4) if self.batch else (5, 4) if "momentum" in self._numbers else (3, 2)

        def launch(run, x, *arguments):
            tensors, (length, *numbers) = list(arguments[:count]), arguments[count:]
            x = x.view(*x.shape[:2], length) if self.batch else x.view(1, -1, length)
            if not x.numel():  # only statistics are left, which nothing uses
                return [t.zero_() for t in tensors[output + 1 :]]
            tensors[output] = tensors[output].view(x.shape)
            made = [torch.empty(s, dtype=torch.float32, device=x.device) for s in workspaces(*x.shape)]
            return run(x, *(t for t in tensors if t is not None), *made, *numbers)

        return Kernel(program, launch=launch, claims=self.k.claims)


@T.macro
def finish(f, M, D, RM, RV, old, mean, square, scale, u, eps, momentum):
    """The factor of each unit, and what is kept of it: mean and factor, or mean and unbiased variance."""
    k = f.k
    for q in T.Parallel(k.Q):
        scale[q] = T.rsqrt(square[q] / k.total() + eps)
    if f.keeps:
        for q in T.Parallel(k.Q):
            M[u + q] = mean[q]
            if f.batch:
                D[u + q] = scale[q]
            else:
                D[u + q] = square[q] / (k.total() - 1.0)
    if f.batch and f.runs:
        tiles.update_running(RM, RV, old[0], old[1], mean, square, u, k, momentum)


@T.macro
def average(M, D, RM, RV, k, count, momentum):
    """Running statistics of instance normalization: means over the samples, in order."""
    with T.Kernel(T.ceildiv(count, MERGE), threads=MERGE) as bc:
        mean, var = T.alloc_fragment((MERGE,), F32), T.alloc_fragment((MERGE,), F32)
        T.clear(mean)
        T.clear(var)
        for n in T.serial(k.U // count):
            for t in T.Parallel(MERGE):
                mean[t] = mean[t] + M[n * count + bc * MERGE + t]
                var[t] = var[t] + D[n * count + bc * MERGE + t]
        for t in T.Parallel(MERGE):
            samples = T.cast(k.U // count, F32)
            RM[bc * MERGE + t] = (1.0 - momentum) * RM[bc * MERGE + t] + momentum * mean[t] / samples
            RV[bc * MERGE + t] = (1.0 - momentum) * RV[bc * MERGE + t] + momentum * var[t] / samples


def normalize_units(key: Key) -> Kernel:
    """Units that fit on chip, one a block, or 64 columns: one read, one write."""
    f = _Facts(key, True)
    k, dtype = f.k, f.dtype

    @T.prim_func
    def main(
        X: T.Tensor(k.shape, dtype), RM: f.vector("running_mean"), RV: f.vector("running_var"),
        W: f.vector("weight"), B: f.vector("bias"),
        Y: T.Tensor(k.shape, dtype), M: f.vector("kept"), D: f.vector("kept"),
        count: f.number("count"), size: f.number("size"), inner: f.number("inner"),
        eps: T.float32, momentum: f.number("momentum"),
    ):  # fmt: skip
        with T.Kernel(T.ceildiv(k.U, k.Q), threads=k.threads) as bu:
            T.annotate_min_blocks_per_sm(k.blocks)
            x = T.alloc_fragment((k.R, k.W), dtype)
            mean, away, square, scale = (T.alloc_fragment((k.Q,), F32) for _ in range(4))
            old = [fragment((k.Q,), F32, f.batch and f.runs) for _ in range(2)]
            c = T.alloc_var("int32")
            c = f.first(bu * k.Q, count, size)
            tiles.read_units(RM, old[0], bu * k.Q, k)
            tiles.read_units(RV, old[1], bu * k.Q, k)
            tiles.moments(X, x, mean, away, square, 0, bu * k.Q, 0, k, k.total())
            finish(f, M, D, RM, RV, old, mean, square, scale, bu * k.Q, eps, momentum)
            tiles.normalize_tile(x, mean, scale, W, B, bu * k.Q, 0, k, f.groups(c, inner), dtype)
            tiles.write_tile(x, Y, 0, bu * k.Q, 0, k)
        if f.runs and not f.batch:
            average(M, D, RM, RV, k, count, momentum)

    return f.kernel(main, lambda a, u, n: [(u,), (u,)] if f.keeps and not f.batch else [])


def normalize_pieces(key: Key) -> Kernel:
    """Units of any size, each spread over blocks: moments of pieces, their merge, then the values.

    The last pass goes backwards: what the first one read last may still be in the L2 cache. Without training
    there is only that one, with running statistics.
    """
    f, training = _Facts(key, False), getattr(key, "training", True)
    k, dtype, pieces = f.k, f.dtype, T.dynamic("p")
    averages = training and f.runs and not f.batch

    @T.prim_func
    def main(
        X: T.Tensor(k.shape, dtype), RM: f.vector("running_mean"), RV: f.vector("running_var"),
        W: f.vector("weight"), B: f.vector("bias"),
        Y: T.Tensor(k.shape, dtype), M: f.vector("kept"), D: f.vector("kept"),
        P: T.Tensor((2, k.U, pieces), F32) if training else False,
        S: T.Tensor((2, k.U), F32) if training else False,
        count: f.number("count"), size: f.number("size"), inner: f.number("inner"),
        eps: T.float32, momentum: f.number("momentum"),
    ):  # fmt: skip
        if training:
            with T.Kernel(*k.grid, threads=k.threads) as (bu, bl, ba):
                x = T.alloc_fragment((k.R, k.W), dtype)
                mean, away, square = (T.alloc_fragment((k.Q,), F32) for _ in range(3))
                a, l = ba * k.R, bl * k.W
                tiles.moments(X, x, mean, away, square, a, bu * k.Q, l, k, k.values(a, l))
                for q in T.Parallel(k.Q):
                    P[0, bu * k.Q + q, ba * k.across + bl] = away[q]
                    P[1, bu * k.Q + q, ba * k.across + bl] = square[q]
            with T.Kernel(k.U, threads=MERGE) as u:
                part = T.alloc_fragment((MERGE,), F32)
                mean, away, square, scale = (T.alloc_fragment((1,), F32) for _ in range(4))
                old = [fragment((1,), F32, f.batch and f.runs) for _ in range(2)]
                tiles.read_units(RM, old[0], u, f.one.k)
                tiles.read_units(RV, old[1], u, f.one.k)
                tiles.middles(X, mean, u, f.one.k)
                tiles.merge_pieces(P, part, away, square, u, pieces, k)
                mean[0] = mean[0] + away[0]
                finish(f.one, M, D, RM, RV, old, mean, square, scale, u, eps, momentum)
                S[0, u] = mean[0]
                S[1, u] = scale[0]
        with T.Kernel(*k.grid, threads=k.threads) as (bu, bl, ba):
            x = T.alloc_fragment((k.R, k.W), dtype)
            u, l, a = tiles.backwards(k, bu, bl, ba) if training else (bu * k.Q, bl * k.W, ba * k.R)
            c = T.alloc_var("int32")
            c = f.first(u, count, size)
            if f.batch and not training:
                if bl + ba == 0:
                    for q in T.Parallel(k.Q):
                        M[u + q] = RM[u + q]
                        D[u + q] = T.rsqrt(RV[u + q] + eps)
            tiles.read_tile(X, x, a, u, l, k)
            of = u if f.batch else c
            mean = tiles.Kept(S, u, (0,)) if training else tiles.Kept(RM, of)
            scale = tiles.Kept(S, u, (1,)) if training else tiles.Deviation(RV, of, eps)
            tiles.normalize_tile(x, mean, scale, W, B, u, l, k, f.groups(c, inner), dtype)
            tiles.write_tile(x, Y, a, u, l, k)
        if averages:
            average(M, D, RM, RV, k, count, momentum)

    def workspaces(a: int, u: int, n: int) -> list[tuple[int, ...]]:
        kept = [(u,), (u,)] if averages else []
        return [*kept, (2, u, k.parts(a, n)), (2, u)] if training else []

    return f.kernel(main, workspaces)
