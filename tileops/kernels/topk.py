"""The best entries of each row, in order: a radix select that reads every score from memory once.

A block streams its row past a buffer on chip. Whatever may still be among the best is appended; when the
buffer runs full, a radix select finds its `k`-th best entry, keeps the best ones, and from then on only what
is better is appended. The longer a row, the fewer scores pass, so the stream is what costs: the bound is one
read of the scores. A row of any length and any distribution fits.

An entry is one 64-bit word: above, the bits of a score, turned so that they order like the score with NaN on
top; below, the bits of its index inverted. No two are equal, and they order by score, then by lower index.
So the result does not depend on the order in which threads append.
"""

import tilelang.language as T

from tileops.kernel import Kernel, Key

U32, U64 = "uint32", "uint64"
THREADS, LANE, BATCH = 512, 4, 2
PIECE = THREADS * LANE * BATCH  # scores that are read at a time
COPIES = 16  # of the histogram: threads of a warp rarely meet in one counter
LOW, SIGN, MAGNITUDE, INFINITY = 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 0x7F800000  # of 32 bits

OWN_BARRIERS = {"tl.disable_thread_storage_sync": True}
"""Which threads meet in a word is decided by data: the compiler would put barriers inside of branches."""


@T.macro
def read(X, x, row, group, start, single):
    """A piece of a row, from vector `start` on; 0 past its end."""
    for u, t, j in T.Parallel(BATCH, THREADS, LANE):
        at = (start + u * THREADS + t) * LANE + j
        x[u, t, j] = X[row, at] if single else X[row, at, group]


@T.macro
def take(fresh, u, t, score, index, inside):
    """The word of a score; 0, which is no score's, of one that is not inside."""
    bits = T.reinterpret(score, U32)
    negative = T.shift_right(bits, T.cast(31, U32)) != T.cast(0, U32)
    turned = T.if_then_else(negative, T.bitwise_not(bits), T.bitwise_or(bits, T.cast(SIGN, U32)))
    signed = T.if_then_else(score == 0.0, T.cast(SIGN, U32), turned)  # -0 is 0
    nan = T.bitwise_and(bits, T.cast(MAGNITUDE, U32)) > T.cast(INFINITY, U32)
    order = T.if_then_else(nan, T.cast(LOW, U32), signed)
    below = T.cast(T.bitwise_not(T.cast(index, U32)), U64)
    entry = T.bitwise_or(T.shift_left(T.cast(order, U64), T.cast(32, U64)), below)
    fresh[u, t] = T.if_then_else(inside, entry, T.cast(0, U64))


@T.macro
def append(held, entries, size, least, rows):
    """Put what is not below `least` into the buffer: a thread asks once for places for all of its own."""
    mine = T.alloc_fragment((THREADS,), "int32")
    T.clear(mine)
    for t in T.Parallel(THREADS):
        for u in T.unroll(rows):
            if held[u, t] >= least[0]:
                mine[t] = mine[t] + 1
    for t in T.Parallel(THREADS):
        if mine[t] > 0:
            at = T.alloc_var("int32", init=0)
            at = T.atomic_add(size[0], mine[t], return_prev=True)
            for u in T.unroll(rows):
                if held[u, t] >= least[0]:
                    entries[at] = held[u, t]
                    at = at + 1


@T.macro
def select(entries, held, size, found, counts, above, least, k, rows):
    """Keep the `k` best of the first `size` entries, in no order, and leave the last of them in `least`.

    Eight bits at a time, from above: the entries that agree with what is known of the `k`-th best are counted
    by their next eight bits. It ends early when all of those that are still in question belong to the best.
    """
    shift, need, more = (
        T.alloc_var("int32", init=56),
        T.alloc_var("int32", init=k),
        T.alloc_var("int32", init=1),
    )
    last = T.alloc_var(U64, init=T.cast(0, U64))
    while shift >= 0 and more != 0:
        T.clear(counts)
        T.sync_threads()
        for t in T.Parallel(THREADS):
            for u in T.serial(T.ceildiv(size[0], THREADS)):
                other = T.shift_right(T.bitwise_xor(entries[u * THREADS + t], last), T.cast(shift, U64))
                if T.shift_right(other, T.cast(8, U64)) == T.cast(0, U64) and u * THREADS + t < size[0]:
                    T.atomic_add(
                        counts[T.cast(T.bitwise_and(other, T.cast(255, U64)), "int32"), t % COPIES], 1
                    )
        T.sync_threads()
        for d in T.Parallel(256):
            total = T.alloc_var("int32", init=0)
            for c in T.serial(COPIES):
                total = total + counts[d, c]
            above[d] = total
        T.sync_threads()
        T.cumsum(above, dim=0, reverse=True)
        T.sync_threads()
        for d in T.Parallel(256):
            beyond = T.if_then_else(d < 255, above[T.min(d + 1, 255)], 0)
            if beyond < need and need <= above[d]:
                found[0] = d
                found[1] = need - beyond
                found[2] = T.if_then_else(need == above[d], 0, 1)
        T.sync_threads()
        need = found[1]
        more = found[2]
        last = T.bitwise_or(last, T.shift_left(T.cast(found[0], U64), T.cast(shift, U64)))
        shift = shift - 8
    for u, t in T.Parallel(rows, THREADS):
        held[u, t] = T.if_then_else(u * THREADS + t < size[0], entries[u * THREADS + t], T.cast(0, U64))
    T.sync_threads()
    size[0] = 0
    least[0] = last
    T.sync_threads()
    append(held, entries, size, least, rows)
    T.sync_threads()


