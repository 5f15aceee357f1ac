"""Probes of the mixture of experts."""

from __future__ import annotations

from typing import Any

from tests.conformance.expected.probes import HALF, Bad, Expected, Good, Probe, Shape

_TYPES = {"fwd_idx": "int32", "topk_weights": "float32"}


def _unpermute(
    rows: Shape = (12, 16),
    index: Shape = (10,),
    weights: Shape = (5, 2),
    out: Shape = (5, 16),
    dtypes: dict[str, str] | None = None,
    dtype: str = "float16",
    **params: Any,
) -> Probe:
    inputs = {"mm2_pad": rows, "fwd_idx": index, "topk_weights": weights, "out": out}
    return Probe(inputs, params, dtype, {**_TYPES, **(dtypes or {})})


_OUT = frozenset({"out"})

UNPERMUTE = Expected(
    good=[
        Good(_unpermute(), ((5, 16),), flops=320, names={"R": 12}, written=_OUT, alias="out"),
        Good(_unpermute(dtype="bfloat16"), ((5, 16),), written=_OUT, alias="out"),
        Good(_unpermute(out=None), ((5, 16),), flops=320, bytes=2 * (192 + 80) + 4 * (10 + 10)),
    ],
    bad=[
        Bad("routed_scaling_factor must be finite", _unpermute(routed_scaling_factor=float("inf"))),
        Bad("mm2_pad must have 2", _unpermute((12, 16, 1))),
        Bad("fwd_idx must have 1", _unpermute(index=(5, 2))),
        Bad("fwd_idx must have shape", _unpermute(index=(9,))),
        Bad("topk_weights must have 2", _unpermute(weights=(10,))),
        Bad("out must have 2", _unpermute(out=(80,))),
        Bad("out must have shape", _unpermute(out=(4, 16))),
        Bad("out must have shape", _unpermute(out=(5, 15))),
        Bad("out must have the dtype of mm2_pad", _unpermute(dtypes={"out": "float32"})),
        Bad("mm2_pad must be a torch.Tensor", _unpermute(None)),
        Bad("fwd_idx must be a torch.Tensor", _unpermute(index=None)),
        Bad("topk_weights must be a torch.Tensor", _unpermute(weights=None)),
    ],
    dtypes={"mm2_pad": HALF, "fwd_idx": {"int32"}, "topk_weights": {"float32"}},
    made={"fwd_idx": (-1, 11)},
)

EXPECTED: dict[str, Expected] = {"MoeUnpermuteFwdOp": UNPERMUTE}
