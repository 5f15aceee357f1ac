"""Dense softmax attention with grouped key/value heads: one pass over the keys, nothing quadratic in memory.

A block owns a tile of query rows of one head. It keeps the unnormalized output, the running maximum and the
running sum of every row in registers, and walks over tiles of keys and values (online softmax). Bound:
matrix rate; two products of 2 * S_q * S_kv * D operations a head, fewer by what the mask hides.
"""

import math
from collections.abc import Callable

import tilelang.language as T

from tileops.kernel import Kernel, Key

F32 = "float32"
LOG2E = math.log2(math.e)
ROWS = T.GemmWarpPolicy.FullRow  # a warp group owns whole rows, so their maximum and sum stay inside it
FLUSH = {"tl.device_compile_flags": ["-ftz=true"]}  # exp2 in one instruction; weights below 2^-126 are 0


@T.macro
def load_rows(X, s, b, row, h, rows, width, tma):
    """Rows of one head into shared memory, zeros beyond the sequence and beyond the head dimension."""
    if tma:
        T.copy(X[b, row : row + rows, h, 0:width], s)
    else:
        for i, j in T.Parallel(rows, width):
            s[i, j] = T.if_then_else(row + i >= 0, X[b, T.max(row + i, 0), h, j], T.cast(0, s.dtype))


