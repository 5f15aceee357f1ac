"""What must be documented: public exports, read statically with griffe, and the operators of the manifest."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from griffe import AliasResolutionError, GriffeLoader, Parser

from .manifest import ManifestOp
from .project import Project, Unusable
from .report import Finding


@dataclass
class Required:
    """A name that must have an entry.

    Attributes:
        canonical: The path where it is defined; aliases are the same requirement.
        entry: The path to write after `:::`.
        obj: What griffe knows about it.
        why: Each reason, as a sentence part.
        op: Its manifest entry, for an operator.
        parent: Canonical path of the class, for a method: showing the class may show it.
    """

    canonical: str
    entry: str
    obj: Any
    file: str
    line: int
    why: list[str] = field(default_factory=list)
    op: ManifestOp | None = None
    parent: str = ""

    @property
    def name(self) -> str:
        return self.op.name if self.op else self.entry


@dataclass
class Surface:
    """The required names by canonical path, the public modules, and what was wrong with the sources."""

    required: dict[str, Required]
    modules: set[str]
    loader: GriffeLoader
    findings: list[Finding]
    exported: set[str] = field(default_factory=set)

    def resolve(self, path: str) -> Any | None:
        """The object behind a path, through aliases, or `None`."""
        try:
            obj = self.loader.modules_collection[path]
            return obj.final_target if obj.is_alias else obj
        except (KeyError, AliasResolutionError, AttributeError):
            return None


def search_paths(project: Project, configured: list[str]) -> list[str]:
    """Where packages are looked for: named folders, those of the configuration, the root and `src`."""
    own = [*project.search_paths, *(project.config.parent / path for path in configured)]
    found = [path.resolve() for path in (*own, project.root, project.root / "src")]
    return [str(path) for path in dict.fromkeys(found) if path.is_dir()]


def load_sources(project: Project, style: str, search_paths: list[str]) -> GriffeLoader:
    """Every module of the packages, parsed and not imported."""
    loader = GriffeLoader(search_paths=search_paths, docstring_parser=Parser(style), allow_inspection=False)
    for package in sorted({name.partition(".")[0] for name in project.packages}):
        folders = [Path(path) / package for path in search_paths]
        try:
            loader.load(package, try_relative_path=False)
        except Exception as error:
            for file in (folder / "__init__.py" for folder in folders):
                if file.is_file():
                    _parse(file, project)
            where = ", ".join(dict.fromkeys(project.relative(path) for path in search_paths))
            raise Unusable(f"package {package}: not found in {project.root} ({where})", package) from error
        for folder in folders:
            if (folder / "__init__.py").is_file():
                _refuse_broken_modules(project, loader, folder)
                break
    loader.resolve_aliases(implicit=False, external=False)
    return loader


def read_surface(project: Project, loader: GriffeLoader, manifest: dict[str, ManifestOp]) -> Surface:
    """Collect what is required. A module whose `__all__` cannot be read is a finding."""
    surface = Surface({}, set(), loader, [])
    unreadable: set[str] = set()
    todo = list(project.packages)
    while todo:
        module = todo.pop(0)
        if module in surface.modules:
            continue
        surface.modules.add(module)
        obj = surface.resolve(module)
        if obj is None or not obj.is_module:
            raise Unusable(f"module {module}: not found in {project.root}", module)
        if not project.requires("exports") and not project.requires("public"):
            continue
        names = _literal_all(surface, project, obj, unreadable)
        if names is None:
            names = _public_members(obj)
            todo += [f"{obj.path}.{name}" for name in _public_modules(obj)]
        for name, line in names.items():
            todo += _export(surface, project, obj, name, line)
    for op in manifest.values():
        _require_operator(surface, project, op, project.operators in unreadable)
    if project.requires("methods"):
        for required in list(surface.required.values()):
            _require_methods(surface, project, required)
    return surface


def _public_members(module: Any) -> dict[str, int]:
    """What a module without `__all__` has in public: what it defines itself, without an underscore."""
    own = {name: member for name, member in module.members.items() if not member.is_alias}
    public = {name: m for name, m in own.items() if not name.startswith("_") and not m.is_module}
    return {name: m.lineno or 1 for name, m in public.items() if m.is_class or m.is_function}


def _public_modules(module: Any) -> list[str]:
    own = (member for member in module.members.values() if not member.is_alias and member.is_module)
    return [member.name for member in own if not member.name.startswith("_")]


def _refuse_broken_modules(project: Project, loader: GriffeLoader, folder: Path) -> None:
    """Griffe leaves out a module that is not Python, and every name in it; say which."""
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name not in loader.modules_collection:
            _parse(path, project)


def _parse(path: Path, project: Project) -> ast.Module:
    file = project.relative(path)
    try:
        return ast.parse(path.read_bytes(), filename=str(path))
    except SyntaxError as error:
        line = error.lineno or 1
        raise Unusable(f"{file}:{line}: not Python: {error.msg}", file, line) from error


def _literal_all(
    surface: Surface, project: Project, module: Any, unreadable: set[str]
) -> dict[str, int] | None:
    """The names of a literal `__all__` with their lines; griffe would read a computed one as empty.

    `None` for a module without one, where that is allowed.
    """
    file = project.relative(module.filepath)
    names: dict[str, int] = {}
    seen = False
    for node in ast.walk(_parse(Path(module.filepath), project)):
        value = _value_of_all(node)
        if value is None:
            continue
        seen = True
        strings = list(_strings(value))
        if None in strings and not project.requires("public"):
            return {str(name): value.lineno for name in module.exports or ()}  # as far as griffe follows it
        if None in strings:
            problem = (
                "its `__all__` is computed, which no tool reads without running it; write a literal list"
            )
            surface.findings.append(
                Finding("computed-all", module.path, problem, file=file, line=value.lineno)
            )
            unreadable.add(module.path)
            return {}
        names |= {s.value: s.lineno for s in strings if s is not None}
    if not seen and not project.requires("public"):
        return None
    if not seen:
        problem = "it is public and has no `__all__`; write a literal list of its public names"
        surface.findings.append(Finding("no-all", module.path, problem, file=file, line=1))
        unreadable.add(module.path)
    return names


def _value_of_all(node: ast.AST) -> ast.expr | None:
    """The expression that sets or changes `__all__`; a method call on it counts as a computed value."""
    if isinstance(node, ast.Assign) and any(_is_all(target) for target in node.targets):
        return node.value
    if isinstance(node, (ast.AnnAssign, ast.AugAssign)) and _is_all(node.target) and node.value is not None:
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_all(node.func.value):
        return node
    return None


def _is_all(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "__all__"


def _strings(node: ast.expr) -> Iterator[Any]:
    """The string constants of a literal list; `None` for whatever is not one."""
    if isinstance(node, (ast.List, ast.Tuple)):
        for element in node.elts:
            is_string = isinstance(element, ast.Constant) and isinstance(element.value, str)
            yield element if is_string else None
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from _strings(node.left)
        yield from _strings(node.right)
    else:
        yield None


def _export(surface: Surface, project: Project, module: Any, name: str, line: int) -> list[str]:
    """Require one exported name; a module that is exported is to be read as well."""
    if name.startswith("__") and name.endswith("__"):
        return []  # metadata such as __version__ needs no entry
    path, file = f"{module.path}.{name}", project.relative(module.filepath)
    obj = surface.resolve(path)
    if obj is None and _is_external(surface, module, name):
        return []  # another distribution's, which its own site documents
    if obj is None:
        problem = f"`{module.path}.__all__` names it and no import or definition there says what it is"
        hint = "; a name that loads lazily needs an import under `if TYPE_CHECKING:`"
        surface.findings.append(Finding("unresolved-export", path, problem + hint, file=file, line=line))
        return []
    if obj.is_module:
        return [obj.path]
    required = _require(surface, project, obj, path)
    surface.exported.add(path)
    how = "exported by {}.__all__" if module.exports is not None else "public in {}"
    required.why.append(f"{how.format(module.path)} ({file}:{line})")
    if len(path) < len(required.entry):
        required.entry = path
    return []


def _require(surface: Surface, project: Project, obj: Any, entry: str) -> Required:
    if obj.path not in surface.required:
        file, line = project.relative(obj.filepath), obj.lineno or 0
        surface.required[obj.path] = Required(obj.path, entry, obj, file, line)
    return surface.required[obj.path]


def _require_operator(surface: Surface, project: Project, op: ManifestOp, unreadable: bool) -> None:
    entry = _entry_of(surface, project, op)
    why = f"status: {op.status} in {op.file}:{op.line}"
    obj = surface.resolve(entry) or surface.resolve(f"{project.operators}.{op.family}.{op.name}")
    module = surface.resolve(project.operators)
    if obj is None:
        problem = f"the manifest declares it and {project.operators} does not define it"
        surface.findings.append(Finding("no-class", op.name, problem, why, file=op.file, line=op.line))
        return
    if project.requires("pages") and entry not in surface.exported and not unreadable:
        problem = f"the manifest declares it and `{project.operators}.__all__` does not export it"
        file = project.relative(module.filepath) if module else op.file
        surface.findings.append(Finding("not-exported", op.name, problem, why, file=file, line=1))
    required = _require(surface, project, obj, entry)
    required.op, required.entry = op, entry
    required.why.insert(0, why)


def _entry_of(surface: Surface, project: Project, op: ManifestOp) -> str:
    """The path of a name of the manifest: a whole path, or a name that one of the packages has."""
    candidates = [f"{package}.{op.name}" for package in reversed(project.packages)]
    if "." in op.name:
        candidates.insert(0, op.name)
    candidates += [r.entry for r in surface.required.values() if r.entry.rpartition(".")[2] == op.name]
    return next((path for path in candidates if surface.resolve(path) is not None), candidates[0])


def _is_external(surface: Surface, module: Any, name: str) -> bool:
    """Whether a name is imported from a package that is not read."""
    member = module.members.get(name)
    if member is None or not member.is_alias:
        return False
    return str(member.target_path).partition(".")[0] not in surface.loader.modules_collection


def _require_methods(surface: Surface, project: Project, owner: Required) -> None:
    """The public methods and properties that an exported class defines itself.

    An operator's are not among them: its page is its manifest block, which stage 2 reads.
    """
    if owner.op or not owner.obj.is_class:
        return
    for name, member in owner.obj.members.items():
        is_callable = not member.is_alias and (member.is_function or "property" in member.labels)
        if not is_callable or name.startswith("_"):
            continue
        required = _require(surface, project, member, f"{owner.entry}.{name}")
        required.parent = owner.canonical
        required.why.append(f"public method of {owner.entry}, which is required")
