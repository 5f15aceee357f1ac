"""Times tiles of the matrix products on a GPU, to find the rules by which the manifest chooses among them.

    python benchmarks/gemm_tiles.py [--only TEXT] [--rounds N] [--processes N]

For each size a JSON line: microseconds and relative error of every candidate and of PyTorch's own call,
measured in turn, with the inputs outside of the cache. Candidates are compiled first, in parallel.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tileops import targets
from tileops.bench import timing
from tileops.kernel import Kernel, Key
from tileops.kernels import gemm
from tileops.kernels.gemm import dense, few, fp8
from tileops.kernels.gemm.tiles import Tile

HALF, E4M3 = "bfloat16", "float8_e4m3fn"

dense.PERSISTENT |= {
    "192x192": Tile(192, 192, 4, 384, pieces=3),
    "128x128": Tile(128, 128, 6, 256),
    "128x128d128": Tile(128, 128, 3, 256, depth=128),
}
dense.TILES |= {
    "128x256": Tile(128, 256, 4, 256),
    "192x192": Tile(192, 192, 4, 384),
    "128x128d128": Tile(128, 128, 3, 256, depth=128),
    "64x64s6": Tile(64, 64, 6, 128, depth=128),
    "64x128d128": Tile(64, 128, 2, 128, depth=128, blocks=2),
    "128x64": Tile(128, 64, 4, 256, blocks=2),
}
dense.SPLIT |= {
    "64x64": Tile(64, 64, 6, 128, depth=128),
    "64x256": Tile(64, 256, 4, 128),
    "128x128d128": Tile(128, 128, 3, 256, depth=128),
}
few.SWAPPED |= {
    "64x16s6": Tile(64, 16, 6, 128, 128, blocks=2),
    "64x32 alone": Tile(64, 32, 8, 128, 128),
    "64x48": Tile(64, 48, 3, 128, 128, blocks=2),
    "64x64s4": Tile(64, 64, 4, 128, 64, blocks=3),
}
fp8.SWAPPED |= {"64x16s16": Tile(64, 16, 16, 128, 128), "64x64s8": Tile(64, 64, 8, 128, 128)}
fp8.PERSISTENT |= {
    "128x128s4": Tile(128, 128, 4, 256, 128),
    "64x64s4": Tile(64, 64, 4, 128, 128, blocks=2),
    "64x32s8": Tile(64, 32, 8, 128, 128, blocks=2),
    "128x160": Tile(128, 160, 4, 256, 128),
    "128x192p3": Tile(128, 192, 5, 256, 128, pieces=3),
}

FEW = {  # "*2": each row is read as two
    "gemm_gemv": ("",),
    "gemm_swapped": (
        *("64x16", "64x16s6", "64x16*2", "64x16*4", "64x32", "64x32 alone", "64x32*2", "64x32*4", "64x48"),
        *("64x64", "64x64s4", "64x64 alone", "64x64*2", "64x64 alone*2", "64x64*4", "64x64 alone*4"),
    ),
    "gemm_tma": ("64x64", "64x64s6", "64x128"),
    "gemm_split": ("64x128", "64x64", "64x256", "128x64", "128x128"),
}
MANY = {
    "gemm_tma": ("256x128", "128x192", "128x256", "128x128", "128x128d128", "192x192"),
    "gemm_persistent": tuple(dense.PERSISTENT),
}
SOME = {
    "gemm_tma": ("64x64", "64x128", "64x128d128", "128x64", "128x128", "128x128d128", "128x192", "128x256"),
    "gemm_persistent": ("128x256", "128x192", "128x128"),
}
BMM_FEW = {"bmm_swapped": ("64x16", "64x32", "64x64"), "gemm_tma": ("64x64", "64x128")}
FP8_FEW = {
    "gemm_fp8_swapped": (
        *("64x16", "64x16s16", "64x16*2", "64x16*4", "64x32", "64x32*2", "64x32*4"),
        *("64x64", "64x64s8", "64x64*2", "64x64*4"),
    ),
    "gemm_fp8_persistent": ("64x32", "64x32s8", "64x64", "64x64s4", "64x128", "128x128"),
}
FP8_MANY = {"gemm_fp8_persistent": ("128x128", "128x128s4", "128x192", "128x192p3", "128x160", "64x128")}


class Size(NamedTuple):
    """One product and what may compute it: tiles by factory."""

    op: str
    sizes: tuple[int, ...]
    candidates: Mapping[str, Sequence[str]]
    static: Mapping[str, Any] = MappingProxyType({})

    @property
    def name(self) -> str:
        return f"{self.op} {'x'.join(map(str, self.sizes))}{' blocks' if self.static.get('blocks') else ''}"


NT = {"trans_a": False, "trans_b": True}
SIZES = [
    *(Size("GemmFwdOp", s, FEW, NT) for s in [
        (1, 4096, 4096), (1, 4096, 14336), (2, 28672, 4096), (4, 51200, 5120), (8, 6144, 4096),
        (16, 4096, 7168), (16, 4096, 4096), (32, 6144, 4096), (64, 2112, 7168), (64, 7168, 2048),
        (64, 4096, 14336), (64, 57344, 8192), (128, 2112, 7168), (128, 7168, 2048),
    ]),
    *(Size("GemmFwdOp", s, SOME, NT) for s in [
        (256, 7168, 2048), (512, 4096, 7168), (1024, 1024, 1024), (1024, 4096, 4096), (2048, 2048, 4096),
    ]),
    *(Size("GemmFwdOp", s, MANY, NT) for s in [
        (8192, 8192, 8192), (4096, 2112, 7168), (4096, 7168, 2048), (4096, 4096, 7168), (4096, 24576, 1536),
        (2048, 4096, 4096), (4096, 4096, 4096), (16384, 6144, 4096), (8192, 28672, 8192),
    ]),
    *(Size("BmmFwdOp", s, BMM_FEW) for s in [(128, 1, 512, 128), (128, 16, 512, 128), (128, 8, 1536, 2048)]),
    *(Size("BmmFwdOp", s, SOME) for s in [
        (64, 128, 2048, 128), (64, 128, 128, 2048), (128, 128, 512, 128), (128, 64, 1536, 2048),
        (16, 512, 512, 512)]),
    *(Size("BmmFwdOp", s, MANY) for s in [
        (4, 4096, 4096, 4096), (8, 2048, 2048, 2048), (128, 4096, 128, 512), (128, 512, 512, 2048)]),
    *(Size("GemmFp8FwdOp", s, FP8_FEW, {"blocks": b}) for b in (False, True) for s in [
        (1, 7168, 2048), (8, 7168, 2048), (1, 4096, 14336), (128, 2112, 7168), (128, 7168, 2048),
    ]),
    *(Size("GemmFp8FwdOp", s, FP8_MANY, {"blocks": b}) for b in (False, True) for s in [
        (4096, 2112, 7168), (4096, 7168, 2048), (4096, 4096, 7168), (4096, 7168, 16384), (4096, 24576, 1536),
    ]),
    *(Size(op, s, {"bmm_fp8_persistent": ("64x32", "64x64", "64x128", "128x128", "128x192")})
      for op in ("BmmFp8NKFwdOp", "BmmFp8KNFwdOp") for s in [
        (8, 2048, 2048, 2048), (64, 128, 2048, 128), (32, 128, 128, 2048), (128, 512, 512, 2048)]),
    *(Size("BmmFp8NKFwdOp", s, {"bmm_fp8_swapped": ("64x16", "64x32"), "bmm_fp8_persistent": ("64x32",)})
      for s in [(128, 16, 512, 128), (128, 8, 1536, 2048)]),
]  # fmt: skip


def key(size: Size, factory: str, candidate: str) -> Key | None:
    """The key of a candidate, as the manifest would make it; none where the size is not one for it."""
    (m, n, k), (tile, _, fold) = size.sizes[-3:], candidate.partition("*")
    rows, parts, turned = min(m, n), int(fold or 1), m <= n
    static = {**size.static, "tile": tile}
    if factory == "gemm_gemv":
        static = {"rows": rows if rows <= 2 else 4, "turned": turned}
    elif "swapped" in factory:
        static |= {"fold": parts, "turned": turned}
    columns = 4 if factory == "gemm_gemv" else int(tile.split("x")[1][:2])
    if (factory == "gemm_gemv" or "swapped" in factory) and (rows * parts > columns or k % (8 * parts)):
        return None
    wide = E4M3 if "Fp8" in size.op else HALF
    dtypes = (("a", wide), ("b", wide), ("d", HALF))
    return Key(size.op, factory, "hopper", dtypes, tuple(static.items()))


def keys(sizes: Sequence[Size]) -> Iterator[tuple[Size, Key]]:
    for size in sizes:
        for factory, tiles in size.candidates.items():
            found = (key(size, factory, tile) for tile in tiles)
            yield from ((size, one) for one in found if one is not None)


def build(wanted: Key) -> tuple[Kernel, Any] | str:
    """The kernel of a candidate with its compiled programs, or why there is none."""
    try:
        kernel: Kernel = getattr(gemm, wanted.implementation)(wanted)
        runs = tuple(targets.get("hopper").compile(p, kernel.pass_configs or None) for p in kernel.programs)
    except Exception as error:  # noqa: BLE001  a tile that does not compile is reported, and the others go on
        return f"{type(error).__name__}: {str(error).strip().splitlines()[-1][:200]}"
    return kernel, runs[0] if len(runs) == 1 else runs


def compiled(wanted: Key) -> str | None:
    """Compile into the cache folder, in a process of its own."""
    found = build(wanted)
    return found if isinstance(found, str) else None


def inputs(size: Size, seed: int) -> list[Tensor | None]:
    """Random operands, and scales of float8 ones."""
    generator = torch.Generator("cuda").manual_seed(seed)

    def randn(*shape: int) -> Tensor:
        made = torch.randn(shape, generator=generator, device="cuda")
        return made.to(torch.float8_e4m3fn if "Fp8" in size.op else torch.bfloat16)

    def rand(*shape: int) -> Tensor:
        return torch.rand(shape, generator=generator, device="cuda") + 0.5

    *lead, m, n, k = size.sizes
    b_first = (n, k) if "Gemm" in size.op or "NK" in size.op else (k, n)
    a, b = randn(*lead, m, k), randn(*lead, *b_first)
    if "Fp8" not in size.op:
        return [a, b]
    if size.op != "GemmFp8FwdOp":
        return [a, b, rand(), rand()]
    steps = -(-k // 128)
    scales = (rand(m, steps), rand(n, steps)) if size.static["blocks"] else (rand(1, 1), rand(1, 1))
    return [a, b, *scales, None]


def torch_calls(size: Size) -> dict[str, Callable[..., Tensor]]:
    """PyTorch's own calls."""
    if size.op == "GemmFwdOp":
        return {"torch": lambda a, b: a @ b.mT}
    if size.op == "BmmFwdOp":
        return {"torch": torch.bmm}
    if size.op == "GemmFp8FwdOp" and not size.static["blocks"]:

        def scaled(fast: bool) -> Callable[..., Tensor]:
            def run(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, _: None) -> Tensor:
                return torch._scaled_mm(
                    a, b.mT, scale_a.view(()), scale_b.view(()), out_dtype=torch.bfloat16, use_fast_accum=fast
                )

            return run

        return {"torch": scaled(False), "torch fast": scaled(True)}
    return {}


