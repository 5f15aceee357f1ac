"""Small TileLang programs that between them use the constructs an operator library needs."""

from tests.targets.programs import (
    attention,
    control,
    decode,
    elementwise,
    low_precision,
    matmul,
    rows,
    structured,
)
from tests.targets.programs.case import CASES, Case
from tests.targets.programs.refused import REFUSED

__all__ = [
    "CASES",
    "REFUSED",
    "Case",
    "attention",
    "control",
    "decode",
    "elementwise",
    "low_precision",
    "matmul",
    "rows",
    "structured",
]
