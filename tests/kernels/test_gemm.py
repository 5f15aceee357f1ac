"""Values of the matrix products on the CPU against the oracle, at the sizes where tiles end."""

import re

import pytest
import torch

from tests.kernels.building import build, close, poisoned, randn
from tileops import targets
from tileops.kernels import gemm as kernels
from tileops.kernels.gemm import fp8
from tileops.kernels.gemm.tiles import Operands, Tile
from tileops.reference import gemm as oracles

LAYOUTS = [(False, True), (False, False), (True, False), (True, True)]


def check(run, dtype, m, n, k, trans_a, trans_b):
    a = randn(*((k, m) if trans_a else (m, k)), dtype=dtype)
    b = randn(*((n, k) if trans_b else (k, n)), dtype=dtype, seed=1)
    d = poisoned(m, n, dtype=dtype)
    run(a, b, d)
    close(d, oracles.gemm(a, b, trans_a=trans_a, trans_b=trans_b), 4 * k)


@pytest.mark.parametrize(("trans_a", "trans_b"), LAYOUTS)
def test_aligned_sizes(trans_a, trans_b):
    run = build(kernels.gemm_tma, ("a", "b"), "bfloat16", trans_a=trans_a, trans_b=trans_b, tile="256x128")
    for m, n, k in [(8, 8, 8), (256, 128, 64), (264, 136, 200), (0, 8, 8), (8, 8, 0)]:
        if m * n:
            check(run, "bfloat16", m, n, k, trans_a, trans_b)


@pytest.mark.parametrize("tile", ["128x192", "64x128", "64x64"])
def test_rows_of_a_need_not_be_aligned(tile):
    run = build(kernels.gemm_tma, ("a", "b"), "float16", trans_a=False, trans_b=True, tile=tile)
    for m, n, k in [(1, 8, 8), (129, 136, 72)]:
        check(run, "float16", m, n, k, False, True)


@pytest.mark.parametrize("tile", ["64x128", "128x64", "128x128"])
def test_split(tile):
    """One piece; pieces of equal size; a last piece that is shorter; a last tile of K that is cut off."""
    run = build(kernels.gemm_split, ("a", "b"), "float16", trans_a=False, trans_b=True, tile=tile)
    for m, n, k in [(1, 8, 64), (17, 72, 512), (65, 136, 2312)]:
        check(run, "float16", m, n, k, False, True)


@pytest.mark.parametrize("rows", [1, 2, 4])
def test_one_to_four_rows(rows):
    """A row, a block of rows, a step of K, and one beside each."""
    run = build(kernels.gemm_gemv, ("a", "b"), "bfloat16", rows=rows, turned=True)
    for n, k in [(1, 8), (4, 1024), (5, 1032), (3, 2040)]:
        for m in {1, rows - 1, rows} - {0}:
            check(run, "bfloat16", m, n, k, False, True)


