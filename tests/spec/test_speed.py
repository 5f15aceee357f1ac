"""The spec layer stays light: importing it, and reading a manifest of the size that the project will have."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tileops.spec import manifest_dir, read_file
from tileops.spec.loader import merged

IMPORT_SECONDS = 0.1
OPERATORS = 200
READ_SECONDS = 2.0


def best(command: str, tries: int = 5) -> tuple[float, set[str]]:
    """Least seconds that the command took in a fresh interpreter, and the modules that it imported.

    Seconds of the process alone: other tests run beside it.
    """
    clock = "time.process_time()"
    code = f"import sys, time; t = {clock}; {command}; print({clock} - t, *sys.modules)"
    arguments = [sys.executable, "-c", code]
    runs = [subprocess.run(arguments, capture_output=True, text=True, check=True) for _ in range(tries)]
    words = [run.stdout.split() for run in runs]
    return min(float(w[0]) for w in words), {name for w in words for name in w[1:]}


@pytest.mark.parametrize("module", ["tileops", "tileops.spec"])
def test_import(module: str) -> None:
    seconds, modules = best(f"import {module}")
    assert not modules & {"torch", "tilelang", "yaml", "numpy"}
    assert seconds < IMPORT_SECONDS


def test_the_spec_of_every_operator_needs_no_torch() -> None:
    _, modules = best("import tileops.spec; tileops.spec.all_specs()", tries=1)
    assert not modules & {"torch", "tilelang", "numpy"}


def synthetic(folder: Path) -> list[Path]:
    """Files of 200 operators: those of the manifest again and again, under other names."""
    entries = [
        (path.stem, entry)
        for path in sorted(manifest_dir().glob("*.yaml"))
        for entry in re.split(r"^(?=[A-Z]\w*Op:)", path.read_text(), flags=re.M)[1:]
    ]
    for count in range(OPERATORS):
        n, at = divmod(
            count, len(entries)
        )  # one name for a round: entries of a file share what is in anchors
        family, entry = entries[at]
        entry = re.sub(r"\bK\b", f"K{n}", re.sub(r"\bN\b", f"N{n}", re.sub(r"\bB\b", f"B{n}", entry)))
        entry = re.sub(r"^(\w+?)((Fwd|Bwd)?Op):", rf"\g<1>{n}\2:", entry)
        entry = re.sub(r"\bop: (\w+?)((Fwd|Bwd)?Op)\b", rf"op: \g<1>{n}\2", entry)
        with (folder / f"{family}.yaml").open("a") as file:
            file.write(entry)
    return sorted(folder.glob("*.yaml"))


def test_two_hundred_operators(tmp_path: Path) -> None:
    files = synthetic(tmp_path)
    started = time.process_time()
    specs = merged(map(read_file, files))
    seconds = time.process_time() - started
    assert len(specs) == OPERATORS
    assert seconds < READ_SECONDS, f"{seconds:.2f} s"
