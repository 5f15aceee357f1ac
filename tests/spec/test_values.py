"""Index tensors: what the manifest says of their values."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tileops.compiled import Compiled, compile_functions
from tileops.errors import CallError, ManifestError
from tileops.spec import read_file

TOY = """
ToyOp:
  family: toy
  status: spec-only
  signature:
    inputs:
      x: {{dtype: float32, shape: "T D"}}
      ids: {{dtype: int32 | int64, shape: "B", values: "{ids}"}}
      table: {{dtype: int32, shape: "B P", values: "{table}"}}
    outputs:
      y: {{dtype: same_as(x), shape: "T D"}}
  roofline: {{flops: "T"}}
  cases: [{{T: 8, D: 2, B: 3, P: 2}}]
"""


def toy(folder: Path, ids: str = "range(0, T - 1)", table: str = "pages(ids, 2, T // 2)") -> Compiled:
    path = folder / "toy.yaml"
    path.write_text(TOY.format(ids=ids, table=table))
    return compile_functions(read_file(path)["ToyOp"])


def look(functions: Compiled, ids: list[int], table: list[list[int]]) -> None:
    x = torch.zeros(8, 2)
    assert functions.values is not None
    functions.values(x, torch.tensor(ids), torch.tensor(table, dtype=torch.int32))


def test_a_range_includes_both_ends(tmp_path: Path) -> None:
    functions = toy(tmp_path)
    look(functions, [0, 7, 3], [[-1, -1], [0, 3], [1, 0]])
    for wrong, at in (([0, 8, 3], 1), ([0, 7, -1], 2)):
        message = rf"ToyOp: ids must hold values in \[0, 7\], got {wrong[at]} at \[{at}\]"
        with pytest.raises(CallError, match=message):
            look(functions, wrong, [[0, 0]] * 3)


def test_each_column_of_pairs_has_a_range_of_its_own(tmp_path: Path) -> None:
    functions = toy(tmp_path, table="columns(T - 8, 3)")
    look(functions, [0, 7, 3], [[0, 0], [0, 3], [0, 1]])
    for wrong, at in (([1, 0], 0), ([0, 4], 1), ([-1, 0], 0), ([0, -1], 1)):
        message = (
            rf"ToyOp: table must hold values in \[0, 0\] in column 0 and values in \[0, 3\] in column 1, "
            rf"got {wrong[at]} at \[2, {at}\]"
        )
        with pytest.raises(CallError, match=message):
            look(functions, [0, 7, 3], [[0, 0], [0, 3], wrong])


def test_offsets_begin_at_zero_do_not_decrease_and_end_at_the_total(tmp_path: Path) -> None:
    functions = toy(tmp_path, ids="offsets(T)", table="range(0, 9)")
    look(functions, [0, 0, 8], [[0, 9]] * 3)
    for wrong in ([1, 2, 8], [0, 9, 8], [0, 2, 7]):
        with pytest.raises(CallError, match="ids must hold prefix sums from 0 to 8 that do not decrease"):
            look(functions, wrong, [[0, 9]] * 3)


def test_pages_beyond_the_length_may_be_anything(tmp_path: Path) -> None:
    functions = toy(tmp_path)
    look(functions, [0, 2, 3], [[-1, 99], [3, -1], [0, 1]])
    for table in ([[-1, -1], [4, -1], [0, 1]], [[-1, -1], [0, -1], [0, -1]]):
        with pytest.raises(CallError, match=r"table must hold pages in \[0, 3\] where the lengths need one"):
            look(functions, [0, 2, 3], table)


def test_empty_and_meta_tensors_hold_nothing(tmp_path: Path) -> None:
    functions = toy(tmp_path)
    assert functions.values is not None
    x, none = torch.zeros(8, 2), torch.zeros(0, dtype=torch.int32)
    functions.values(x, none, none.view(0, 1))
    functions.values(
        x.to("meta"),
        torch.ones(3, dtype=torch.int32, device="meta"),
        torch.ones(3, 2, dtype=torch.int32, device="meta"),
    )


@pytest.mark.parametrize("text", ["between(0, 1)", "range(0)", "pages(ids, 2)", "range(0, U)", "range"])
def test_a_manifest_that_names_no_such_check_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ManifestError, match=r"toy.yaml:8: ToyOp: signature.inputs.ids.values"):
        toy(tmp_path, ids=text)