@T.macro
def sort(entries, count):
    """The first `count` entries, a power of two, from the largest down: a bitonic network."""
    for phase in T.serial(1, count.bit_length()):
        for step in T.serial(phase):
            T.sync_threads()
            for i in T.Parallel(count // 2):
                stride = T.shift_left(1, phase - 1 - step)
                low = 2 * i - T.bitwise_and(i, stride - 1)
                rising = T.bitwise_and(T.shift_right(low, phase), 1) != 0
                a, b = T.alloc_var(U64), T.alloc_var(U64)
                a = entries[low]
                b = entries[low + stride]
                if (a < b) != rising:
                    entries[low] = b
                    entries[low + stride] = a
    T.sync_threads()


def topk_selector(key: Key) -> Kernel:
    """A block owns a row. `block` is a power of two that holds `topk`, `single` a last dimension of 1."""
    capacity, block, single = max(8192, 2 * key.block), key.block, key.single
    rows, lane = capacity // THREADS, LANE
    m, groups, k = T.dynamic("m", "int64"), T.dynamic("groups"), T.dynamic("k")
    n = T.dynamic("n4") * 4 if key.aligned else T.dynamic("n")
    shape = (m, n) if single else (m, n, groups)

    @T.prim_func
    def main(
        X: T.Tensor(shape, "float32"),
        First: T.Tensor((m,), "int32"),
        End: T.Tensor((m,), "int32"),
        Y: T.Tensor((m, groups, k), "int32"),
    ):
        with T.Kernel(m * groups, threads=THREADS) as bx:
            T.annotate_min_blocks_per_sm(2 if capacity == 8192 else 1)
            row, g = T.truncdiv(bx, groups), T.cast(T.truncmod(bx, groups), "int32")
            entries = T.alloc_shared((capacity,), U64)
            counts, above = T.alloc_shared((256, COPIES), "int32"), T.alloc_shared((256,), "int32")
            size, found, least = (
                T.alloc_shared((1,), "int32"),
                T.alloc_shared((3,), "int32"),
                T.alloc_shared((1,), U64),
            )
            held = T.alloc_fragment((rows, THREADS), U64)
            x = T.alloc_fragment((BATCH, THREADS, lane), "float32")
            fresh = T.alloc_fragment((BATCH * lane, THREADS), U64)
            first, end = T.min(T.max(First[row], 0), n), T.max(T.min(End[row], n), 0)
            start = first // lane
            size[0] = 0
            least[0] = T.cast(1, U64)
            T.clear(entries)
            T.sync_threads()
            read(X, x, row, g, start, single)
            for b in T.serial(T.ceildiv(T.max(end - start * lane, 0), PIECE)):
                full = T.alloc_var("bool")
                full = size[0] > capacity - PIECE
                T.sync_threads()
                if full:
                    select(entries, held, size, found, counts, above, least, k, rows)
                for t in T.Parallel(THREADS):
                    for u in T.unroll(BATCH):
                        for j in T.unroll(lane):
                            at = (start + (b * BATCH + u) * THREADS + t) * lane + j
                            take(fresh, u * lane + j, t, x[u, t, j], at, first <= at and at < end)
                read(X, x, row, g, start + (b + 1) * BATCH * THREADS, single)
                append(fresh, entries, size, least, BATCH * lane)
                T.sync_threads()
            if size[0] > k:
                select(entries, held, size, found, counts, above, least, k, rows)
            T.sync_threads()
            for i in T.Parallel(block):
                if i >= size[0]:
                    entries[i] = T.cast(0, U64)
            sort(entries, block)
            for i in T.Parallel(block):
                if i < k:
                    index = T.cast(T.bitwise_not(T.cast(entries[i], U32)), "int32")
                    Y[row, g, i] = T.if_then_else(entries[i] == T.cast(0, U64), -1, index)

    claims = ("AtomicAddRet", "*(float4*)") if single and key.aligned else ("AtomicAddRet",)

    def launch(run, score, starts, ends, indexes):
        groups = score.shape[-1]
        x = score.view(-1, score.shape[2]) if single else score.view(-1, score.shape[2], groups)
        run(x, starts.view(-1), ends.view(-1), indexes.view(-1, groups, indexes.shape[-1]))

    return Kernel(main, launch=launch, claims=claims, pass_configs=OWN_BARRIERS)
