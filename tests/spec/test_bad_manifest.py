"""Every bad manifest ends in one `ManifestError` that names file, line, operator and field."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from tileops.errors import ManifestError
from tileops.spec.loader import load, load_family, merged, read_file

DATA = Path(__file__).with_name("data")
GOOD = (DATA / "toy.yaml").read_text()


class Bad(NamedTuple):
    """`old` replaced by `new` in the good file; the error names `field`, says `says`, at the line of `at`."""

    old: str
    new: str
    field: str
    says: str
    at: str = ""


BAD = {name: Bad(**entry) for name, entry in yaml.safe_load((DATA / "bad_entries.yaml").read_text()).items()}


def read(folder: Path, text: str) -> ManifestError:
    path = folder / "toy.yaml"
    path.write_text(text)
    with pytest.raises(ManifestError) as caught:
        read_file(path)
    return caught.value


def test_the_good_file_is_good(tmp_path: Path) -> None:
    (tmp_path / "toy.yaml").write_text(GOOD)
    assert list(read_file(tmp_path / "toy.yaml")) == ["ScaleFwdOp"]


@pytest.mark.parametrize("what", BAD)
def test_a_bad_entry(what: str, tmp_path: Path) -> None:
    bad = BAD[what]
    assert GOOD.count(bad.old) == 1, "the good file has this once"
    text = GOOD.replace(bad.old, bad.new)
    message = str(read(tmp_path, text))
    found = re.fullmatch(r"(.*?):(\d+): (\w+): (.*?): (.*)", message, re.S)
    assert found is not None, message
    assert Path(found[1]) == tmp_path / "toy.yaml"
    assert found[3] == "ScaleFwdOp"
    assert found[4] == bad.field and bad.says in found[5], message
    line = text.splitlines()[int(found[2]) - 1]
    leaf = [part for part in bad.field.split(".") if not part.isdigit()][-1]
    assert (bad.at or leaf) in line or line.strip().startswith("-"), f"{message}\nis at: {line}"


def test_duplicate_operators_in_one_file(tmp_path: Path) -> None:
    message = str(read(tmp_path, GOOD + GOOD))
    assert (
        f"toy.yaml:{len(GOOD.splitlines()) + 2}: ScaleFwdOp: entry: is declared twice; first at line 2"
        in message
    )


def test_duplicate_operators_in_two_files(tmp_path: Path) -> None:
    for family in ("toy", "play"):
        (tmp_path / f"{family}.yaml").write_text(GOOD.replace("family: toy", f"family: {family}"))
    files = [read_file(tmp_path / "toy.yaml"), read_file(tmp_path / "play.yaml")]
    with pytest.raises(
        ManifestError, match=r"play\.yaml:2: ScaleFwdOp: entry: is also declared at .*toy\.yaml:2"
    ):
        merged(files)


def test_two_operators_of_one_torch_name(tmp_path: Path) -> None:
    (tmp_path / "toy.yaml").write_text(GOOD + GOOD.replace("ScaleFwdOp", "ScaleOp"))
    with pytest.raises(
        ManifestError, match=r"ScaleOp: entry: its name for torch, scale, is also that of ScaleFwdOp"
    ):
        merged([read_file(tmp_path / "toy.yaml")])


def test_a_name_that_is_no_class_name(tmp_path: Path) -> None:
    message = str(read(tmp_path, GOOD.replace("ScaleFwdOp", "scale")))
    assert "toy.yaml:2: scale: entry: the name of an operator is the name of its class" in message


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ScaleFwdOp: {a: [b}\n", r"toy\.yaml:1: YAML: .*expected ',' or ']'"),
        ("a: b\n  c: d\n", r"toy\.yaml:2: YAML: mapping values are not allowed"),
        ("a: 1\n---\nb: 2\n", r"toy\.yaml:2: YAML: but found another document"),
        ("a: *b\n", r"toy\.yaml:1: YAML: found undefined alias"),
        ("- a\n", r"toy\.yaml:1: the file must map operator names to entries"),
        ("ScaleFwdOp: 3\n", r"toy\.yaml:1: ScaleFwdOp: entry: Expected `object`, got `int`"),
        ("a: \x07\n", r"toy\.yaml:1: YAML: "),
    ],
)
def test_bad_yaml(text: str, says: str, tmp_path: Path) -> None:
    assert re.search(says, str(read(tmp_path, text)))


def test_a_file_in_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "toy.yaml").write_bytes(b"# \xe9\n")
    with pytest.raises(ManifestError, match=r"toy\.yaml:1: is not UTF-8"):
        read_file(tmp_path / "toy.yaml")


def test_unknown_family_and_operator() -> None:
    with pytest.raises(ManifestError, match="there is no family 'toy'; there are attention"):
        load_family("toy")
    with pytest.raises(ManifestError, match="declares an operator 'ScaleFwdOp'"):
        load("ScaleFwdOp")
