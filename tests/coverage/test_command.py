"""The command: exit status, formats, what cannot be checked, the allow-list, and the lines to paste."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.coverage.sample import CORE_PAGE, ENTRY, MANIFEST, NORM_PAGE, Mutation, Sample

ROOT = Path(__file__).resolve().parents[2]
ALLOW = "scripts/api_coverage_allow.yaml"
SCRIPT = ROOT / "scripts" / "check_api_coverage.py"


# ------------------------------------------------------------------------------------------------ formats
def test_text_says_what_why_where_and_what_to_paste(sample: Sample) -> None:
    sample.edit(NORM_PAGE, ENTRY, "")
    outcome = sample.check(form="text")
    assert outcome.code == 1
    assert "RMSNormFwdOp: it has no entry on the site [missing]" in outcome.out
    assert "required: status: implemented in manifest/normalization.yaml:1" in outcome.out
    assert "exported by tileops.__all__ (tileops/__init__.py:11)" in outcome.out
    assert f"paste into {NORM_PAGE}:\n        {ENTRY}\n" in outcome.out
    assert "1 finding (7 required names, 2 of them operators" in outcome.out


def test_json_is_json(sample: Sample) -> None:
    sample.edit(NORM_PAGE, ENTRY, "")
    data = json.loads(sample.check(form="json").out)
    assert data["complete"] is False
    assert data["required"] == 7
    [finding] = data["findings"]
    assert finding["subject"] == "RMSNormFwdOp"
    assert finding["page"] == NORM_PAGE
    assert finding["paste"] == [ENTRY]


def test_github_annotates_file_and_line(sample: Sample) -> None:
    sample.edit(NORM_PAGE, ENTRY, f"{ENTRY}\n    options:\n      show_root_heading: false")
    lines = sample.check(form="github").out.splitlines()
    assert lines[0].startswith(
        f"::error file={NORM_PAGE},line=5,title=API coverage%3A headless::RMSNormFwdOp: "
    )
    assert lines[0].count("\n") == 0 and "%0Arequired: " in lines[0]


def test_complete_is_one_line(sample: Sample) -> None:
    for form in ("text", "github"):
        outcome = sample.check(form=form)
        assert outcome.code == 0
        assert outcome.out.startswith(
            "API coverage: complete (7 required names, 2 of them operators; stage 1 "
        )
        assert outcome.out.count("\n") == 1 and not outcome.err
    assert json.loads(sample.check(form="json").out)["complete"] is True


# ------------------------------------------------------------------------------------------ unusable input
def _remove(name: str) -> Mutation:
    return lambda sample: (sample.root / name).unlink()


def _write(name: str, text: str) -> Mutation:
    return lambda sample: sample.write(name, text)


UNUSABLE: dict[str, tuple[Mutation, str]] = {
    "no_mkdocs_yml": (_remove("mkdocs.yml"), "mkdocs.yml: not found in"),
    "broken_mkdocs_yml": (_write("mkdocs.yml", "site_name: [a"), "mkdocs.yml: "),
    "unknown_plugin": (
        lambda s: s.edit("mkdocs.yml", "  - search\n", "  - no-such-plugin\n"),
        'mkdocs.yml: plugins: The "no-such-plugin" plugin is not installed',
    ),
    "no_mkdocstrings": (
        _write("mkdocs.yml", "site_name: a\ntheme: mkdocs\n"),
        "there is no mkdocstrings plugin",
    ),
    "unknown_extension": (
        lambda s: s.edit("mkdocs.yml", "  - sample_math", "  - no_such_extension"),
        "mkdocs.yml: markdown_extensions: ",
    ),
    "bad_handler_options": (
        lambda s: s.edit("mkdocs.yml", "paths: [.]", "pathways: [.]"),
        "mkdocs.yml: options of the python handler: ",
    ),
    "no_docs": (lambda s: s.edit("mkdocs.yml", "strict: true", "docs_dir: nowhere"), "mkdocs.yml: "),
    "no_manifest": (
        lambda s: (s.root / "manifest").rename(s.root / "other"),
        "manifest/: there is no manifest folder in",
    ),
    "empty_manifest": (_remove(MANIFEST), "manifest/: holds no YAML file"),
    "broken_manifest": (_write(MANIFEST, "A:\n  b: [c\n"), f"{MANIFEST}:3: not YAML: "),
    "manifest_is_a_list": (_write(MANIFEST, "- A\n"), f"{MANIFEST}:1: the file is not a mapping"),
    "entry_is_a_text": (_write(MANIFEST, "\nA: text\n"), f"{MANIFEST}:2: A is not a mapping"),
    "bad_status": (
        lambda s: s.edit(MANIFEST, "status: spec-only", "status: implmented"),
        f"{MANIFEST}:15: BatchNormFwdOp has status 'implmented'; known are implemented, spec-only",
    ),
    "no_status": (lambda s: s.edit(MANIFEST, "  status: spec-only\n", ""), "BatchNormFwdOp has status None"),
    "no_family": (
        lambda s: s.edit(MANIFEST, "family: normalization", "family: "),
        "RMSNormFwdOp has no family",
    ),
    "twice": (
        lambda s: s.write("manifest/other.yaml", s.read(MANIFEST)),
        "manifest/other.yaml:1: RMSNormFwdOp is also in manifest/normalization.yaml:1",
    ),
    "no_package": (lambda s: (s.root / "tileops").rename(s.root / "other"), "package tileops: not found in"),
    "broken_module": (
        lambda s: s.append("tileops/ops/normalization.py", "\nclass (:\n"),
        "tileops/ops/normalization.py:63: not Python: ",
    ),
    "broken_package": (
        lambda s: s.write("tileops/__init__.py", "a b\n"),
        "tileops/__init__.py:1: not Python: ",
    ),
    "broken_allow_list": (_write(ALLOW, "a: [b\n"), f"{ALLOW}:2: not YAML: "),
    "no_reason": (_write(ALLOW, "tileops.describe:\n"), f"{ALLOW}:1: tileops.describe has no reason"),
    "allow_list_is_a_list": (_write(ALLOW, "- tileops.describe\n"), f"{ALLOW}:1: the file is not a mapping"),
    "page_is_not_utf8": (
        lambda s: (s.root / CORE_PAGE).write_bytes(b"# \xff\xfe\n"),
        f"{CORE_PAGE}: cannot be read",
    ),
    "missing_snippet": (
        lambda s: s.append(CORE_PAGE, '\n--8<-- "nowhere.md"\n'),
        f"{CORE_PAGE}: its Markdown cannot be parsed: ",
    ),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_unusable(sample: Sample, name: str) -> None:
    mutate, words = UNUSABLE[name]
    mutate(sample)
    outcome = sample.check(form="text")
    assert outcome.code == 2
    assert not outcome.out
    assert outcome.err.startswith("check_api_coverage: ") and outcome.err.count("\n") == 1
    assert words in outcome.err


def test_unusable_in_the_other_formats(sample: Sample) -> None:
    sample.write(MANIFEST, "A:\n  b: [c\n")
    outcome = sample.check(form="github")
    assert outcome.code == 2
    assert outcome.out.startswith(f"::error file={MANIFEST},line=3,title=API coverage%3A unusable input::")
    outcome = sample.check(form="json")
    assert outcome.code == 2
    assert json.loads(outcome.out)["file"] == MANIFEST


def test_a_site_folder_without_a_site(sample: Sample) -> None:
    outcome = sample.check("--site", "nowhere", form="text", stage="all")
    assert outcome.code == 2
    assert "nowhere: there is no built site in it" in outcome.err


# ------------------------------------------------------------------------------------------------ allow-list
def test_an_excused_name(sample: Sample) -> None:
    sample.edit(CORE_PAGE, "::: tileops.describe", "")
    sample.write(ALLOW, "tileops.describe: it goes away in the next version\n")
    outcome = sample.check()
    assert outcome.code == 0
    assert json.loads(outcome.out)["allowed"] == ["tileops.describe"]
    assert "1 excused" in sample.check(form="text").out


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("tileops.describe", "stale-allowance", "nothing to excuse"),
        ("tileops.core.describe", "stale-allowance", "nothing to excuse"),
        ("tileops.gone", "stale-allowance", "nothing requires"),
        ("RMSNormFwdOp", "refused-allowance", "cannot be excused: status: implemented"),
        ("tileops.ops.RMSNormFwdOp", "refused-allowance", "cannot be excused"),
    ],
)
def test_an_allowance_that_does_not_apply(sample: Sample, name: str, code: str, words: str) -> None:
    sample.write(ALLOW, f"# why\n{name}: a reason\n")
    outcome = sample.check()
    assert outcome.code == 1
    assert words in outcome.problem(name, code)
    assert [(f["file"], f["line"]) for f in outcome.findings] == [(ALLOW, 2)]


# --------------------------------------------------------------------------------------------- lines to paste
def _paste(sample: Sample, subject: str) -> tuple[str, list[str]]:
    [finding] = [f for f in sample.check().findings if f["subject"] == subject]
    return finding["page"], finding["paste"]


def test_paste_in_the_style_of_the_page(sample: Sample) -> None:
    page = "# N\n\n## ::: tileops.ops.normalization.BatchNormFwdOp\n    options:\n      show_source: false\n"
    sample.write(NORM_PAGE, page)
    want = ["## ::: tileops.ops.normalization.RMSNormFwdOp", "    options:", "      show_source: false"]
    assert _paste(sample, "RMSNormFwdOp") == (NORM_PAGE, want)
    sample.append(NORM_PAGE, "\n" + "\n".join(want) + "\n")
    assert sample.check().code == 0


def test_paste_beside_the_neighbours(sample: Sample) -> None:
    sample.edit(CORE_PAGE, "::: tileops.describe", "")
    assert _paste(sample, "tileops.describe") == (CORE_PAGE, ["::: tileops.describe"])


def test_paste_into_a_page_that_is_not_there_yet(sample: Sample) -> None:
    (sample.root / NORM_PAGE).unlink()
    sample.edit("mkdocs.yml", "      - Normalization: api/normalization.md\n", "")
    assert _paste(sample, "RMSNormFwdOp") == (NORM_PAGE, [ENTRY])


def test_paste_into_the_page_of_the_group(sample: Sample) -> None:
    (sample.root / NORM_PAGE).rename(sample.root / "docs/api/normalization_batch.md")
    sample.edit("mkdocs.yml", "api/normalization.md", "api/normalization_batch.md")
    sample.edit("docs/api/normalization_batch.md", ENTRY, "")
    assert _paste(sample, "RMSNormFwdOp") == ("docs/api/normalization_batch.md", [ENTRY])


# ------------------------------------------------------------------------------------------------ the script
def test_the_script_itself_and_without_torch(sample: Sample) -> None:
    """As people call it, from another folder; it imports neither torch nor the package that it checks."""
    sample.write("torch/__init__.py", "raise ImportError('torch was imported')\n")
    sample.write("tilelang/__init__.py", "raise ImportError('tilelang was imported')\n")
    sample.append("tileops/__init__.py", "\nraise ImportError('the package was imported')\n")
    command = [sys.executable, str(SCRIPT), "--root", str(sample.root), "--stage", "1"]
    done = subprocess.run(command, cwd=sample.root / "docs", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("API coverage: complete (7 required")


def test_this_project_is_complete() -> None:
    """Without arguments the check is about this checkout; `make site` runs both stages."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--stage", "1"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
