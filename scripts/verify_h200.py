"""Run the conformance suite on this machine's H200 and record what passed and how accurate it was.

    python scripts/verify_h200.py                     every implemented operator
    python scripts/verify_h200.py --op GemmFwdOp      only this one; records of others stay
    python scripts/verify_h200.py --check             run nothing; exit 1 and name the operators whose record
                                                      is missing, failed or older than their kernels

The record, docs/data/h200/verification.json, holds device, driver, date and versions of each operator's
run, and the hash of the kernel sources that ran: pages show it, and say when they have changed since.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "docs" / "data" / "h200" / "verification.json"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--op", action="append", default=[], help="operator to verify (repeatable; default: all)"
    )
    parser.add_argument("--out", type=Path, default=RECORD, help="the record to write or extend")
    parser.add_argument("--jobs", type=int, default=8, help="processes that compile, and then test")
    parser.add_argument(
        "--all-rows",
        action="store_true",
        help="every case in every dtype row and implementation, not each once",
    )
    parser.add_argument("--check", action="store_true", help="only say which records are stale")
    options = parser.parse_args(arguments)

    sys.path.insert(0, str(ROOT))  # for the tests' plan
    from tileops.provenance import kernel_hash
    from tileops.spec import all_specs
    from tileops.targets import hopper

    implemented = [spec.name for spec in all_specs().values() if spec.implemented]
    if unknown := sorted(set(options.op) - set(implemented)):
        print(
            f"not an implemented operator: {', '.join(unknown)}; there are {', '.join(implemented)}",
            file=sys.stderr,
        )
        return 2
    if options.check:
        return check(options.op or implemented, options.out)
    if reason := hopper.unavailable():
        print(f"cannot verify here: {reason}", file=sys.stderr)
        return 2
    status, found = run_suite(options.op or implemented, options.jobs, options.all_rows)
    facts = machine()
    record = json.loads(options.out.read_text()) if options.out.is_file() else {"ops": {}}
    found = {name: result for name, result in found.items() if name in (options.op or implemented)}
    for name, result in found.items():
        record["ops"][name] = {"kernel_hash": kernel_hash(name), **facts, **result}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(record, indent=2, sort_keys=True) + "\n")
    for name, result in found.items():
        print(f"{name}: {result['passed']} passed, {result['failed']} failed")
    return status


def check(operators: list[str], path: Path) -> int:
    """1 when the record of an operator does not speak of its kernels as they are."""
    from tileops.provenance import kernel_hash

    record = json.loads(path.read_text())["ops"] if path.is_file() else {}
    stale = {}
    for name in operators:
        run = record.get(name)
        if run is None:
            stale[name] = "never ran"
        elif run["kernel_hash"] != kernel_hash(name):
            stale[name] = f"its kernels have changed since {run['date']}"
        elif run["failed"]:
            stale[name] = f"{run['failed']} tests failed on {run['date']}"
    for name, why in stale.items():
        print(f"{name}: {why}")
    if not stale:
        print(f"{len(operators)} operators: every record is of the current kernels")
    return 1 if stale else 0


def keys(operators: list[str], all_rows: bool) -> list[Any]:
    """Every kernel that the suite will call."""
    from tests.conformance.plan import calls_of, plan
    from tileops.runner import make_key
    from tileops.spec import load
    from tileops.testing import case_facts

    found: dict[Any, None] = {}
    for spec in map(load, operators):
        planned = plan(spec.name, "hopper", all_rows, True)
        for call in calls_of(spec, all_rows):
            facts = case_facts(spec, call.bound)
            found |= {make_key(spec, name, facts, "hopper"): None for name in planned[call.id]}
    return list(found)


def run_suite(operators: list[str], jobs: int, all_rows: bool) -> tuple[int, dict[str, Any]]:
    """Pytest's exit status, and what the conformance suite recorded."""
    from tileops.cache import build_keys

    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder, "found.json")
        build_keys(keys(operators, all_rows), jobs)  # each once, which test processes would not do
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-m",
            "gpu",
            "tests/conformance",
            "--record",
            str(found),
        ]
        command += ["-n", str(jobs), "-k", " or ".join(operators), *(["--all-rows"] if all_rows else [])]
        status = subprocess.run(command, cwd=ROOT, check=False).returncode
        return status, json.loads(found.read_text()) if found.is_file() else {}


def machine() -> dict[str, Any]:
    """What the record says of the machine."""
    import torch

    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    driver = subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()[0]
    versions = {name: importlib.metadata.version(name) for name in ("torch", "tilelang")}
    versions |= {"cuda": str(torch.version.cuda), "python": platform.python_version()}
    return {
        "device": torch.cuda.get_device_name(),
        "driver": driver,
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "versions": versions,
    }


if __name__ == "__main__":
    sys.exit(main())
