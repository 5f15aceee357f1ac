"""Probes of the elementwise operators, a module a group."""

from __future__ import annotations

from tests.conformance.expected.elementwise import tables, unary
from tests.conformance.expected.probes import Expected

EXPECTED: dict[str, Expected] = {**unary.EXPECTED, **tables.EXPECTED}
