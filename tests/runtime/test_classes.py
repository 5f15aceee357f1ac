"""Classes are compared with the manifest when they are made, and load when they are first used."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from torch import Tensor

import tileops
from tileops import ops
from tileops.errors import ManifestError
from tileops.op import Op
from tileops.spec import all_specs

CORE = {"CallError", "ManifestError", "Op", "TargetError", "UnsupportedDeviceError"}


def literal_all(module) -> list[str]:
    """`__all__` as it is written, so that tools which do not import can read it."""
    for node in ast.parse(Path(module.__file__).read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return ast.literal_eval(node.value)
    raise AssertionError(f"{module.__name__} has no __all__")


def test_the_public_names_are_literal_sorted_and_the_manifests() -> None:
    assert literal_all(tileops) == tileops.__all__ == [*sorted(CORE), *ops.__all__]
    assert literal_all(ops) == ops.__all__ == sorted(ops.__all__)
    assert set(ops.__all__) == set(all_specs())


def test_every_public_name_resolves_to_the_class_in_its_familys_module() -> None:
    for name in ops.__all__:
        cls = getattr(tileops, name)
        assert cls is getattr(ops, name)
        assert cls.__module__.removeprefix("tileops.ops.").split(".")[0] == all_specs()[name].family
        assert cls.__module__ == f"tileops.ops.{ops._MODULES[name]}"
        assert cls.__name__ in sys.modules[cls.__module__].__all__
    assert set(tileops.__all__) <= set(dir(tileops))
    assert set(ops.__all__) <= set(dir(ops))


def test_an_unknown_name_is_an_attribute_error() -> None:
    for module in (tileops, ops):
        with pytest.raises(AttributeError, match=f"module '{module.__name__}' has no attribute 'NoOp'"):
            module.NoOp  # noqa: B018


def test_importing_the_package_imports_neither_torch_nor_tilelang() -> None:
    code = "import sys, tileops, tileops.ops; sys.exit(any(m in sys.modules for m in ('torch', 'tilelang')))"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_making_an_operator_imports_no_tilelang() -> None:
    code = "import sys, tileops; tileops.GemmFwdOp(); sys.exit('tilelang' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# ------------------------------------------------------------------------------- signature and manifest
def define(init: str, forward: str = "self, a, b", name: str = "GemmFwdOp") -> type[Op]:
    """A class as someone could write it in `tileops/ops/`."""
    methods = f"    def __init__({init}): ...\n    def forward({forward}): ..."
    scope = {"Op": Op, "Tensor": Tensor}
    exec(f"class {name}(Op):\n{methods}", scope)
    return scope[name]


RIGHT = "self, *, trans_a=False, trans_b=True, target=None, implementation=None"


@pytest.mark.parametrize(
    "init",
    [
        RIGHT.replace("*, ", ""),
        RIGHT.replace("trans_a=False", "trans_a=True"),
        RIGHT.replace("trans_a=False", "trans_a"),
        RIGHT.replace("trans_a=False, trans_b=True", "trans_b=True, trans_a=False"),
        RIGHT.replace("trans_b", "transpose_b"),
        RIGHT.replace(", implementation=None", ""),
        RIGHT.replace("trans_a=False", "trans_a=0"),
        RIGHT + ", dtype=None",
        RIGHT + ", **others",
    ],
)
def test_a_constructor_that_differs_from_the_manifest_is_an_import_error(init: str) -> None:
    wanted = "trans_a=False, trans_b=True, target=None, implementation=None"
    with pytest.raises(TypeError) as caught:
        define(init)
    assert f"GemmFwdOp.__init__ must take *, {wanted}, but takes " in str(caught.value)


@pytest.mark.parametrize(
    "forward", ["self, a", "self, b, a", "self, a, b=None", "self, a, b, c", "self, a, *b"]
)
def test_a_forward_that_differs_from_the_manifest_is_an_import_error(forward: str) -> None:
    with pytest.raises(TypeError, match=r"GemmFwdOp\.forward must take a, b, but takes "):
        define(RIGHT, forward)


def test_an_optional_input_must_be_optional_in_forward() -> None:
    init = "self, *, normalized_shape, eps=1e-6, target=None, implementation=None"
    with pytest.raises(TypeError, match=r"forward must take x, weight=None, but takes x, weight$"):
        define(init, "self, x, weight", "RMSNormFwdOp")


def test_a_class_that_the_manifest_does_not_know_is_an_import_error() -> None:
    with pytest.raises(ManifestError, match="'UnheardOfFwdOp'"):
        define("self", "self", "UnheardOfFwdOp")


def test_defaults_are_the_manifests_values() -> None:
    parameters = inspect.signature(tileops.GroupedQueryAttentionDenseFwdOp).parameters
    params = all_specs()["GroupedQueryAttentionDenseFwdOp"].params
    assert {name: parameters[name].default for name in params} == {n: p.default for n, p in params.items()}
