"""Exports and docstrings: each flaw in the sources turns the check red, and the message says which it was."""

from __future__ import annotations

import pytest

from tests.coverage.sample import MANIFEST, NORM, OPS, Mutation, Sample

RMS = "RMSNormFwdOp"


def _edit(name: str, old: str, new: str) -> Mutation:
    return lambda sample: sample.edit(name, old, new)


def _docstring(new: str) -> Mutation:
    def mutate(sample: Sample) -> None:
        text = sample.read(NORM)
        start = text.index('    r"""Root')
        sample.write(NORM, text[:start] + new + text[text.index('"""', start + 10) + 3 :])

    return mutate


GOOD = '''    r"""Root-mean-square normalization.

    $$
    y = x
    $$

    Args:
        eps: Added.

    Examples:
        >>> import tileops
    """'''

CASES: dict[str, tuple[Mutation, str, str, str]] = {
    # name: (mutation, subject, code, words of the message)
    "all_computed": (
        _edit(OPS, '__all__ = ["BatchNormFwdOp", "RMSNormFwdOp"]', "__all__ = sorted(globals())"),
        "tileops.ops",
        "computed-all",
        "write a literal list",
    ),
    "all_extended_at_run_time": (
        lambda s: s.append(OPS, "\n__all__.extend(names())\n"),
        "tileops.ops",
        "computed-all",
        "write a literal list",
    ),
    "all_added_to": (
        lambda s: s.append(OPS, "\n__all__ += core.__all__\n"),
        "tileops.ops",
        "computed-all",
        "write a literal list",
    ),
    "no_all": (
        _edit(OPS, '__all__ = ["BatchNormFwdOp", "RMSNormFwdOp"]', ""),
        "tileops.ops",
        "no-all",
        "`__all__`",
    ),
    "export_that_does_not_exist": (
        _edit(OPS, '__all__ = ["BatchNormFwdOp"', '__all__ = ["Missing", "BatchNormFwdOp"'),
        "tileops.ops.Missing",
        "unresolved-export",
        "TYPE_CHECKING",
    ),
    "operator_not_exported": (
        _edit(OPS, '__all__ = ["BatchNormFwdOp", "RMSNormFwdOp"]', '__all__ = ["BatchNormFwdOp"]'),
        RMS,
        "not-exported",
        "does not export it",
    ),
    "operator_without_class": (
        lambda s: s.append(
            MANIFEST, "\nSumFwdOp: {family: normalization, status: implemented, signature: {}}\n"
        ),
        "SumFwdOp",
        "no-class",
        "does not define it",
    ),
    "no_docstring": (_docstring(""), RMS, "no-docstring", "inherits describes another class"),
    "docstring_empty": (_docstring('    """   """'), RMS, "no-docstring", "is empty"),
    "docstring_not_raw": (
        _docstring(GOOD.replace('r"""', '"""').replace("y = x", r"y = \frac{x}{2}")),
        RMS,
        "control-character",
        "make it raw",
    ),
    "no_summary": (
        _docstring(GOOD.replace("Root-mean-square normalization.\n\n", "\n")),
        RMS,
        "no-summary",
        "sentence",
    ),
    "no_formula": (_docstring(GOOD.replace("$$", "")), RMS, "no-formula", "no display formula"),
    "no_example": (_docstring(GOOD.replace(">>>", "")), RMS, "no-example", "no example"),
    "example_misnamed": (_docstring(GOOD.replace("Examples:", "Example:")), RMS, "no-example", "no example"),
    "argument_undocumented": (
        _docstring(GOOD.replace("eps: Added.", "")),
        RMS,
        "arguments",
        "leaves out eps",
    ),
    "argument_renamed": (_docstring(GOOD.replace("eps:", "epsilon:")), RMS, "arguments", "names epsilon"),
    "tensor_documented_in_the_class": (
        _docstring(GOOD.replace("eps: Added.", "eps: Added.\n        x: The rows.")),
        RMS,
        "arguments",
        "names x, which the signature has not",
    ),
    "tensor_renamed": (
        _edit(NORM, "            weight: A factor", "            factor: A factor"),
        RMS,
        "arguments",
        "leaves out weight; `Args:` names factor",
    ),
    "tensor_undocumented": (
        _edit(NORM, "            weight: A factor for each element.\n", ""),
        RMS,
        "arguments",
        "weight",
    ),
    "method_undocumented": (
        _edit("tileops/core.py", '"""The params, by name."""', ""),
        "tileops.Op.params",
        "no-docstring",
        "no docstring",
    ),
    "function_argument_undocumented": (
        _edit("tileops/core.py", "        op: The operator.\n", ""),
        "tileops.describe",
        "arguments",
        "leaves out op",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_mutation(sample: Sample, name: str) -> None:
    mutate, subject, code, words = CASES[name]
    mutate(sample)
    outcome = sample.check()
    assert outcome.code == 1
    assert words in outcome.problem(subject, code)


def test_good_docstring_is_accepted(sample: Sample) -> None:
    _docstring(GOOD)(sample)
    assert sample.check().code == 0


def test_nothing_required_is_a_failure(sample: Sample) -> None:
    sample.write(MANIFEST, "")
    for module in ("tileops", "tileops/ops"):
        sample.write(f"{module}/__init__.py", "__all__ = []\n")
    outcome = sample.check()
    assert outcome.code == 1
    assert "nothing is required" in outcome.problem("tileops", "nothing-required")


def test_a_module_that_is_exported_is_read(sample: Sample) -> None:
    sample.write("tileops/extra.py", '__all__ = ["extra"]\n\ndef extra() -> None:\n    """Do more."""\n')
    sample.edit(
        "tileops/__init__.py", "    from tileops.core", "    from tileops import extra\n    from tileops.core"
    )
    sample.edit("tileops/__init__.py", '"describe"]', '"describe", "extra"]')
    assert ("tileops.extra.extra", "missing") in sample.check().codes


def test_a_literal_all_in_parts_is_read(sample: Sample) -> None:
    parts = '__all__ = ["BatchNormFwdOp"] + ["RMSNormFwdOp"]\n__all__ += ()\n'
    sample.edit(OPS, '__all__ = ["BatchNormFwdOp", "RMSNormFwdOp"]\n', parts)
    assert sample.check().code == 0
