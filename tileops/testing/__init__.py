"""What tests and benchmarks of operators share: inputs for a case, and comparison with an oracle."""

from tileops.testing.compare import Accuracy, assert_accurate, measure
from tileops.testing.inputs import case_facts, case_params, make_inputs, make_meta, operator, oracle

__all__ = [
    "Accuracy",
    "assert_accurate",
    "case_facts",
    "case_params",
    "make_inputs",
    "make_meta",
    "measure",
    "operator",
    "oracle",
]
