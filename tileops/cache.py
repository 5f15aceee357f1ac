"""`python -m tileops.cache`: show, clear and fill the folder of compiled programs.

    python -m tileops.cache show
    python -m tileops.cache clear
    python -m tileops.cache build --op RMSNormFwdOp GemmFwdOp --workloads

Exit code 0: done; 1: a program could not be built; 2: the command line is wrong.
"""

from __future__ import annotations

import argparse
import difflib
import multiprocessing
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import repeat
from typing import TYPE_CHECKING

from tileops import targets
from tileops.spec import BoundCase, OpSpec, all_specs, bind_case, load
from tileops.spec.errors import RuleBroken

if TYPE_CHECKING:
    from tileops.kernel import Key

__all__ = ["build_keys", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command == "build":
        return _build(parser, options)
    return _clear() if options.command == "clear" else _show()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tileops.cache", description="The folder of compiled programs."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="show|clear|build")
    commands.add_parser("show", help="list the compiled programs")
    commands.add_parser("clear", help="delete the compiled programs")
    build = commands.add_parser("build", help="compile the programs of operators ahead of time")
    build.add_argument("--op", nargs="+", metavar="NAME", help="class names (default: every implemented one)")
    build.add_argument("--target", choices=targets.names, help="default: hopper with such a GPU, else cpu")
    sizes = build.add_mutually_exclusive_group()
    sizes.add_argument("--workloads", action="store_true", help="for real model shapes (the default)")
    sizes.add_argument(
        "--cases", action="store_true", help="for the small cases that the tests run, every implementation"
    )
    build.add_argument("--jobs", type=int, default=1, metavar="N", help="processes that compile (default: 1)")
    return parser


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _size(count: float) -> str:
    for unit in ("B", "KB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


def _programs(count: int) -> str:
    return f"{count} program{'s' * (count != 1)}"


def _show() -> int:
    found = targets.entries()
    for entry in found:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.mtime))
        _say(f"{entry.target:<7} {_size(entry.size):>8}  {when}  {entry.name[:16]}")
    _say(f"{_programs(len(found))}, {_size(sum(entry.size for entry in found))}, in {targets.cache_dir()}")
    return 0


def _clear() -> int:
    size = sum(entry.size for entry in targets.entries())
    _say(f"deleted {_programs(targets.clear())}, {_size(size)}, from {targets.cache_dir()}")
    return 0


# ----------------------------------------------------------------------------------------------- build
def _build(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    specs = _chosen(parser, options.op)
    target = options.target or ("hopper" if targets.get("hopper").unavailable() is None else "cpu")
    if target == "cpu" and (reason := targets.get("cpu").unavailable()):
        _say(f"nothing can be built for the target cpu: {reason}")
        return 1
    if options.jobs < 1:
        parser.error(f"--jobs must be at least 1, got {options.jobs}")
    failed = build_keys([key for spec in specs for key in _keys(spec, target, options.cases)], options.jobs)
    if failed:
        _say(f"{failed} could not be built")
    return 1 if failed else 0


def _chosen(parser: argparse.ArgumentParser, names: list[str] | None) -> list[OpSpec]:
    """The specs of the named operators; a wrong name ends the command with exit code 2."""
    known = all_specs()
    for name in names or ():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known)}"
            parser.error(f"there is no operator {name!r}{hint}")
        if not known[name].implemented:
            parser.error(f"{name} is specified and not yet implemented: it has no programs to build")
    return [spec for spec in known.values() if (spec.name in names if names else spec.implemented)]


def build_keys(keys: Sequence[Key], jobs: int) -> int:
    """Build every key in `jobs` processes and say so; returns how many could not be built."""
    if jobs == 1 or len(keys) < 2:
        return sum(not _said(_build_key(key)) for key in keys)
    context = multiprocessing.get_context("spawn")  # a fork would share the GPU's context
    with ProcessPoolExecutor(min(jobs, len(keys)), mp_context=context) as pool:
        return sum(
            not _said(future.result()) for future in as_completed(map(pool.submit, repeat(_build_key), keys))
        )


def _build_key(key: Key) -> tuple[bool, str]:
    """Whether it went well, and a line that says so; the next key still has its turn."""
    from tileops.runner import build

    started = time.perf_counter()
    try:
        build(load(key.op), key)
    except Exception as error:  # noqa: BLE001  a compiler may fail in any way; the exit code tells
        return False, f"failed {key}: {type(error).__name__}: {error}"
    return True, f"ready  {key}  {time.perf_counter() - started:.2f} s"


def _said(built: tuple[bool, str]) -> bool:
    _say(built[1])
    return built[0]


def _keys(spec: OpSpec, target: str, cases: bool) -> Iterator[Key]:
    """Every kernel that the entry's workloads need, or its cases in every implementation, once."""
    from tileops.runner import make_key, verdicts
    from tileops.testing import case_facts

    seen = set()
    for bound in _bound(spec, cases):
        facts = case_facts(spec, bound)
        serving = [v.implementation for v in verdicts(spec, facts, target) if not v.reasons]
        for name in serving if cases else serving[:1]:
            key = make_key(spec, name, facts, target)
            if key not in seen:
                seen.add(key)
                yield key


def _bound(spec: OpSpec, cases: bool) -> Iterator[BoundCase]:
    for case in spec.cases if cases else spec.workloads:
        for row in spec.rows:
            if next(iter(row.values())) not in case.get("dtypes", row.values()):
                continue
            try:
                yield bind_case(spec, case, row=row)
            except RuleBroken:
                continue  # the rules exclude this row: scales that are absent, say


if __name__ == "__main__":
    sys.exit(main())
