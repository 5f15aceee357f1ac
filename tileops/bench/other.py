"""The distribution `tileops` 0.1.0 as a peer. It has our import name, so it runs in a process of its own.

The folder holds its unpacked wheel, and whatever it needs in other versions than ours. Its times cannot be
interleaved with ours: it is measured after them, and its rows say so.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tileops.bench.parts import parts
from tileops.bench.plan import Case
from tileops.compiled import dtype_name
from tileops.testing import oracle

__all__ = ["CLASSES", "NAME", "measure", "unusable"]

NAME = "tileops 0.1.0"
CLASSES: Mapping[str, str] = {
    "RMSNormFwdOp": "norm.RMSNormFwdOp",
    "LayerNormFwdOp": "norm.LayerNormFwdOp",
    "FusedAddRMSNormFwdOp": "norm.FusedAddRMSNormFwdOp",
    "SoftmaxFwdOp": "reduction.SoftmaxFwdOp",
    "GemmFwdOp": "gemm.GEMMFwdOp",
    "GroupedQueryAttentionDenseFwdOp": "attention.GQADenseFwdOp",
}
"""Its classes by ours; params and tensors have the same names and order."""

PACKAGE = Path(__file__).resolve().parent.parent
MARK = "@row "


def unusable(folder: Path) -> str | None:
    """Why a folder cannot be used, or `None`."""
    if not (folder / "tileops" / "__init__.py").is_file():
        return f"{folder} has no package tileops: unpack its wheel there"
    if not any(folder.glob("tileops-*.dist-info")):
        return f"{folder} has no metadata of the distribution tileops: unpack its whole wheel there"
    if folder.resolve() == PACKAGE.parent:
        return f"{folder} holds this library, not the other one"
    return None


def measure(
    folder: Path, cases: Sequence[Case], device: str, rounds: int, seconds: float, say: Callable[[str], None]
) -> Generator[tuple[Case, dict[str, Any]]]:
    """Each case with what the other process found: times, or why there are none."""
    by_number = dict(enumerate(cases))
    work = {"device": device, "rounds": rounds, "seconds": seconds, "package": str(PACKAGE)}
    work["rows"] = [_row(n, case) for n, case in by_number.items()]
    script = PACKAGE / "bench" / "other_process.py"
    command = [sys.executable, "-P", str(script)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=_environment(folder), text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(work))
        process.stdin.close()
        try:
            for text in process.stdout:
                if text.startswith(MARK):
                    found = json.loads(text.removeprefix(MARK))
                    yield by_number.pop(found.pop("number")), found
        except GeneratorExit:  # nobody wants the rest
            process.kill()
            raise
    if by_number:
        say(f"{NAME}: its process ended with code {process.returncode} and left {len(by_number)} cases")
    for case in by_number.values():
        yield case, {"failed": f"its process ended with code {process.returncode}"}


def _row(number: int, case: Case) -> dict[str, Any]:
    spec = case.spec
    params = {n: dtype_name(v) if "dtype" in spec.params[n].type else v for n, v in case.params.items()}
    shapes, dtypes = case.bound.shapes, case.bound.dtypes
    return {
        "number": number,
        "class": CLASSES[spec.name],
        "params": params,
        "dtype_params": [n for n, param in spec.params.items() if "dtype" in param.type],
        "inputs": {n: None if shapes[n] is None else [shapes[n], dtypes[n]] for n in spec.inputs},
        "made": [n for n, member in spec.inputs.items() if member.make is not None],
        "outputs": [dtypes[n] for n in spec.returned],
        "oracle": [inspect.getfile(oracle(spec)), spec.torch_name],
        "parts": [[part.inputs, part.outputs] for part in parts(case)],
        "bytes": case.cost.bytes,
    }


def _environment(folder: Path) -> dict[str, str]:
    """Ours, with the folder in front of the path and no entry that holds a package `tileops`."""
    entries = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    kept = [entry for entry in entries if not (Path(entry) / "tileops").exists()]
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder.resolve()), *kept])}
