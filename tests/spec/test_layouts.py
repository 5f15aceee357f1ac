"""Tensors whose channels are innermost in memory, and outputs that follow them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tileops.compiled import Compiled, compile_functions, make_outputs
from tileops.errors import ManifestError
from tileops.runner import verdicts
from tileops.spec import OpSpec, read_file

TOY = """
ToyOp:
  family: toy
  status: implemented
  signature:
    inputs:
      x: {dtype: float32, shape: "N C *S", channels_last: true}
    outputs:
      y: {dtype: same_as(x), shape: "N C *S", layout_of: x}
  roofline: {flops: "N"}
  implementations:
    rows: {program: rows}
    channels: {program: channels, rank: 1, channels_last: [x]}
  cases: [{N: 2, C: 3, S: [4]}]
"""


@pytest.fixture
def toy(tmp_path: Path) -> tuple[OpSpec, Compiled]:
    path = tmp_path / "toy.yaml"
    path.write_text(TOY)
    spec = read_file(path)["ToyOp"]
    return spec, compile_functions(spec)


@pytest.mark.parametrize("sizes", [(4,), (4, 5), (4, 5, 6), ()])
def test_an_output_has_the_layout_of_its_input(toy: tuple[OpSpec, Compiled], sizes: tuple[int, ...]) -> None:
    spec, functions = toy
    plain = torch.zeros(2, 3, *sizes, device="meta")
    last = torch.zeros(2, *sizes, 3, device="meta").movedim(-1, 1)
    gaps = torch.zeros(2, 3, *sizes, 2, device="meta")[..., 0]
    for x, innermost in ((plain, False), (last, bool(sizes)), (gaps, False)):
        (y,) = make_outputs(*functions.outputs(x))
        assert y.shape == x.shape
        assert (y.movedim(1, -1) if innermost else y).is_contiguous()
        serving = [v.implementation for v in verdicts(spec, functions.facts(x), "cpu") if not v.reasons]
        assert serving == ["channels" if innermost else "rows"]


def test_the_reason_names_the_layout(toy: tuple[OpSpec, Compiled]) -> None:
    spec, functions = toy
    found = verdicts(spec, functions.facts(torch.zeros(2, 3, 4, device="meta")), "cpu")
    assert found[0].reasons == ("x must be channels-last",)
    found = verdicts(spec, functions.facts(torch.zeros(2, 4, 3, device="meta").mT), "cpu")
    assert found[1].reasons == ("x must be contiguous",)


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        (", channels_last: true", "", "outputs.y.layout_of"),
        ("[x]", "[y]", "implementations.channels.channels_last"),
        ("layout_of: x", "layout_of: z", "outputs.y.layout_of"),
    ],
)
def test_only_what_may_be_channels_last_is_named(tmp_path: Path, old: str, new: str, field: str) -> None:
    path = tmp_path / "toy.yaml"
    path.write_text(TOY.replace(old, new))
    with pytest.raises(ManifestError, match=field):
        read_file(path)
