"""Every fact of the manifest is on the operator's page, in the built HTML."""

from __future__ import annotations

import functools
import html
import json
import re
from pathlib import Path

import griffe
import pytest

from tileops.spec import OpSpec, all_specs
from tileops_docs import verification as records
from tileops_docs import where
from tileops_docs.operator_index import operator_index, operator_replaces
from tileops_docs.page import OpPage
from tileops_docs.text import words

SPECS = list(all_specs().values())
ORDER = [
    "call",
    "tensors",
    "params",
    "dtypes",
    "rules",
    "example",
    "numerics",
    "implementations",
    "behaviour",
    "cost",
    "h200",
    "source",
]


@functools.cache
def library() -> griffe.Module:
    """The sources as the site reads them."""
    loaded = griffe.load("tileops", docstring_parser="google", allow_inspection=False)
    assert isinstance(loaded, griffe.Module)
    return loaded


def block(site: Path, spec: OpSpec) -> str:
    """The HTML of an operator's block."""
    text = (site / where.page(spec.name)).with_suffix(".html").read_text(encoding="utf-8")
    start = text.index(f'data-op="{spec.name}"')
    end = text.find("data-op=", start + 1)
    return text[start : end if end > 0 else len(text)]


def attribute(text: str, name: str) -> list[str]:
    return re.findall(rf'data-{name}="([^"]*)"', text)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.torch_name)
def test_everything_declared_is_shown(site: Path, spec: OpSpec) -> None:
    text = block(site, spec)
    assert attribute(text, "input") == list(spec.inputs)
    assert attribute(text, "output") == list(spec.outputs)
    assert attribute(text, "param") == list(spec.params)
    assert attribute(text, "row") == [str(n + 1) for n in range(len(spec.rows))]
    assert attribute(text, "rule") == [str(n + 1) for n in range(len(spec.rules))]
    assert set(attribute(text, "implementation")) == set(spec.implementations)
    shown = html.unescape(re.sub(r"<[^>]+>", "", text))
    for rule in spec.rules:
        assert rule.rule in shown
        assert f"{spec.name}: {rule.message}" in shown
    for member in [*spec.inputs.values(), *spec.outputs.values()]:
        assert member.shape in shown
    for implementation in spec.implementations.values():
        assert implementation.program in shown
        assert all(rule.rule in shown for rule in implementation.domain)
    assert spec.roofline.flops in shown


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.torch_name)
def test_parts_stand_in_the_order_of_questions(site: Path, spec: OpSpec) -> None:
    found = re.findall(r'class="op-part op-part--([\w-]+)"', block(site, spec))
    known = [part for part in found if part in ORDER]
    assert known == [part for part in ORDER if part in found]
    assert {"call", "tensors", "rules", "example", "numerics", "behaviour", "cost", "source"} <= set(found)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.torch_name)
def test_every_param_and_tensor_is_described(spec: OpSpec) -> None:
    cls = library()[where.canonical(spec.name).removeprefix("tileops.")]
    described = OpPage(spec, "").descriptions(cls)
    wanted = [*spec.params, *spec.inputs, *spec.returned]
    assert [name for name in wanted if not described.get(name)] == []


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.torch_name)
def test_aliases_are_lower_case_and_hold_the_name(spec: OpSpec) -> None:
    aliases = OpPage(spec, "").aliases
    assert all(alias == alias.lower() for alias in aliases)
    assert spec.name.lower() in aliases
    assert "".join(words(spec.name)) == spec.name


def test_a_dtype_row_that_nothing_serves_is_shown_as_specified(site: Path) -> None:
    spec = all_specs()["GroupedQueryAttentionDenseFwdOp"]
    page = OpPage(spec, "")
    unserved = [dtypes for dtypes, serving in page.rows if not serving]
    assert all("float8_e4m3fn" in dtypes for dtypes in unserved)
    rows = re.findall(r'<tr data-row="\d+">.*?</tr>', block(site, spec), flags=re.S)
    assert sum("not implemented" in row for row in rows) == len(unserved)


def test_the_index_names_every_operator_once() -> None:
    text = "".join(operator_index())
    names = re.findall(r'data-name="(\w+)"', text)
    assert sorted(names) == sorted(spec.name.lower() for spec in SPECS)
    assert "<form" in text
    family = {spec.name.lower() for spec in SPECS if spec.family == "gemm"}
    only = "".join(operator_index("gemm"))
    assert set(re.findall(r'data-name="(\w+)"', only)) == family
    assert "<form" not in only


def test_a_module_of_a_family_has_its_own_table() -> None:
    modules = {where.module(spec.name) for spec in SPECS if "." in where.module(spec.name)}
    for module in modules:
        wanted = {spec.name.lower() for spec in SPECS if where.module(spec.name) == module}
        for group in (module, module.replace(".", "_")):
            assert set(re.findall(r'data-name="(\w+)"', "".join(operator_index(group)))) == wanted


def test_every_function_that_an_operator_replaces_is_in_the_table() -> None:
    text = "".join(operator_replaces())
    wanted = sorted(spec.ref_api for spec in SPECS if spec.ref_api)
    assert re.findall(r'<tr data-replaces="([^"]+)"', text) == wanted


@pytest.mark.parametrize(
    ("change", "badge"),
    [
        ({}, "verified on H200"),
        ({"kernel_hash": "0000"}, "H200 run is stale"),
        ({"failed": 1}, "fails on H200"),
    ],
)
def test_a_recorded_run_and_its_age(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, object], badge: str
) -> None:
    from tileops.provenance import kernel_hash

    run = {"kernel_hash": kernel_hash("GemmFwdOp"), "passed": 3, "failed": 0, "results": [], **change}
    record = tmp_path / "verification.json"
    record.write_text(json.dumps({"device": "NVIDIA H200", "date": "2026-11-30", "ops": {"GemmFwdOp": run}}))
    found = records.verification("GemmFwdOp", record)
    assert found is not None
    assert found.facts == {"device": "NVIDIA H200", "date": "2026-11-30"}
    page = OpPage(all_specs()["GemmFwdOp"], "")
    page.verification = found
    assert badge in [b.text for b in page.badges]
    assert records.verification("SoftmaxFwdOp", record) is None


@pytest.mark.parametrize(
    ("name", "output", "says"),
    [
        ("ExpFwdOp", "output", "float32 for integers and booleans"),
        ("SumFwdOp", "output", "int64 for integers and booleans"),
        ("AnyFwdOp", "output", "but bool, except for uint8"),
        ("AddFwdOp", "output", None),
    ],
)
def test_a_promoted_dtype_is_said(name: str, output: str, says: str | None) -> None:
    (row,) = [row for row in OpPage(all_specs()[name], "").tensors if row.name == output]
    assert row.promoted == says
