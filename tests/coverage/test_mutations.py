"""Each way to lose an entry turns the check red, and the message says which it was."""

from __future__ import annotations

import pytest

from tests.coverage.sample import CORE_PAGE, ENTRY, MANIFEST, NORM_PAGE, Mutation, Sample

RMS = "RMSNormFwdOp"


def _entry(new: str, extra: str = "") -> Mutation:
    def mutate(sample: Sample) -> None:
        sample.edit(NORM_PAGE, ENTRY, new)
        sample.append(NORM_PAGE, extra)

    return mutate


def _edit(name: str, old: str, new: str) -> Mutation:
    return lambda sample: sample.edit(name, old, new)


def _move(page: str, text: str = f"# Page\n\n{ENTRY}\n") -> Mutation:
    def mutate(sample: Sample) -> None:
        sample.edit(NORM_PAGE, ENTRY, "")
        sample.write(f"docs/{page}", text)

    return mutate


def _module(options: str) -> Mutation:
    """The page documents the module as a whole."""

    def mutate(sample: Sample) -> None:
        sample.edit(NORM_PAGE, ENTRY, f"::: tileops.ops.normalization\n    options:\n{options}")
        sample.edit(NORM_PAGE, "::: tileops.ops.BatchNormFwdOp", "")

    return mutate


