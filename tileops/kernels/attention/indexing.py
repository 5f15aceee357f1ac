"""The lightning indexer: how much the heads of a query want each key.

Keys are the rows of a product on float8 tensor cores, the heads of a few queries its columns, so that the sum
over heads stays within a row of the accumulator. What is not e4m3 yet is made so: queries while they are
loaded, keys by a program of their own, which also leaves their scales.
"""

from typing import Any

import tilelang.language as T
import torch

from tileops.kernel import Kernel, Key
from tileops.kernels.quantization import E4M3, fp8_quant
from tileops.kernels.rows import F32

KEYS, COLUMNS, CHUNK, THREADS = 128, 128, 16, 256  # of a tile: keys, heads of all queries; tiles of a block


@T.macro
def load_queries(Q, W, q, w, batch, first, group, heads, size, tile, single):
    """The heads of the queries of a tile, in e4m3, and half their weights; 0 for heads that only fill it."""
    queries, padded, width = tile
    if single and padded == heads and width == size:
        T.copy(Q[batch, first * heads : first * heads + queries * heads, 0:size], q)
    else:
        for r, d in T.Parallel(queries * padded, width):
            i, h = first + r // padded, T.min(r % padded, heads - 1)
            if r % padded < heads and d < size:
                value = Q[batch, i * heads + h, d] if single else Q[batch, i, group * heads + h, d]
                q[r, d] = T.cast(value, E4M3)
            else:
                q[r, d] = T.cast(0.0, E4M3)
    for i, h in T.Parallel(queries, padded):
        w[i, h] = T.if_then_else(h < heads, 0.5 * W[first + i, group * heads + T.min(h, heads - 1)], 0.0)


@T.macro
def load_keys(K, k, batch, first, group, size, width, single, aligned):
    """A tile of keys; what is beyond their last one is 0."""
    if aligned and single:
        T.copy(K[batch, first : first + KEYS, 0:width], k)
    elif aligned:
        T.copy(K[batch, first : first + KEYS, group, 0:width], k)
    else:
        for n, d in T.Parallel(KEYS, width):
            at = T.min(d, size - 1)
            value = K[batch, first + n, at] if single else K[batch, first + n, group, at]
            k[n, d] = T.if_then_else(d < size, value, T.cast(0.0, E4M3))


@T.macro
def weigh(acc, votes, w, tile):
    """Sum over the heads of each query: half a weight times a product and its magnitude, which keeps NaN."""
    queries, padded, _ = tile
    wide = T.reshape(acc, (KEYS, queries, padded))
    for n, i, h in T.Parallel(KEYS, queries, padded):
        wide[n, i, h] = (wide[n, i, h] + T.abs(wide[n, i, h])) * w[i, h]
    T.reduce_sum(wide, votes, dim=2)


@T.macro
def put(Y, batch, row, column, group, value, single):
    """Store a logit."""
    if single:
        Y[batch, row, column] = value
    else:
        Y[batch, row, column, group] = value


@T.macro
def write(Y, votes, First, End, Scale, batch, first, key, group, rows, columns, scaled, single):
    """The logits of a tile, from `first` and `key` on."""
    for n, i in T.Parallel(KEYS, votes.shape[1]):
        row, j = first + i, key + n
        if row < rows and j < columns:
            if First[row] <= j and j < End[row]:
                if scaled and single:
                    put(Y, batch, row, j, group, votes[n, i] * Scale[batch, j], single)
                elif scaled:
                    put(Y, batch, row, j, group, votes[n, i] * Scale[batch, j, group], single)
                else:
                    put(Y, batch, row, j, group, votes[n, i], single)
            else:
                put(Y, batch, row, j, group, -T.infinity(F32), single)


@T.macro
def hide(Y, batch, first, key, group, rows, columns, queries, single):
    """A tile that none of its queries sees."""
    for i, n in T.Parallel(queries, KEYS):
        if first + i < rows and key + n < columns:
            put(Y, batch, first + i, key + n, group, -T.infinity(F32), single)


def _quantizer(key: Key) -> tuple[Any, ...]:
    """The program that makes keys e4m3, where they are not."""
    dtype = key.dtype("index_k")
    static = (("block", 1 << (key.D - 1).bit_length()), ("aligned", key.D % 8 == 0))
    own = Key(key.op, key.implementation, key.target, (("input_tensor", dtype),), static)
    return () if dtype == E4M3 else fp8_quant(own).programs


