"""What tests and benchmarks of operators share: inputs for a case, and comparison with an oracle."""

from tileops.testing.compare import Accuracy, assert_accurate, measure
from tileops.testing.inputs import (
    Bound,
    bound_operator,
    case_facts,
    case_params,
    laid_out,
    make_inputs,
    make_meta,
    operator,
    oracle,
    results,
)

__all__ = [
    "Accuracy",
    "Bound",
    "assert_accurate",
    "bound_operator",
    "case_facts",
    "case_params",
    "laid_out",
    "make_inputs",
    "make_meta",
    "measure",
    "operator",
    "oracle",
    "results",
]