CASES: dict[str, tuple[Mutation, str, str, str]] = {
    # name: (mutation, subject, code, words of the message)
    "deleted": (_entry(""), RMS, "missing", "no entry on the site"),
    "commented_out": (_entry(f"<!-- {ENTRY} -->"), RMS, "missing", "commented out"),
    "commented_over_lines": (_entry(f"<!--\n{ENTRY}\n-->"), RMS, "missing", "commented out"),
    "fenced": (_entry(f"```\n{ENTRY}\n```"), RMS, "missing", "code fence"),
    "indented_as_code": (_entry(f"    {ENTRY}"), RMS, "missing", "indented"),
    "inline_code": (_entry(f"Write `{ENTRY}`."), RMS, "missing", "inline code"),
    "table_cell": (_entry(f"| A |\n| --- |\n| {ENTRY} |"), RMS, "missing", "table cell"),
    "raw_html": (_entry(f"<div>\n\n{ENTRY}\n\n</div>"), RMS, "missing", "raw HTML"),
    "in_a_sentence": (_entry(f"See {ENTRY}."), RMS, "missing", "does not start its line"),
    "draft": (_move("draft.md"), RMS, "missing", "docs/draft.md:3 has it, and that page is a draft"),
    "excluded": (
        _move("excluded.md"),
        RMS,
        "missing",
        "docs/excluded.md:3 has it, and that page is excluded",
    ),
    "outside_the_nav": (_move("stray.md"), RMS, "outside-nav", "docs/stray.md, which is not in the nav"),
    "misspelled": (_entry("::: tileops.ops.RMSNromFwdOp"), RMS, "missing", "tileops.ops.RMSNromFwdOp` in"),
    "wrong_module": (
        _entry("::: tileops.norms.RMSNormFwdOp"),
        RMS,
        "missing",
        "tileops.norms.RMSNormFwdOp` in",
    ),
    "duplicated": (_entry(f"{ENTRY}\n\n{ENTRY}"), RMS, "duplicate", "shown 2 times"),
    "duplicated_through_an_alias": (
        _entry(ENTRY, "\n::: tileops.ops.normalization.RMSNormFwdOp\n"),
        RMS,
        "duplicate",
        "shown 2 times",
    ),
    "duplicated_by_a_module": (
        lambda s: s.append(
            CORE_PAGE, "\n::: tileops.ops.normalization\n    options:\n      members: [RMSNormFwdOp]\n"
        ),
        RMS,
        "duplicate",
        "`::: tileops.ops.normalization` in docs/api/core.md",
    ),
    "headless": (
        _entry(f"{ENTRY}\n    options:\n      show_root_heading: false"),
        RMS,
        "headless",
        "no heading",
    ),
    "headless_everywhere": (
        _edit("mkdocs.yml", "show_root_heading: true", "show_root_heading: false"),
        RMS,
        "headless",
        "no heading",
    ),
    "heading_false": (
        _entry(f"{ENTRY}\n    options:\n      heading: false"),
        "tileops.ops.RMSNormFwdOp",
        "bad-options",
        "heading must be a text",
    ),
    "out_of_the_inventory": (
        _entry(f"{ENTRY}\n    options:\n      skip_local_inventory: true"),
        RMS,
        "no-inventory",
        "no other site can link it",
    ),
    "unknown_option": (
        _entry(f"{ENTRY}\n    options:\n      show_everything: true"),
        "tileops.ops.RMSNormFwdOp",
        "bad-options",
        "show_everything",
    ),
    "broken_options": (
        _entry(f"{ENTRY}\n    options: [unclosed"),
        "tileops.ops.RMSNormFwdOp",
        "bad-options",
        "cannot be read",
    ),
    "members_false_of_a_module": (_module("      members: false"), RMS, "missing", "has `members: false`"),
    "members_without_it": (_module("      members: [BatchNormFwdOp]"), RMS, "missing", "lists its `members`"),
    "members_false_of_a_class": (
        _edit(CORE_PAGE, "::: tileops.Op", "::: tileops.Op\n    options:\n      members: false"),
        "tileops.Op.explain",
        "missing-member",
        "has `members: false`",
    ),
    "filtered_away": (_module('      filters: ["!RMS"]'), RMS, "missing", "`filters` that leave it out"),
    "filtered_away_everywhere": (
        _edit("mkdocs.yml", '["!^_"]', '["!^_", "!explain"]'),
        "tileops.Op.explain",
        "missing-member",
        "`filters` that leave it out",
    ),
    "only_a_module_shows_it": (_module("      show_source: false"), RMS, "missing", "needs its own entry"),
    "on_another_familys_page": (
        lambda s: (s.edit(NORM_PAGE, ENTRY, ""), s.append(CORE_PAGE, f"\n{ENTRY}\n")),
        RMS,
        "wrong-page",
        "its family is normalization",
    ),
    "export_without_entry": (
        _edit(CORE_PAGE, "::: tileops.describe", ""),
        "tileops.describe",
        "missing",
        "no entry on the site",
    ),
    "not_public": (
        lambda s: s.append(CORE_PAGE, "\n::: tileops.ops.normalization.Helper\n"),
        "tileops.ops.normalization.Helper",
        "not-public",
        "not public",
    ),
    "private": (
        lambda s: s.append(CORE_PAGE, "\n::: tileops.core._Hidden\n"),
        "tileops.core._Hidden",
        "not-public",
        "not public",
    ),
    "of_another_package": (
        lambda s: s.append(CORE_PAGE, "\n::: json.dumps\n"),
        "json.dumps",
        "unknown",
        "no such name",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_mutation(sample: Sample, name: str) -> None:
    mutate, subject, code, words = CASES[name]
    mutate(sample)
    outcome = sample.check()
    assert outcome.code == 1
    assert words in outcome.problem(subject, code)


def test_the_sample_is_complete(sample: Sample) -> None:
    outcome = sample.check()
    assert (outcome.code, outcome.findings) == (0, [])


def test_a_status_that_flips_needs_its_entry(sample: Sample) -> None:
    """A missing operator can be excused while it is specified only, and no longer once it is implemented."""
    sample.edit(NORM_PAGE, "::: tileops.ops.BatchNormFwdOp", "")
    sample.write("scripts/api_coverage_allow.yaml", "BatchNormFwdOp: its formula is under discussion\n")
    assert sample.check().code == 0
    sample.edit(MANIFEST, "spec-only", "implemented")
    outcome = sample.check()
    assert outcome.code == 1
    assert "status: implemented" in outcome.problem("BatchNormFwdOp", "refused-allowance")
    outcome.problem("BatchNormFwdOp", "missing")


def test_a_spec_only_operator_needs_its_entry(sample: Sample) -> None:
    sample.edit(MANIFEST, "status: implemented", "status: spec-only")
    sample.edit(NORM_PAGE, ENTRY, "")
    assert "no entry" in sample.check().problem(RMS, "missing")


def test_a_missing_class_does_not_list_its_methods(sample: Sample) -> None:
    sample.edit(CORE_PAGE, "::: tileops.Op", "")
    assert sample.check().codes == {("tileops.Op", "missing")}


def test_an_entry_in_a_shown_docstring_counts(sample: Sample) -> None:
    sample.edit(CORE_PAGE, "::: tileops.describe", "")
    sample.edit(
        "tileops/core.py",
        '"""A call that the',
        '"""A call.\n\n    ::: tileops.describe\n\n    It is one that the',
    )
    assert sample.check().code == 0
