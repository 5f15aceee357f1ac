"""The calculator in the page gives what the library gives, for every case of the manifest and dtype row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.site.browser import Page
from tileops.compiled import DTYPE
from tileops.roofline import roofline
from tileops.spec import OpSpec, all_specs, bind_case
from tileops.spec.errors import CaseError
from tileops.spec.functions import FUNCTIONS
from tileops_docs import where
from tileops_docs.calculator import ITEMSIZE, calculate, ceilings, cost, entry, form_value, script_functions

SPECS = list(all_specs().values())
SCRIPTS = Path(__file__).resolve().parents[2] / "docs" / "assets" / "javascripts"
HIDDEN = {"label", "dtypes", "absent"}

# Integers come back as text, since they may be larger than what a number of JavaScript holds.
RUN = """((op, inputs) => inputs.map(input => JSON.parse(JSON.stringify(tileops.calculate(op, input),
    (key, value) => typeof value === 'bigint' ? value.toString() : value))))(%s, %s)"""


def calls(spec: OpSpec) -> list[tuple[dict[str, Any], int]]:
    """Cases and workloads, each in every dtype row, and each with one thing spoiled."""
    found = []
    for case in [*spec.cases, *spec.workloads]:
        plain = {name: value for name, value in case.items() if name not in ("label", "dtypes")}
        found += [(plain, n) for n in range(len(spec.rows or [{}]))]
        for name, value in plain.items():
            if isinstance(value, int) and not isinstance(value, bool):
                found += [({**plain, name: changed}, 0) for changed in (value + 1, 0, -7)]
    return found


def form_input(case: dict[str, Any], row: int) -> dict[str, Any]:
    names = {name: form_value(value) for name, value in case.items() if name not in HIDDEN}
    return {"row": row, "names": names, "absent": case.get("absent", [])}


def same(spec: OpSpec, got: dict[str, Any], want: dict[str, Any]) -> bool:
    if "shapes" not in want:
        return got.get("rule") == want.get("rule") and ("error" in got) == ("error" in want)
    shapes = {slot: None if s is None else tuple(map(int, s)) for slot, s in got.get("shapes", {}).items()}
    return (
        shapes == want["shapes"]
        and got["dtypes"] == want["dtypes"]
        and [int(float(got[k])) if "e" in got[k] else int(got[k]) for k in ("flops", "bytes")]
        == [want["flops"], want["bytes"]]
        and got["us"] == pytest.approx(want["us"])
        and (got["bound"], got["implementation"]) == (want["bound"], want["implementation"])
    )


@pytest.mark.browser
def test_the_script_gives_what_the_library_gives(page: Page, tmp_path: Path) -> None:
    scripts = "".join(
        f'<script src="{(SCRIPTS / name).as_uri()}"></script>'
        for name in ("calculator.js", "calculator-call.js")
    )
    (tmp_path / "empty.html").write_text(f"<!doctype html><meta charset=utf-8>{scripts}", encoding="utf-8")
    page.open(tmp_path / "empty.html")
    compared, wrong = 0, []
    for spec in SPECS:
        todo = calls(spec)
        answers = page.run(RUN % (json.dumps(entry(spec)), json.dumps([form_input(*call) for call in todo])))
        for (case, row), got in zip(todo, answers, strict=True):
            want = calculate(spec, case, (spec.rows or [{}])[row])
            compared += 1
            if not same(spec, got, want):
                wrong.append((spec.name, case, row, got, want))
    assert not wrong, f"{len(wrong)} of {compared}: {wrong[:2]}"
    assert compared > 10 * len(SPECS)


def test_every_function_of_the_language_is_in_the_script() -> None:
    assert sorted(set(FUNCTIONS) - script_functions()) == []


def test_the_cost_is_the_librarys() -> None:
    """`tileops.roofline` needs torch, so the site counts by itself."""
    assert {name: torch.empty((), dtype=dtype).element_size() for name, dtype in DTYPE.items()} == ITEMSIZE
    for spec in SPECS:
        for case in spec.cases:
            try:
                bound = bind_case(spec, case)
            except CaseError:
                continue
            facts = {
                "names": bound.names,
                "shapes": {**bound.shapes, **bound.outputs},
                "dtypes": {slot: DTYPE.get(str(dtype)) for slot, dtype in bound.dtypes.items()},
            }
            assert cost(spec, bound) == tuple(roofline(spec, facts)), spec.name


def test_ceilings_are_the_recorded_ones(tmp_path: Path) -> None:
    runs = [
        {"ceilings": {"copy_tbs": 4.0, "read_tbs": None, "bf16_tflops": 700.0}},
        {"ceilings": {"copy_tbs": 4.1}},
    ]
    (tmp_path / "A.json").write_text(json.dumps({"runs": runs}), encoding="utf-8")
    assert ceilings(tmp_path) == {"tbs": 4.1, "bf16": 700.0}
    assert ceilings(tmp_path / "nothing") == {}


@pytest.mark.browser
def test_the_form_in_a_page(page: Page, site: Path) -> None:
    name = "RMSNormFwdOp"
    page.open((site / where.page(name)).with_suffix(".html"))
    block = f"document.querySelector('[data-op={name}]')"
    assert page.run(f"{block}.querySelector('.op-form')") is None, "made only when it is opened"
    page.run(f"{block}.querySelector('.op-calculator').open = true")
    page.wait(f"{block}.querySelector('.op-result table')")
    text = "{0}.querySelector('{1}').textContent"
    assert "(2048, 4096)" in page.run(text.format(block, "[data-tensor=y]"))
    assert "memory-bound" in page.run(text.format(block, "[data-fact=us]"))
    assert page.run(text.format(block, "[data-fact=implementation] dd")) == "rows"
    change = """(() => { const fields = [...%s.querySelectorAll('.op-field')];
        const field = fields.find(f => f.textContent === 'eps');
        field.querySelector('input').value = '-1';
        field.querySelector('input').dispatchEvent(new Event('input', {bubbles: true})); })()"""
    page.run(change % block)
    assert "eps must be finite and not negative (got eps=-1)" in page.run(text.format(block, ".op-refused"))
    assert page.run(f"{block}.querySelector('.op-failing').dataset.rule") == "1"
    assert page.errors == []