def test_one_row_by_weights_of_four_bits():
    """A row of weights, a block of rows, a step of K, and one beside each; large zero points; an infinity."""
    run = build(kernels.gemm_w4a16_gemv, ("activation",), "float16", group_size=64)
    for n, k in [(1, 64), (4, 4096), (5, 4160)]:
        x = randn(1, k, dtype="float16")
        x[0, 3] = float("inf")
        generator = torch.Generator().manual_seed(n)
        w, zero = (torch.randint(256, (n, size), generator=generator).byte() for size in (k // 2, k // 64))
        scale, d = randn(n, k // 64), poisoned(1, n, dtype="float16")
        run(x, w, scale, zero, d)
        want = oracles.gemm_w4_a16(x, w, scale, zero, group_size=64)
        torch.testing.assert_close(d.double(), want.double(), rtol=2e-3, atol=0.5, equal_nan=True)


def test_all_nibbles_and_zero_points_of_few_rows_by_weights_of_four_bits():
    """Each byte less each zero point, a part of a block of weights, and a last block of K of fewer steps."""
    m, n, k, group = 5, 72, 1152, 64
    run = build(kernels.gemm_w4a16_few, ("activation",), "float16", group_size=group, tile="16")
    x = randn(m, k, dtype="float16")
    w = torch.arange(n * k // 2).view(n, -1).mul(37).remainder(256).byte()
    zero = torch.arange(n * k // group).view(n, -1).remainder(256).byte()
    scale, d = randn(n, k // group), poisoned(m, n, dtype="float16")
    run(x, w, scale, zero, d)
    want = oracles.gemm_w4_a16(x, w, scale, zero, group_size=group)
    torch.testing.assert_close(d.double(), want.double(), rtol=2e-3, atol=0.5)


def test_one_to_four_columns():
    run = build(kernels.gemm_gemv, ("a", "b"), "float16", rows=4, turned=False)
    for m, n, k in [(5, 1, 8), (6, 3, 1032), (9, 4, 1024)]:
        check(run, "float16", m, n, k, False, True)


def test_a_vector_need_not_be_transposed():
    run = build(kernels.gemm_gemv, ("a", "b"), "float16", rows=1, turned=True)
    check(run, "float16", 1, 7, 520, True, True)
    check(run, "float16", 7, 1, 520, False, False)


@pytest.mark.parametrize(("trans_a", "trans_b"), LAYOUTS)
@pytest.mark.parametrize("turned", [False, True])
def test_few_rows_or_columns(trans_a, trans_b, turned):
    static = {"trans_a": trans_a, "trans_b": trans_b, "turned": turned, "fold": 1, "tile": "64x16"}
    run = build(kernels.gemm_swapped, ("a", "b"), "bfloat16", **static)
    for few, many, k in [(16, 64, 128), (8, 72, 136), (16, 128, 264)]:
        check(run, "bfloat16", *((few, many) if turned else (many, few)), k, trans_a, trans_b)


@pytest.mark.parametrize(("fold", "tile"), [(1, "64x16"), (2, "64x32"), (4, "64x64"), (1, "64x64 alone")])
def test_rows_that_are_read_as_several(fold, tile):
    """Tiles that are full, and cut off in each direction; a part of K shorter than a step, and longer."""
    static = {"trans_a": False, "trans_b": True, "fold": fold, "tile": tile, "turned": True}
    run, few = build(kernels.gemm_swapped, ("a", "b"), "float16", **static), int(tile[3:5]) // fold
    for m, n, k in [(few, 64 // fold, 8 * fold), (few - 1, 65, 1056), (1, 63, 544)]:
        check(run, "float16", m, n, k, False, True)


def test_infinity_stays_in_its_row_and_part_of_k():
    static = {"trans_a": False, "trans_b": True, "fold": 4, "tile": "64x16", "turned": True}
    run = build(kernels.gemm_swapped, ("a", "b"), "float16", **static)
    a, b, d = torch.ones(3, 64).half(), torch.ones(17, 64).half(), poisoned(3, 17, dtype="float16")
    a[1, 40] = float("inf")
    b[:, 24] = 0  # the same place in another part: infinity times zero would be NaN
    run(a, b, d)
    assert d[1].isinf().all()
    assert (d[[0, 2]] == 63).all()


@pytest.mark.parametrize(("trans_a", "trans_b"), LAYOUTS)
def test_any_size(trans_a, trans_b):
    run = build(kernels.gemm_general, ("a", "b"), "float16", trans_a=trans_a, trans_b=trans_b)
    for m, n, k in [(1, 1, 1), (65, 129, 67), (33, 31, 17), (4, 3, 0)]:
        check(run, "float16", m, n, k, trans_a, trans_b)


def test_infinity_stays_in_its_row_and_column():
    run = build(kernels.gemm_general, ("a", "b"), "float16", trans_a=False, trans_b=True)
    a, b, d = torch.ones(3, 5).half(), torch.ones(7, 5).half(), poisoned(3, 7, dtype="float16")
    a[1, 4] = float("inf")
    run(a, b, d)
    assert d[1].isinf().all()
    assert (d[[0, 2]] == 5).all()


@pytest.mark.parametrize("tile", ["128x256", "256x128", "128x192"])
def test_blocks_that_stay(tile):
    """One tile; a last panel of fewer rows of tiles; fewer blocks than tiles."""
    run = build(kernels.gemm_persistent, ("a", "b"), "bfloat16", trans_a=False, trans_b=True, tile=tile)
    for m, n, k in [(8, 8, 8), (2056, 264, 72), (2 * 256 * 9, 128 * 8, 8)]:
        check(run, "bfloat16", m, n, k, False, True)


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize(("fold", "tile"), [(1, "64x16"), (2, "64x32"), (4, "64x64")])
def test_few_float8_rows(fold, tile, blocks):
    """The scales of a part of K stay with it; a full tile, and one that is cut off in each direction."""
    run = build(kernels.gemm_fp8_swapped, ("d",), "bfloat16", blocks=blocks, fold=fold, tile=tile)
    for m, n in [(16, 64), (15, 65), (1, 17)]:
        k = 128 * fold * 2 if blocks else 48 * fold
        a, b = randn(m, k).to(torch.float8_e4m3fn), randn(n, k, seed=1).to(torch.float8_e4m3fn)
        shapes = ((m, k // 128), (n, k // 128)) if blocks else ((1, 1), (1, 1))
        scale_a, scale_b = (randn(*shape, seed=i).abs() for i, shape in enumerate(shapes))
        d = poisoned(m, n, dtype="bfloat16")
        run(a, b, scale_a, scale_b, None, d)
        close(d, oracles.gemm_fp8(a, b, scale_a, scale_b, None, out_dtype=torch.bfloat16), 64 * k)


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("group", [2, 4])
def test_float8_steps_in_flight_together(group, blocks):
    """A group of steps that is full, and one that K cuts off."""
    kind, tile = Operands("float8_e4m3fn", blocks=blocks), Tile(64, 32, 2, 128, 128, group=group)
    run = targets.get("cpu").compile(fp8.persistent(kind, tile, "bfloat16", False))
    for m, n, k in [(65, 40, 128 * group), (3, 8, 128 * group + 16)]:
        a, b = randn(m, k).to(torch.float8_e4m3fn), randn(n, k, seed=1).to(torch.float8_e4m3fn)
        steps = -(-k // 128)
        shapes = ((m, steps), (n, steps)) if blocks else ((1, 1), (1, 1))
        scale_a, scale_b = (randn(*shape, seed=i).abs() for i, shape in enumerate(shapes))
        d = poisoned(m, n, dtype="bfloat16")
        turned = [s.T.contiguous() if blocks else s.view(1) for s in (scale_a, scale_b)]
        if blocks:  # rows of whole 16 bytes
            turned = [torch.nn.functional.pad(s, (0, -s.shape[1] % 4)) for s in turned]
        run(a, b, *turned, d.view(-1)[:1], d, fp8.workers(d, tile))
        close(d, oracles.gemm_fp8(a, b, scale_a, scale_b, None, out_dtype=torch.bfloat16), 64 * k)


def offsets(source):
    """Where in shared memory TMA writes, in bytes, at some step."""
    starts = dict(re.findall(r"void\* (\w+) = .*buf_dyn_shmem \+ (\d+)", source))
    for kind, name, place in re.findall(r"tma_load\(.*?\(&\(\(\((\w+)\*\)(\w+)\)\[(.*?)\]\)\)", source):
        place = re.sub(r"producer_phase_cnt\[0\]|\bko\b", "5", place)
        yield int(starts[name]) + {"float": 4, "fp8_e4_t": 1}[kind] * eval(place.replace("/", "//"))


@pytest.mark.parametrize("tile", fp8.SWAPPED)
def test_tma_writes_to_whole_128_bytes(tile):
    """Also the scales of fewer rows than fill them."""
    program = fp8.swapped(Operands("float8_e4m3fn", blocks=True), fp8.SWAPPED[tile], 1, "bfloat16", False)
    found = list(offsets(targets.get("hopper").lower(program).source))
    assert len(found) == 4
    assert not [offset for offset in found if offset % 128]


@pytest.mark.parametrize("blocks", [False, True])
def test_products_in_flight_keep_their_operands(blocks):
    """Two warp groups take turns; what they read is handed back behind the wait."""
    kind, tile = Operands("float8_e4m3fn", blocks=blocks), Tile(128, 128, 4, 256, 128, turns=True)
    source = targets.get("hopper").lower(fp8.persistent(kind, tile, "bfloat16", False)).source
    order = r"__sync_thread_partial\(.*wgmma_ss<.*__named_barrier_arrive\(.*wait_wgmma<0>.*\.arrive\(\)"
    loop = source.partition("warpgroup_reg_alloc")[2]
    assert re.search(order, loop, re.DOTALL)
    assert ".arrive()" not in loop.partition("wait_wgmma<0>")[0]


@pytest.mark.parametrize("tile", ["128x128", "64x32"])
@pytest.mark.parametrize("blocks", [False, True])
def test_loads_go_on_while_a_float8_result_leaves(tile, blocks):
    """No barrier of the whole block in the loop over tiles: it would hold up the warps that load."""
    program = fp8.persistent(
        Operands("float8_e4m3fn", blocks=blocks), fp8.PERSISTENT[tile], "bfloat16", False
    )
    _, found, loop = targets.get("hopper").lower(program).source.partition("for (int turn")
    assert found
    assert "tma_load" in loop
    assert "__syncthreads" not in loop


GROUPS = {
    "empty first, one row, straddling a tile, empty last": ([0, 1, 130, 19, 0], [0, 0, 1, 131, 150]),
    "gaps, in no order": ([20, 0, 64, 3], [100, 7, 2, 90]),
    "beyond the last row": ([100, 100], [40, 140]),
}


def groups(name, total):
    """Sizes and offsets, and of each group the rows that exist."""
    sizes, offsets = GROUPS[name]
    rows = [range(total)[o : o + n] for n, o in zip(sizes, offsets, strict=True)]
    return torch.tensor(sizes).int(), torch.tensor(offsets).int(), rows


@pytest.mark.parametrize("factory", [kernels.grouped_gemm_rows, kernels.grouped_gemm_general])
@pytest.mark.parametrize("name", GROUPS)
def test_groups_that_share_rows(factory, name):
    static = {"tile": "64x128"} if factory is kernels.grouped_gemm_rows else {"transpose_a": False}
    run = build(factory, ("a", "b"), "bfloat16", transpose_b=True, **static)
    sizes, offsets, rows = groups(name, 151)
    a, b = randn(151, 24, dtype="bfloat16"), randn(len(sizes), 40, 24, dtype="bfloat16", seed=1)
    d, want = poisoned(151, 40, dtype="bfloat16"), torch.zeros(151, 40).double()
    for e, own in enumerate(rows):
        want[own] = a[own].double() @ b[e].double().mT
    run(a, b, sizes, offsets, None, d)
    close(d, want, 100)


@pytest.mark.parametrize("factory", [kernels.grouped_gemm_columns, kernels.grouped_gemm_general])
@pytest.mark.parametrize("name", GROUPS)
def test_groups_that_sum_over_rows(factory, name):
    """Infinities in a gap and in another group stay there."""
    static = {"transpose_a": True} if factory is kernels.grouped_gemm_general else {}
    run = build(factory, ("a", "b"), "bfloat16", transpose_b=False, **static)
    sizes, offsets, rows = groups(name, 151)
    a, b = randn(151, 24, dtype="bfloat16"), randn(151, 40, dtype="bfloat16", seed=1)
    owned = {row for own in rows for row in own}
    for row in set(range(151)) - owned:
        a[row] = b[row] = float("inf")
    d = poisoned(len(sizes), 24, 40, dtype="bfloat16")
    want = torch.stack([a[own].double().mT @ b[own].double() for own in rows])
    run(a, b, sizes, offsets, None, d)
    close(d, want, 400)
