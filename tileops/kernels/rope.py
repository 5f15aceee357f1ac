"""Rotary position embedding: pairs of a row are turned by angles that grow with the position.

There is no table of sines, so nothing is kept between calls, nothing is read beyond an end, and no position
is too far. A program computes the frequency of each pair in float64, as a fraction of a turn in 64-bit fixed
point. Its product with a position, modulo one turn, is one of integers and exact; sine and cosine of what is
left of a quarter turn are polynomials in float32. A block computes them once for its tokens and turns several
heads by them: the bound is the bytes of both tensors, and a table would add its own.

Operators differ in how frequencies fall off; those numbers are computed in Python from the params.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import tilelang.language as T
import torch

from tileops.kernel import Kernel, Key
from tileops.kernels.elements import ITEM_SIZE, wide
from tileops.kernels.rows import F32

F64, I64, U64, U32 = "float64", "int64", "uint64", "uint32"
THREADS, VECTORS = 256, 512  # of a block: threads, and accesses to each half of its rows
SIN = (-0.1666665077, 0.0083319787, -0.00019495636)  # sin(t) = t + t^3 (.. + .. t^2 + .. t^4), |t| <= pi / 4
COS = (0.0416666456, -0.0013887368, 2.44384519e-5)  # cos(t) = 1 - t^2 / 2 + t^4 (.. + .. t^2 + .. t^4)

Schedule = tuple[float, ...]
"""`rate, a, b, c, slow, amplitude`: pair m has the frequency `w = exp(-rate * m)`. The share
`min(max(a + b * m + c * w, 0), 1)` of it stays, the rest is multiplied by `slow`, and both sine and cosine by
`amplitude`."""


@T.macro
def turns_of(turns, F, half, width, factors, rate, a, b, c, slow):
    """Turns a position of each pair, without whole ones, in units of 2^-64."""
    for m in T.Parallel(width):
        w = T.exp(T.cast(m, F64) * -rate)
        share = T.min(T.max(a + b * T.cast(m, F64) + c * w, T.cast(0.0, F64)), T.cast(1.0, F64))
        turn = w * (share + (1.0 - share) * slow) * (0.5 / math.pi)
        if factors:
            turn = turn / T.cast(F[T.min(m, half - 1)], F64)
        turns[m] = T.cast((turn - T.floor(turn)) * 2.0**64, U64)


@T.macro
def places_of(place, P, first, tokens, ids, limit):
    """Position of each token: its id, held inside the permitted ones, or its number in its sequence."""
    for t in T.Parallel(tokens):
        if ids:
            place[t] = T.min(T.max(T.cast(P[first + t], I64), T.cast(0, I64)), limit - 1)
        else:
            place[t] = T.truncmod(T.cast(first + t, I64), limit)


@T.macro
def angles_of(cosine, sine, turns, place, tokens, width, amplitude):
    """Cosine and sine of each token and pair, from the nearest quarter turn and what is beyond it."""
    for t, m in T.Parallel(tokens, width):
        phase = T.cast(T.shift_right(T.cast(place[t], U64) * turns[m], T.cast(32, U64)), U32)
        quarter = T.shift_right(phase + T.cast(1 << 29, U32), T.cast(30, U32))
        rest = T.cast(phase - T.shift_left(quarter, T.cast(30, U32)), "int32")
        angle = T.cast(rest, F32) * (math.pi / 2**31)
        z = angle * angle
        s = angle + angle * z * (SIN[0] + z * (SIN[1] + z * SIN[2]))
        c = 1.0 - 0.5 * z + z * z * (COS[0] + z * (COS[1] + z * COS[2]))
        odd = T.bitwise_and(quarter, T.cast(1, U32)) != T.cast(0, U32)
        left = T.bitwise_and(quarter + T.cast(1, U32), T.cast(2, U32)) != T.cast(0, U32)
        below = T.bitwise_and(quarter, T.cast(2, U32)) != T.cast(0, U32)
        cosine[t, m] = T.if_then_else(odd, s, c) * T.if_then_else(left, -amplitude, amplitude)
        sine[t, m] = T.if_then_else(odd, c, s) * T.if_then_else(below, -amplitude, amplitude)


@T.macro
def load(X, x, first, head, column, tile, count):
    """`count` vectors of each row of a tile, from a column on."""
    for t, h, w, j in T.Parallel(*tile):
        if w < count:
            x[t, h, w, j] = X[first + t, head + h, column + w * tile[3] + j]


@T.macro
def store(x, Y, first, head, column, tile, count):
    """The opposite of `load`."""
    for t, h, w, j in T.Parallel(*tile):
        if w < count:
            Y[first + t, head + h, column + w * tile[3] + j] = x[t, h, w, j]


@T.macro
def turn_halves(x, z, cosine, sine, tile, dtype):
    """Pairs are (x, z), half a row apart."""
    a, b = T.alloc_fragment(tile, dtype), T.alloc_fragment(tile, dtype)
    T.copy(x, a)
    T.copy(z, b)
    for t, h, w, j in T.Parallel(*tile):
        c, s = cosine[t, w * tile[3] + j], sine[t, w * tile[3] + j]
        x[t, h, w, j] = T.cast(T.cast(a[t, h, w, j], F32) * c - T.cast(b[t, h, w, j], F32) * s, dtype)
        z[t, h, w, j] = T.cast(T.cast(b[t, h, w, j], F32) * c + T.cast(a[t, h, w, j], F32) * s, dtype)


@T.macro
def turn_words(x, cosine, sine, tile, dtype, word, part, bits):
    """Pairs are neighbours: each is one word, the first element in its low bits."""
    for t, h, w in T.Parallel(*tile[:3]):
        for j in T.unroll(tile[3]):
            c, s = cosine[t, w * tile[3] + j], sine[t, w * tile[3] + j]
            both = T.cast(x[t, h, w, j], word)
            a = T.cast(T.reinterpret(T.cast(both, part), dtype), F32)
            b = T.cast(T.reinterpret(T.cast(T.shift_right(both, T.cast(bits, word)), part), dtype), F32)
            low = T.cast(T.reinterpret(T.cast(a * c - b * s, dtype), part), word)
            high = T.cast(T.reinterpret(T.cast(b * c + a * s, dtype), part), word)
            x[t, h, w, j] = T.cast(T.bitwise_or(low, T.shift_left(high, T.cast(bits, word))), word[1:])


def _tile(key: Key, size: int, half: int, item: int) -> tuple[int, int, int, int]:
    """Tokens, heads, vectors of half a row (to a power of two) and elements of a vector, for a block."""
    vector = 16 // item if half * item % 16 == 0 and size * item % 16 == 0 else 1
    width = 1 << (half // vector - 1).bit_length()
    heads = max(1, min(key.heads, VECTORS // width))
    return max(1, VECTORS // (heads * width)), heads, width, vector


def _rope(
    key: Key, schedule: Callable[..., Schedule], half: int, *, tensors: int = 1, words: bool = False
) -> Kernel:
    """The one program. `words`: a pair is one word, else a pair is half of the turned row apart."""
    dtype = key.dtype("x")
    item = ITEM_SIZE[dtype] * (2 if words else 1)
    size, bits = key.D // (2 if words else 1), 8 * ITEM_SIZE[dtype]
    word, part = f"uint{2 * bits}", f"uint{bits}"
    stored = word[1:] if words else dtype
    tile = block, heads, width, vector = _tile(key, size, half, item)
    count, rest = half // vector, 0 if words else (size - 2 * half) // vector
    tail = (*tile[:2], 1 << max(rest - 1, 0).bit_length(), vector)
    tokens, n, pairs = T.dynamic("tokens", I64), T.dynamic("n"), width * vector
    ids, factors = key.given("position_ids"), key.given("rescale_factors")
    p_type = T.Tensor((tokens,), key.dtype("position_ids")) if ids else False
    f_type = T.Tensor((half,), F32) if factors else False

    @T.prim_func
    def main(
        X: T.Tensor((tokens, n, size), stored),
        P: p_type,
        F: f_type,
        Y: T.Tensor((tokens, n, size), stored),
        limit: T.int64,
        rate: T.float64,
        a: T.float64,
        b: T.float64,
        c: T.float64,
        slow: T.float64,
        amplitude: T.float32,
    ):
        with T.Kernel(T.ceildiv(tokens, block), T.ceildiv(n, heads), threads=THREADS) as (bx, by):
            x, z = T.alloc_fragment(tile, stored), T.alloc_fragment(tile, stored)
            turns, place = T.alloc_shared((pairs,), U64), T.alloc_shared((block,), I64)
            cosine, sine = T.alloc_shared((block, pairs), F32), T.alloc_shared((block, pairs), F32)
            load(X, x, bx * block, by * heads, 0, tile, count)
            if not words:
                load(X, z, bx * block, by * heads, half, tile, count)
            places_of(place, P, bx * block, block, ids, limit)
            turns_of(turns, F, half, pairs, factors, rate, a, b, c, slow)
            angles_of(cosine, sine, turns, place, block, pairs, amplitude)
            if words:
                turn_words(x, cosine, sine, tile, dtype, word, part, bits)
            else:
                turn_halves(x, z, cosine, sine, tile, dtype)
                store(z, Y, bx * block, by * heads, half, tile, count)
            store(x, Y, bx * block, by * heads, 0, tile, count)
            if rest:
                more = T.alloc_fragment(tail, stored)
                load(X, more, bx * block, by * heads, 2 * half, tail, rest)
                store(more, Y, bx * block, by * heads, 2 * half, tail, rest)

    def whole(tensor: torch.Tensor) -> torch.Tensor:
        rows = tensor.view(-1, tensor.shape[-2] if tensor.dim() > 2 else 1, key.D)
        return rows.view(getattr(torch, stored)) if words else rows

    def launch(run, x, *arguments):
        *others, y = arguments[:tensors]
        limit, *params = arguments[tensors:]
        given = [t for t in others if t is not None]
        run(whole(x), *given, whole(y), limit, *schedule(2 * half, *params))

    access = [f"*({spelling}*)" for spelling in wide(stored, vector > 1)]
    return Kernel(main, launch=launch, claims=("exp(", *access))


def rope_neox(key: Key) -> Kernel:
    """Elements of a pair are half a row apart; position is the place in the sequence."""
    return _rope(key, plain, key.D // 2)


def rope_non_neox(key: Key) -> Kernel:
    """Elements of a pair are neighbours: one word, so that 16-byte accesses hold whole pairs."""
    return _rope(key, plain, key.D // 2, words=True)


def rope_llama31(key: Key) -> Kernel:
    """`rope_neox` with long wavelengths stretched."""
    return _rope(key, llama31, key.D // 2)


def rope_yarn(key: Key) -> Kernel:
    """`rope_neox` with the last pairs interpolated."""
    return _rope(key, yarn, key.D // 2)


def rope_long_rope(key: Key) -> Kernel:
    """`rope_neox` with a divisor for each frequency."""
    return _rope(key, long_rope, key.D // 2, tensors=2)


def rope_position_ids(key: Key) -> Kernel:
    """`rope_neox` of the first R elements of a row at given positions; the rest is copied."""
    return _rope(key, plain, key.R // 2, tensors=2)


@lru_cache(1024)
def plain(width: int, base: float) -> Schedule:
    """Frequencies `base ** (-2m / width)`."""
    return 2.0 * math.log(base) / width, 1.0, 0.0, 0.0, 1.0, 1.0


@lru_cache(1024)
def llama31(width: int, base: float, scale: float, low: float, high: float, original: int) -> Schedule:
    """The share that stays is linear in the periods that fit `original`: 0 up to `low`, 1 from `high` on."""
    rate, span = 2.0 * math.log(base) / width, high - low
    return rate, -low / span, 0.0, original / (2.0 * math.pi) / span, 1.0 / scale, 1.0


@lru_cache(1024)
def yarn(
    width: int, base: float, scale: float, original: int, fast: float, slow: float, attention: float
) -> Schedule:
    """The share that stays is linear in the pair, from the one that turns `fast` times to that of `slow`."""

    def pair(turns: float) -> float:
        return width * math.log(original / (2.0 * math.pi * turns)) / (2.0 * math.log(base))

    low, high = max(math.floor(pair(fast)), 0), min(math.ceil(pair(slow)), width - 1)
    span = high - low or 0.001
    amplitude = attention * (0.1 * math.log(scale) + 1.0 if scale > 1.0 else 1.0)
    return 2.0 * math.log(base) / width, 1.0 + low / span, -1.0 / span, 0.0, 1.0 / scale, amplitude


@lru_cache(1024)
def long_rope(width: int, base: float, longest: int, original: int) -> Schedule:
    """The divisors are a tensor; the amplitude grows with the ratio of lengths."""
    ratio = longest / original
    amplitude = math.sqrt(1.0 + math.log(ratio) / math.log(original)) if ratio > 1.0 else 1.0
    return (*plain(width, base)[:5], amplitude)
