"""Measures the other `tileops`. A script: it must not import this library, whose name is the same.

Reads the work as JSON from its input and writes a line for each row. Of this library it loads files that need
torch only: the timers, the comparison with an oracle, and the oracles.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import torch

MARK = "@row "
ROUNDINGS, FLOAT32_ROUNDINGS = 8.0, 256.0  # as tileops.bench.check has them


def load(package: str, path: str) -> Any:
    """A module of this library from its file, in the package or by itself, under a name of its own."""
    name = "bench_" + path.replace("/", "_").removesuffix(".py")
    spec = importlib.util.spec_from_file_location(name, Path(package, path))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def main() -> int:
    """Measure every row."""
    work = json.load(sys.stdin)
    timing = load(work["package"], "bench/timing.py")
    for row in work["rows"]:
        try:
            with torch.no_grad():
                found = measure(row, work, timing)
        except Exception as error:  # noqa: BLE001  a row that fails says why
            found = {"failed": f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"}
        sys.stdout.write(f"{MARK}{json.dumps({'number': row['number'], **found})}\n")
        sys.stdout.flush()
    return 0


def measure(row: dict[str, Any], work: dict[str, Any], timing: Any) -> dict[str, Any]:
    """Check one row against the oracle, then time it."""
    if row["made"]:
        return {"unserved": "inputs of indices are not passed to its process"}
    module, _, name = row["class"].rpartition(".")
    params = dict(row["params"])
    for param in row["dtype_params"]:
        params[param] = None if params[param] is None else getattr(torch, params[param])
    op = getattr(importlib.import_module(f"tileops.{module}"), name)(**params)
    device = work["device"]
    make = functools.partial(_inputs, row["inputs"], device)
    first = make(0)
    got = op(*_present(first))
    error = _error(row, work, params, first, got)
    cache = torch.cuda.get_device_properties(0).L2_cache_size if device == "cuda" else 0
    count, flush, words = timing.cold(row["bytes"], cache, device)
    sets = [_present(make(n)) for n in range(count)]
    plan = timing.Plan(work["rounds"], work["seconds"], flush)
    timer = timing.timer(op, sets, plan, device)
    times, failed = timing.interleave({"": timer}, plan, lambda _: None)
    if failed:
        return {"failed": f"{type(failed['']).__name__}: {failed['']}", "error": error}
    why = {"why": timer.why} if hasattr(timer, "why") else {}
    return {
        **times[""]._asdict(),
        "timer": timer.kind,
        "cold": words,
        "error": error,
        "process": "its own",
        **why,
    }


def _inputs(members: dict[str, Any], device: str, seed: int) -> list[torch.Tensor | None]:
    generator = torch.Generator(device).manual_seed(seed)
    out: list[torch.Tensor | None] = []
    for member in members.values():
        if member is None:
            out.append(None)
            continue
        shape, dtype = member
        out.append(torch.randn(shape, generator=generator, device=device).to(getattr(torch, dtype)))
    return out


def _present(tensors: list[torch.Tensor | None]) -> list[torch.Tensor | None]:
    """Without absent ones at the end: the other library may not know them."""
    last = max(n for n, tensor in enumerate(tensors) if tensor is not None)
    return tensors[: last + 1]


def _error(row: dict[str, Any], work: dict[str, Any], params: Any, first: list[Any], got: Any) -> float:
    compare = load(work["package"], "testing/compare.py")
    file, name = row["oracle"]
    oracle = functools.partial(getattr(load(work["package"], file), name), **params)
    mine = (got,) if isinstance(got, torch.Tensor) else tuple(got)
    worst = 0.0
    whole = [None] * len(first), [None] * len(row["outputs"])
    for inputs, outputs in row["parts"] or [whole]:
        result = oracle(*(_taken(t, cut) for t, cut in zip(first, inputs, strict=True)))
        want = result if isinstance(result, tuple) else (result,)
        if len(mine) < len(want):
            raise ValueError(f"{len(mine)} outputs, but the operator has {len(want)}")
        for ours, theirs, dtype, cut in zip(mine[: len(want)], want, row["outputs"], outputs, strict=True):
            piece = _taken(ours, cut)
            if piece.shape != theirs.shape or piece.dtype is not getattr(torch, dtype):
                raise ValueError(f"an output is {piece.dtype} of shape {tuple(piece.shape)}")
            relative = compare.measure(piece, theirs).relative
            rounds = FLOAT32_ROUNDINGS if piece.dtype is torch.float32 else ROUNDINGS
            if not relative <= torch.finfo(piece.dtype).eps / 2 * rounds:
                raise ValueError(f"a relative error of {relative:.3g}")
            worst = max(worst, relative)
    return worst


def _taken(tensor: Any, cut: list[int] | None) -> Any:
    """What a part takes of a tensor."""
    return tensor if tensor is None or cut is None else tensor.narrow(*cut)


if __name__ == "__main__":
    sys.exit(main())