def reference(size: Size, tensors: Sequence[Tensor | None]) -> Tensor:
    """In float32, on the device."""
    a, b = (t.float() for t in tensors[:2] if t is not None)
    if size.static.get("blocks"):
        a, b = (
            x * s.repeat_interleave(128, 1)[:, : x.shape[1]]
            for x, s in zip((a, b), tensors[2:4], strict=True)
            if s is not None
        )
    y = a @ (b if "KN" in size.op or size.op == "BmmFwdOp" else b.mT)
    if "Fp8" in size.op and not size.static.get("blocks"):
        y *= tensors[2] * tensors[3]  # type: ignore[operator]
    return y


def ours(kernel: Kernel, run: Any, shape: Sequence[int]) -> Callable[..., Tensor]:
    def call(*tensors: Tensor | None) -> Tensor:
        d = torch.empty(shape, dtype=torch.bfloat16, device="cuda")
        kernel.launch(run, *tensors, d)
        return d

    return call


def measure(size: Size, broken: dict[Key, str], rounds: int) -> dict[str, Any]:
    """Microseconds and error of everything that computes one product."""
    first = inputs(size, 0)
    want = reference(size, first)
    shape = (*size.sizes[:-3], *size.sizes[-3:-1])
    calls: dict[str, Callable[..., Tensor]] = torch_calls(size)
    row: dict[str, Any] = {"size": size.name, "us": {}, "error": {}, "failed": {}}
    for _, wanted in keys([size]):
        name = " ".join(map(str, [wanted.implementation, *dict(wanted.static).values()]))
        found = broken.get(wanted) or build(wanted)
        if isinstance(found, str):
            row["failed"][name] = found
        else:
            calls[name] = ours(*found, shape)
    size_bytes = sum(t.numel() * t.element_size() for t in first if t is not None) + 2 * want.numel()
    cache = torch.cuda.get_device_properties(0).L2_cache_size
    count, flush, _ = timing.cold(size_bytes, cache, "cuda")
    plan = timing.Plan(rounds, 1e-3, flush)
    sets = [first] + [inputs(size, n) for n in range(1, count)]
    timers = {}
    for name, call in calls.items():
        try:
            error = float((call(*first).float() - want).norm() / want.norm())
            row["error"][name] = round(error, 6)
            timers[name] = timing.timer(call, sets, plan, "cuda")
        except Exception as error:  # noqa: BLE001  as above
            row["failed"][name] = f"{type(error).__name__}: {str(error)[:200]}"
    times, failed = timing.interleave(timers, plan, lambda _: None)
    row["us"] = {n: round(t.us, 2) for n, t in sorted(times.items(), key=lambda item: item[1].us)}
    row["failed"] |= failed
    return row


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="", help="only sizes whose name holds this text")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--processes", type=int, default=14)
    options = parser.parse_args(arguments)
    sizes = [size for size in SIZES if options.only in size.name]
    wanted = list(dict.fromkeys(found for _, found in keys(sizes)))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.processes, mp_context=context) as pool:
        reasons = zip(wanted, pool.map(compiled, wanted), strict=True)
        broken = {found: reason for found, reason in reasons if reason is not None}
    for size in sizes:
        sys.stdout.write(json.dumps(measure(size, broken, options.rounds)) + "\n")
        sys.stdout.flush()
        torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
