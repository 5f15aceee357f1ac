"""What tests and benchmarks of operators share: inputs for a case, and comparison with an oracle."""

from tileops.testing.compare import Accuracy, assert_accurate, measure
from tileops.testing.inputs import make_inputs, make_meta, oracle

__all__ = ["Accuracy", "assert_accurate", "make_inputs", "make_meta", "measure", "oracle"]
