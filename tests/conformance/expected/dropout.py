"""Probes of dropout."""

from __future__ import annotations

from typing import Any

from tests.conformance.expected.probes import FLOATS, Bad, Expected, Good, Probe, Shape


def _drop(x: Shape, **params: Any) -> Probe:
    return Probe({"input": x}, params)


def _good(*shape: int, aligned: bool, **params: Any) -> Good:
    return Good(_drop(shape, **params), (shape,), "philox", {"aligned": aligned}, run=True)


DROPOUT = Expected(
    good=[
        Good(_drop((3, 40)), ((3, 40),), "philox", {"aligned": True}, 120, 480),
        _good(7, aligned=False, seed=3),
        _good(64, aligned=True, p=0.0),
        _good(64, aligned=True, p=1.0),
        _good(64, aligned=True, training=False, p=0.25),
        _good(64, aligned=True, seed=-(2**63)),
        _good(64, aligned=True, seed=2**63 - 1),
    ],
    bad=[
        *(Bad("p must lie in [0, 1]", _drop((7,), p=p)) for p in (-0.1, 1.5, float("nan"))),
        *(Bad("seed must fit 64 bits", _drop((7,), seed=seed)) for seed in (2**63, -(2**63) - 1)),
        Bad("input must be a torch.Tensor", _drop(None)),
    ],
    dtypes={"input": FLOATS},
)

EXPECTED: dict[str, Expected] = {"DropoutFwdOp": DROPOUT}
