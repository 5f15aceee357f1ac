"""What the operators must do, written by hand and independent of the manifest.

The manifest generates the checks, the fakes, the costs and the choice of kernels; these probes say what they
must come to. Each family has a module here. `test_expected.py` changes every declared expression and demands
that a probe notices.
"""

from __future__ import annotations

import importlib
import pkgutil

from tests.conformance.expected.probes import Bad, Expected, Good, Probe

__all__ = ["EXPECTED", "Bad", "Expected", "Good", "Probe"]


def _merged() -> dict[str, Expected]:
    """The operators of every module of this folder."""
    out: dict[str, Expected] = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name != "probes":
            out |= importlib.import_module(f"{__name__}.{module.name}").EXPECTED
    return out


EXPECTED = _merged()