@T.macro
def load_group(Q, s, b, queries, first, rows, width, group):
    """The queries of all heads of a group: row i is query i // group of head first + i % group."""
    for i, j in T.Parallel(rows, width):
        q = T.min(i // group, queries - 1)
        s[i, j] = T.if_then_else(i < queries * group, Q[b, q, first + i % group, j], T.cast(0, s.dtype))


@T.macro
def adjust(s, inner, rows, cols, softcapped, negative):
    """What comes between the product and the mask: `inner` is scale / cap, or the scale itself."""
    if softcapped:
        for i, j in T.Parallel(rows, cols):
            s[i, j] = T.tanh(s[i, j] * inner)
    elif negative:
        for i, j in T.Parallel(rows, cols):
            s[i, j] = s[i, j] * inner


@T.macro
def hide(s, place, n0, keys, left, right, rows, cols, group, has_left, has_right):
    """-inf for keys outside the sequence or the window, where an edge of them crosses the tile.

    `place` is the key coordinate of the first query, `group` the rows that a query has, `n0` the first key.
    """
    edge = n0 + cols > keys
    if has_right:
        edge = edge or (n0 + cols - 1 > place + right)
    if has_left:
        edge = edge or (n0 < place + (rows - 1) // group - left)
    if edge:
        for i, j in T.Parallel(rows, cols):
            seen = n0 + j < keys
            if has_right:
                seen = seen and (n0 + j <= place + i // group + right)
            if has_left:
                seen = seen and (n0 + j >= place + i // group - left)
            s[i, j] = T.if_then_else(seen, s[i, j], -T.infinity(F32))


@T.macro
def online_softmax(s, top, prev, low, alpha, part, total, factor, rows, cols):
    """Scores to weights, in base 2 relative to the running maximum; `alpha` rescales what came before.

    `low` is the maximum in units of the exponent, or 0 for a row that has seen no key: -inf - -inf is NaN.
    """
    T.copy(top, prev)
    T.reduce_max(s, top, dim=1, clear=False)
    for i in T.Parallel(rows):
        top[i] = T.max(top[i], prev[i])
        low[i] = T.if_then_else(top[i] == -T.infinity(F32), 0.0, top[i] * factor)
        alpha[i] = T.exp2(prev[i] * factor - low[i])
    for i, j in T.Parallel(rows, cols):
        s[i, j] = T.exp2(s[i, j] * factor - low[i])
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


def tile_shape(key: Key) -> tuple[int, int, int, int]:
    """Query rows, keys, padded head dimension and threads."""
    width = -(-key.D // 64) * 64
    if key.short:
        return 64, 128 if width <= 128 else 64, width, 128
    return 128, {64: 192, 128: 128}.get(width, 64), width, 256


def grouped_query_attention_dense(key: Key) -> Kernel:
    """Flash attention: TMA loads run ahead, two warp groups of 64 rows compute, values lag one tile.

    The softmax of one tile runs while the product of the weights before it is in flight; both stay in
    registers. Tiles of keys that no row sees are not visited, only those that a mask's edge crosses are
    masked. Late rows, which see the most keys when causal, start first. A few queries (decode) are packed:
    the rows are all heads of a group, so that keys and values are read once.
    """
    dtype, has_left, has_right, group = key.dtype("q"), key.left, key.right or key.causal, key.group
    bm, bn, width, threads = tile_shape(key)
    b, s_q, s_kv, h, h_kv = (T.dynamic(name) for name in ("b", "s_q", "s_kv", "h", "h_kv"))
    d, tma = key.D, key.D % 8 == 0

    @T.prim_func
    def main(
        Q: T.Tensor((b, s_q, h, d), dtype),
        K: T.Tensor((b, s_kv, h_kv, d), dtype),
        V: T.Tensor((b, s_kv, h_kv, d), dtype),
        O: T.Tensor((b, s_q, h, d), dtype),
        left: T.int32,
        right: T.int32,
        inner: T.float32,
        factor: T.float32,
    ):
        with T.Kernel(h if group == 1 else h_kv, T.ceildiv(s_q, bm), b, threads=threads) as (hq, by, bz):
            sq, out = T.alloc_shared((bm, width), dtype), T.alloc_shared((bm, width), dtype)
            sk, sv = T.alloc_shared((bn, width), dtype), T.alloc_shared((bn, width), dtype)
            s, p = T.alloc_fragment((bm, bn), F32), T.alloc_fragment((bm, bn), dtype)
            o = T.alloc_fragment((bm, width), F32)
            top, prev, low, alpha, part, total = (T.alloc_fragment((bm,), F32) for _ in range(6))
            hk = T.truncdiv(hq, T.truncdiv(h, h_kv)) if group == 1 else hq
            row = (T.ceildiv(s_q, bm) - 1 - by) * bm
            place = row + s_kv - s_q  # key coordinate of the block's first query
            final = T.min(row + bm, s_q) - 1 + s_kv - s_q
            end = T.min(s_kv, final + right + 1) if has_right else s_kv
            begin = T.max(0, place - left) // bn if has_left else 0
            steps = T.max(0, T.ceildiv(end, bn) - begin)
            if group == 1:
                load_rows(Q, sq, bz, row, hq, bm, width, tma)
            else:
                load_group(Q, sq, bz, s_q, hk * group, bm, width, group)
            T.clear(o)
            T.clear(p)
            T.clear(total)
            T.fill(top, -T.infinity(F32))
            # The values lag: the first step meets them with weights 0, the last one has no scores left.
            for t in T.Pipelined(steps + 1, num_stages=2 if tma else 0):
                n0 = (begin + t) * bn
                load_rows(K, sk, bz, n0, hk, bn, width, tma)
                T.wgmma_gemm(sq, sk, s, transpose_B=True, clear_accum=True, policy=ROWS)
                load_rows(V, sv, bz, n0 - bn, hk, bn, width, tma)
                T.wgmma_gemm(p, sv, o, policy=ROWS)
                T.wait_wgmma(1)
                hold(low, sk, factor < 0.0, bm)
                if t < steps:
                    adjust(s, inner, bm, bn, key.softcapped, key.negative)
                    hide(s, place, n0, s_kv, left, right, bm, bn, group, has_left, has_right)
                    online_softmax(s, top, prev, low, alpha, part, total, factor, bm, bn)
                T.wait_wgmma(0)
                hold(prev, sv, factor < 0.0, bm)
                if t < steps:
                    for i, j in T.Parallel(bm, width):
                        o[i, j] = o[i, j] * alpha[i]
                    T.copy(s, p)
            for i in T.Parallel(bm):
                total[i] = T.if_then_else(total[i] == 0.0, 0.0, 1.0 / total[i])
            for i, j in T.Parallel(bm, width):
                o[i, j] = o[i, j] * total[i]
            if group > 1:
                for i, j in T.Parallel(bm, width):
                    if (i < s_q * group) and (j < d):
                        O[bz, i // group, hk * group + i % group, j] = o[i, j]
            elif tma:
                T.copy(o, out)
                T.copy(out, O[bz, row : row + bm, hq, 0:width])
            else:
                T.copy(o, O[bz, row : row + bm, hq, 0:width], disable_tma=True)

    claims = ("wgmma", "tma_load", "warpgroup_reg_alloc") if tma else ("wgmma",)
    return Kernel(main, launch=launcher(key), claims=claims, pass_configs=FLUSH)


def launcher(key: Key) -> Callable[..., None]:
    """Launch with the scalars of a weight, `exp2(f(s) * factor)`: f(s) is s, s * inner or tanh(s * inner)."""

    def launch(run, q, k, v, q_scale, k_scale, v_scale, cos, sin, o, left, right, scale, cap):
        if k.shape[1] == 0:
            o.zero_()
            return
        if key.softcapped:
            inner, factor = scale / cap, cap * LOG2E
        elif key.negative:
            inner, factor = scale * LOG2E, 1.0
        else:
            inner, factor = 1.0, scale * LOG2E
        longest = q.shape[1] + k.shape[1]  # an unbounded window, and no overflow in 32 bits
        left = min(left, longest) if left >= 0 else longest
        right = 0 if key.causal else min(right, longest) if right >= 0 else longest
        run(q, k, v, o, left, right, inner, factor)

    return launch
