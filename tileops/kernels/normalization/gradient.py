"""The gradient of batch normalization, by the same tiles as its forward.

Two sums of every channel, of the gradient and of its product with the normalized values, give the gradients
of bias and weight, and with them that of the input. Bound: two reads and one write, and where a channel does
not fit on chip both reads once more.
"""

import tilelang.language as T
import torch

from tileops.kernel import Kernel, Key
from tileops.kernels.normalization import units as tiles
from tileops.kernels.normalization.units import MERGE
from tileops.kernels.rows import F32


@T.macro
def sums(G, X, g, x, mean, scale, bias, weight, a, u, l, k):
    """Read a tile of both; sums of the gradient, and of its product with the normalized values, by unit."""
    tiles.read_tile(G, g, a, u, l, k)
    tiles.read_tile(X, x, a, u, l, k)
    first, second = T.alloc_reducer((k.Q,), F32, op="sum"), T.alloc_reducer((k.Q,), F32, op="sum")
    T.reducer_init(first)
    T.reducer_init(second)
    for r, j in T.Parallel(k.R, k.W):  # the gradient is 0 beyond the input
        T.reducer_update(first[tiles.unit(k, j)], T.cast(g[r, j], F32))
    for r, j in T.Parallel(k.R, k.W):
        h = (T.cast(x[r, j], F32) - mean[tiles.unit(k, j)]) * scale[tiles.unit(k, j)]
        T.reducer_update(second[tiles.unit(k, j)], T.cast(g[r, j], F32) * h)
    T.finalize_reducer(first, bias)
    T.finalize_reducer(second, weight)


@T.macro
def gradient_tile(g, x, mean, scale, bias, weight, W, u, k, training, dtype):
    """``g = W * scale * (g - bias / n - h * weight / n)`` with the normalized values h of x."""
    for r, j in T.Parallel(k.R, k.W):
        g[r, j] = T.cast(_gradient(g, x, mean, scale, bias, weight, W, u, k, training, r, j), dtype)


def _gradient(g, x, mean, scale, bias, weight, W, u, k, training, r, j):
    q = tiles.unit(k, j)
    y = T.cast(g[r, j], F32)
    if training:
        h = (T.cast(x[r, j], F32) - mean[q]) * scale[q]
        y = y - bias[q] / k.total() - h * (weight[q] / k.total())
    y = y * scale[q]
    return y if W is False else y * W[u + q]


def batch_norm_gradient(key: Key) -> Kernel:
    """Channels that fit on chip, one a block, or 64 columns: two reads, one write."""
    return _gradients(key, True)


def batch_norm_gradient_pieces(key: Key) -> Kernel:
    """Channels of any size, each spread over blocks: sums of pieces, their merge in order, the values."""
    return _gradients(key, False)


def _gradients(key: Key, whole: bool) -> Kernel:
    dtype, training, pieces = key.dtype("x"), key.training, T.dynamic("p")
    k = tiles.units(key, dtype, whole)

    @T.prim_func
    def main(
        G: T.Tensor(k.shape, dtype), X: T.Tensor(k.shape, dtype),
        W: T.Tensor((k.U,), F32) if key.given("weight") else False,
        M: T.Tensor((k.U,), F32), D: T.Tensor((k.U,), F32),
        GX: T.Tensor(k.shape, dtype), GW: T.Tensor((k.U,), F32), GB: T.Tensor((k.U,), F32),
        P: False if whole else T.Tensor((2, k.U, pieces), F32),
    ):  # fmt: skip
        with T.Kernel(*((k.grid[0], 1, 1) if whole else k.grid), threads=k.threads) as (bu, bl, ba):
            g, x = T.alloc_fragment((k.R, k.W), dtype), T.alloc_fragment((k.R, k.W), dtype)
            mean, scale, bias, weight = (T.alloc_fragment((k.Q,), F32) for _ in range(4))
            tiles.read_units(M, mean, bu * k.Q, k)
            tiles.read_units(D, scale, bu * k.Q, k)
            sums(G, X, g, x, mean, scale, bias, weight, ba * k.R, bu * k.Q, bl * k.W, k)
            for q in T.Parallel(k.Q):
                if whole:
                    GW[bu * k.Q + q] = weight[q]
                    GB[bu * k.Q + q] = bias[q]
                else:
                    P[0, bu * k.Q + q, ba * k.across + bl] = bias[q]
                    P[1, bu * k.Q + q, ba * k.across + bl] = weight[q]
            if whole:
                gradient_tile(g, x, mean, scale, bias, weight, W, bu * k.Q, k, training, dtype)
                tiles.write_tile(g, GX, 0, bu * k.Q, 0, k)
        if not whole:
            with T.Kernel(k.U, threads=MERGE) as u:
                first, second = T.alloc_fragment((MERGE,), F32), T.alloc_fragment((MERGE,), F32)
                bias, weight = T.alloc_fragment((1,), F32), T.alloc_fragment((1,), F32)
                T.clear(first)
                T.clear(second)
                for b in T.serial(T.ceildiv(pieces, MERGE)):
                    for t in T.Parallel(MERGE):
                        first[t] = first[t] + P[0, u, b * MERGE + t]  # 0 beyond the last one
                        second[t] = second[t] + P[1, u, b * MERGE + t]
                T.reduce_sum(first, bias, dim=0)
                T.reduce_sum(second, weight, dim=0)
                GB[u] = bias[0]
                GW[u] = weight[0]
            with T.Kernel(*k.grid, threads=k.threads) as (bu, bl, ba):
                g, x = T.alloc_fragment((k.R, k.W), dtype), T.alloc_fragment((k.R, k.W), dtype)
                u, l, a = tiles.backwards(k, bu, bl, ba)
                tiles.read_tile(G, g, a, u, l, k)
                tiles.read_tile(X, x, a, u, l, k)
                kept = [tiles.Kept(statistic, u) for statistic in (M, D, GB, GW)]
                gradient_tile(g, x, *kept, W, u, k, training, dtype)
                tiles.write_tile(g, GX, a, u, l, k)

    def launch(run, grad, x, weight, mean, rstd, grad_x, grad_weight, grad_bias, length):
        grad, x, grad_x = (t.view(*t.shape[:2], length) for t in (grad, x, grad_x))
        if not x.numel():
            return grad_weight.zero_(), grad_bias.zero_()
        given = [] if weight is None else [weight]
        if whole:
            return run(grad, x, *given, mean, rstd, grad_x, grad_weight, grad_bias)
        parts = (2, x.shape[1], k.parts(x.shape[0], length))
        made = torch.empty(parts, dtype=torch.float32, device=x.device)
        return run(grad, x, *given, mean, rstd, grad_x, grad_weight, grad_bias, made)

    return Kernel(main, launch=launch, claims=k.claims)
