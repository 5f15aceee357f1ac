"""The forward core: one pass over the keys for a tile of query rows, nothing quadratic in memory.

A block owns a tile of query rows of one head. It keeps the unnormalized output, the running maximum and the
running sum of every row in registers, and walks over tiles of keys and values (online softmax). Bound:
matrix rate; two products of 2 * S_q * S_kv * D operations a head, fewer by what the mask hides.
"""

from typing import Any, NamedTuple

import tilelang.language as T

from tileops.kernels.attention.macros import F32, LOG2E, Scale, adjust, erase, hide, hold, online_softmax

ROWS = T.GemmWarpPolicy.FullRow  # a warp group owns whole rows, so their maximum and sum stay inside it
TURN = 6  # named barriers TURN and TURN + 1; the compiler's own have lower numbers


class Plan(NamedTuple):
    """What shapes a program.

    Attributes:
        rows: Query rows of a tile.
        keys: Keys of a tile.
        width: Head dimension, padded to whole swizzles.
        threads: Threads that compute.
        stages: Tiles of keys and values in flight; 0 without TMA.
        turns: Whether two warp groups take turns with the tensor cores, so that the softmax of one runs
            beside the products of the other.
        types: What the products take: of queries and keys, of weights and values.
        adjusted: Whether scores are adjusted before they are compared.
        foreign: Whether rows beyond the keys may be anything, not only zeros.
    """

    rows: int
    keys: int
    width: int
    threads: int
    stages: int
    turns: bool
    types: tuple[str, str]
    adjusted: bool
    foreign: bool


def plan(
    d: int,
    types: tuple[str, str],
    target: str,
    *,
    adjusted: bool,
    short: bool = False,
    long: bool = False,
    foreign: bool = False,
) -> Plan:
    """The plan for a head dimension; `short` is for queries that fill one warp group at most.

    Measured on an H200: with 4096 keys and more, a wider tile of keys pays for what it wastes at the end.
    """
    width, tma = -(-d // 64) * 64, whole_rows(d, *types)
    stages, adjusted = 2 if tma else 0, adjusted or "float8" in types[0]
    if short:
        keys = 128 if width <= 128 else 64
        return Plan(64, keys, width, 128, stages, False, types, adjusted, foreign)
    keys = {64: 160, 128: 144 if long else 128}.get(width, 64)
    return Plan(128, keys, width, 256, stages, tma and target == "hopper", types, adjusted, foreign)


def whole_rows(d: int, *dtypes: str) -> bool:
    """Whether rows of a head are multiples of 16 bytes in these dtypes, as TMA needs."""
    return all(d * (1 if "float8" in dtype else 2) % 16 == 0 for dtype in dtypes)


def claims(plan: Plan) -> tuple[str, ...]:
    """What the sm_90a source must show."""
    return ("wgmma", "tma_load", "warpgroup_reg_alloc") if plan.stages else ("wgmma",)


def units(scale: Scale, factors: Any, b: Any, hk: Any) -> tuple[Any, Any]:
    """The inner scale and that of the output; float8 tensors have `factors` for each batch and key head."""
    if factors is None:
        return scale.inner, 1.0
    return scale.inner * factors[0][b, hk] * factors[1][b, hk], factors[2][b, hk]


def span(mask: Any, keys: int, rows: Any) -> tuple[Any, Any]:
    """The first tile of keys that one of the first `rows` rows sees, and how many there are; at least one."""
    final = T.min(mask.keys, mask.place(rows - 1) + mask.right + 1)
    begin = T.max(0, mask.place(0) - mask.left) // keys
    return begin, T.max(1, T.ceildiv(final, keys) - begin)


def exponents(adjusted: bool, scale: float, cap: float) -> tuple[float, float, float]:
    """The scalars of a `Scale`."""
    if cap > 0:
        cap = min(cap, 1e30)
        return scale / cap, cap * LOG2E, cap
    return (scale * LOG2E, 1.0, 0.0) if adjusted else (1.0, scale * LOG2E, 0.0)


def reach(causal: bool, left: int, right: int, longest: int) -> tuple[int, int]:
    """Window sizes as the program takes them: no more than `longest`, which is unlimited, and in 32 bits."""
    left = min(left, longest) if left >= 0 else longest
    return left, 0 if causal else min(right, longest) if right >= 0 else longest


@T.macro
def attend(fetch, K, V, at, sq, o, top, total, mask, scale, plan, begin, steps):
    """`o` becomes the sum of weighted values, `total` of weights, `top` the largest score of each row.

    `fetch(X, s, at, n0, ...)` loads a tile of keys or values from key `n0`. The values lag one tile: the
    softmax of a tile runs while the product of the weights before it is in flight, and the last tile of
    values, loaded first of all, is met after the loop. Tiles of keys that no row sees are not visited, only
    those that a mask's edge crosses are masked.
    """
    bm, bn, width, tma = plan.rows, plan.keys, plan.width, plan.stages > 0
    sk = T.alloc_shared((bn, width), plan.types[0])
    sv, last = T.alloc_shared((bn, width), plan.types[1]), T.alloc_shared((bn, width), plan.types[1])
    s, p = T.alloc_fragment((bm, bn), F32), T.alloc_fragment((bm, bn), plan.types[1])
    prev, low, alpha, part = (T.alloc_fragment((bm,), F32) for _ in range(4))
    final = (begin + steps - 1) * bn
    fetch(V, last, at, final, bn, width, tma)
    T.clear(o)
    T.clear(p)
    T.clear(total)
    T.fill(top, -T.infinity(F32))
    if plan.turns:
        if T.get_thread_binding(0) < 128:
            T.named_barrier_arrive(TURN, 256)
    for t in T.Pipelined(steps, num_stages=plan.stages):
        n0 = (begin + t) * bn
        fetch(K, sk, at, n0, bn, width, tma)
        if plan.turns:
            T.call_extern("handle", "tl::__sync_thread_partial", TURN + T.get_thread_binding(0) // 128, 256)
        T.wgmma_gemm(sq, sk, s, transpose_B=True, clear_accum=True, policy=ROWS)
        fetch(V, sv, at, n0 - bn, bn, width, tma)
        if t > 0:
            T.wgmma_gemm(p, sv, o, policy=ROWS)
            if plan.turns:
                T.named_barrier_arrive(TURN + 1 - T.get_thread_binding(0) // 128, 256)
            T.wait_wgmma(1)
        else:
            if plan.turns:
                T.named_barrier_arrive(TURN + 1 - T.get_thread_binding(0) // 128, 256)
            T.wait_wgmma(0)
        hold(low, sk, scale.factor < 0.0, bm)
        if plan.adjusted:
            adjust(s, scale, bm, bn)
        hide(s, mask, n0, bm, bn)
        online_softmax(s, top, prev, low, alpha, part, total, scale.factor, bm, bn)
        T.wait_wgmma(0)
        hold(prev, sv, scale.factor < 0.0, bm)
        hold(prev, last, scale.factor < 0.0, bm)
        for i, j in T.Parallel(bm, width):
            o[i, j] = o[i, j] * alpha[i]
        T.copy(s, p)
    if plan.foreign:
        erase(last, final, mask.keys, bn, width)
    T.wgmma_gemm(p, last, o, policy=ROWS)
    T.wait_wgmma(0)
