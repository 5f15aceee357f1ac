"""Writes the lists of operators in `tileops/__init__.py` and `tileops/ops/__init__.py`.

The class modules below `tileops/ops/` say in their `__all__` which operators there are. Editors, type
checkers and documentation tools need the names as literals in both packages, so they are written there,
between two marks.

    python scripts/write_exports.py            # write
    python scripts/write_exports.py --check    # only say whether they are current; exit 1 when not
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OPS = ROOT / "tileops" / "ops"
START, END = "# operators: written by scripts/write_exports.py", "# end of operators"


def operators(folder: Path) -> dict[str, str]:
    """Every exported class and its module below `tileops.ops`, sorted by name."""
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*.py")):
        if path.name == "__init__.py":
            continue
        module = ".".join(path.relative_to(folder).with_suffix("").parts)
        for name in _exported(path):
            if name in found:
                raise SystemExit(f"{name} is exported by {found[name]} and by {module}")
            found[name] = module
    return dict(sorted(found.items()))


def _exported(path: Path) -> list[str]:
    """The literal `__all__` of a module."""
    for node in ast.parse(path.read_text(encoding="utf-8"), str(path)).body:
        if isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == ["__all__"]:
            return [str(name) for name in ast.literal_eval(node.value)]
    return []


def blocks(found: dict[str, str], text: str) -> list[str]:
    """The generated parts of a package, in the order of their marks."""
    inside = "_MODULES" in text  # only tileops/ops/__init__.py says where each class is
    modules: dict[str, list[str]] = {}
    for name, module in found.items():
        modules.setdefault(f"tileops.ops.{module}" if inside else "tileops.ops", []).append(name)
    imports = "".join(
        f"    from {module} import (\n{''.join(f'        {name},{chr(10)}' for name in names)}    )\n"
        for module, names in sorted(modules.items())
    )
    names = "".join(f'    "{name}",\n' for name in found)
    table = "".join(f'    "{name}": "{module}",\n' for name, module in found.items())
    return [imports, names, table] if inside else [imports, names]


def rewritten(text: str, found: dict[str, str]) -> str:
    """The source of a package with its lists replaced."""
    parts = iter(blocks(found, text))
    pattern = re.compile(rf"( *){re.escape(START)}\n.*?( *){re.escape(END)}\n", re.DOTALL)
    return pattern.sub(lambda m: f"{m[1]}{START}\n{next(parts)}{m[2]}{END}\n", text)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a list is old")
    parser.add_argument("--root", type=Path, default=ROOT, help="checkout whose packages are written")
    options = parser.parse_args(arguments)
    found = operators(options.root / "tileops" / "ops")
    stale = []
    for path in (options.root / "tileops" / "__init__.py", options.root / "tileops" / "ops" / "__init__.py"):
        old = path.read_text(encoding="utf-8")
        new = rewritten(old, found)
        if new == old:
            continue
        stale.append(path.relative_to(options.root))
        if not options.check:
            path.write_text(new, encoding="utf-8")
    if options.check and stale:
        sys.stderr.write(f"old: {', '.join(map(str, stale))}; run python scripts/write_exports.py\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
