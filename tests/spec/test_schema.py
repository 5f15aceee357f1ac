"""The JSON schema is fresh, takes every manifest file, and refuses what an editor can see to be wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.spec.test_bad_manifest import BAD, DATA, GOOD
from tileops.spec import manifest_dir
from tileops.spec.schema import main, schema, schema_file

FILES = [*sorted(manifest_dir().glob("*.yaml")), DATA / "toy.yaml", DATA / "hard.yaml"]
SEEN = [name for name, bad in BAD.items() if "unknown field" in bad.says or "missing required" in bad.says]
SEEN += [
    "a status",
    "a target",
    "a dtype",
    "a type",
    "a row of no dtype",
    "no text",
    "no case",
    "a case that is no mapping",
]
SEEN += ["an output of two dtypes", "a name that is none"]


def problems(value: Any) -> list[str]:
    jsonschema = pytest.importorskip("jsonschema")
    return [error.message for error in jsonschema.Draft202012Validator(schema()).iter_errors(value)]


def test_the_schema_is_fresh() -> None:
    assert main(["--check"]) == 0, "run python -m tileops.spec.schema"


def test_a_stale_schema_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tileops.spec.schema.schema_file", lambda: tmp_path / "schema.json")
    assert "is stale; run python -m tileops.spec.schema" in str(main(["--check"]))
    assert main([]) == 0
    assert main(["--check"]) == 0
    assert (tmp_path / "schema.json").read_text() == schema_file().read_text()


@pytest.mark.parametrize(("arguments", "code"), [(["--help"], 0), (["--chek"], 2), (["schema.json"], 2)])
def test_a_question_or_a_slip_writes_nothing(
    arguments: list[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tileops.spec.schema.schema_file", lambda: tmp_path / "schema.json")
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == code
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_are_valid(path: Path) -> None:
    assert not problems(yaml.safe_load(path.read_text()))


@pytest.mark.parametrize("path", sorted(manifest_dir().glob("*.yaml")), ids=lambda path: path.name)
def test_files_name_the_schema(path: Path) -> None:
    assert path.read_text().splitlines()[0] == f"# yaml-language-server: $schema={schema_file().name}"


@pytest.mark.parametrize("what", SEEN)
def test_an_editor_sees(what: str) -> None:
    assert problems(yaml.safe_load(GOOD.replace(BAD[what].old, BAD[what].new)))


def test_the_schema_itself_is_valid() -> None:
    pytest.importorskip("jsonschema").Draft202012Validator.check_schema(schema())