def fp8_lightning_indexer(key: Key) -> Kernel:
    """A block has a tile of queries and walks over up to 16 tiles of keys that some of them may see.

    Bound: the float8 rate for long contexts, with the sum over heads, two operations a product, beside it.
    Heads of a group are padded to a power of two, and a row to 32 elements. `single` says that there is one
    group, `aligned` that keys can be loaded by TMA.
    """
    size, heads, single, aligned = key.D, key.heads, key.single, key.aligned
    padded = max(16, 1 << (heads - 1).bit_length())
    queries, width = max(1, COLUMNS // padded), -(-size // 32) * 32
    tile = queries, padded, width
    scaled = key.given("index_k_scale") or key.dtype("index_k") != E4M3
    batches, rows, lines, columns, groups = map(T.dynamic, ("batches", "rows", "lines", "columns", "groups"))
    q_shape = (batches, lines, size) if single else (batches, rows, groups * heads, size)
    last = () if single else (groups,)
    scale_type = T.Tensor((batches, columns, *last), F32) if scaled else False

    @T.prim_func
    def main(
        Q: T.Tensor(q_shape, key.dtype("index_q")),
        K: T.Tensor((batches, columns, *last, size), E4M3),
        W: T.Tensor((rows, heads if single else groups * heads), F32),
        First: T.Tensor((rows,), "int32"),
        End: T.Tensor((rows,), "int32"),
        Scale: scale_type,
        Y: T.Tensor((batches, rows, columns, *last), F32),
    ):
        with T.Kernel(
            T.ceildiv(columns, KEYS * CHUNK),
            T.ceildiv(rows, queries),
            batches if single else batches * groups,
            threads=THREADS,
        ) as (bx, by, bz):
            q, k = T.alloc_shared((queries * padded, width), E4M3), T.alloc_shared((KEYS, width), E4M3)
            w, votes = T.alloc_shared((queries, padded), F32), T.alloc_fragment((KEYS, queries), F32)
            acc = T.alloc_fragment((KEYS, queries * padded), F32)
            batch, group = T.alloc_var("int32", init=bz), T.alloc_var("int32", init=0)
            if not single:
                batch = T.truncdiv(bz, groups)
                group = T.truncmod(bz, groups)
            least, most = T.alloc_var("int32", init=2**31 - 1), T.alloc_var("int32", init=0)
            if queries == 1:  # of a loop of one turn, the compiler would take what was there before it
                least = First[by]
                most = End[by]
            else:
                for i in T.serial(queries):
                    if by * queries + i < rows:
                        least = T.min(least, First[by * queries + i])
                        most = T.max(most, End[by * queries + i])
            load_queries(Q, W, q, w, batch, by * queries, group, heads, size, tile, single)
            first, end = T.alloc_var("int32"), T.alloc_var("int32")
            first = T.max(T.max(least, 0) // KEYS, bx * CHUNK)
            end = T.min(T.ceildiv(T.min(most, columns), KEYS), (bx + 1) * CHUNK)
            for b in T.Pipelined(T.max(end - first, 0), num_stages=2 if aligned else 0):
                j = (first + b) * KEYS
                load_keys(K, k, batch, j, group, size, width, single, aligned)
                T.gemm(k, q, acc, transpose_B=True, clear_accum=True, policy=T.GemmWarpPolicy.FullRow)
                weigh(acc, votes, w, tile)
                write(
                    Y, votes, First, End, Scale, batch, by * queries, j, group, rows, columns, scaled, single
                )
            if key.clean:
                for b in T.serial(CHUNK):
                    t = bx * CHUNK + b
                    if t < first or t >= end:
                        hide(Y, batch, by * queries, t * KEYS, group, rows, columns, queries, single)

    def launch(run, q, k, weights, first, end, scale, logits):
        if k.dtype is not torch.float8_e4m3fn:
            quantize, run = run
            wide, k = k, torch.empty(k.shape, dtype=torch.float8_e4m3fn, device=k.device)
            scale = torch.empty(k.shape[:3], dtype=torch.float32, device=k.device)
            quantize(wide.view(-1, size), scale.view(-1), k.view(-1, size))
        if single:
            q, k, logits = q.view(q.shape[0], -1, size), k[:, :, 0], logits[..., 0]
            scale = None if scale is None else scale[..., 0]
        run(q, k, weights, first, end, *([] if scale is None else [scale]), logits)

    claims = ("wgmma", "tma_load") if aligned else ("wgmma",)
    return Kernel(*_quantizer(key), main, launch=launch, claims=claims)
