"""Probes of the selector."""

from __future__ import annotations

from typing import Any

from tests.conformance.expected.probes import Bad, Expected, Good, Probe, Shape


def _select(
    x: Shape = (2, 3, 40, 1),
    starts: Shape = (2, 3),
    ends: Shape = (2, 3),
    topk: int = 5,
    **dtypes: str,
) -> Probe:
    types = {"starts": "int32", "ends": "int32", **dtypes}
    return Probe({"index_score": x, "starts": starts, "ends": ends}, {"topk": topk}, "float32", types)


def _good(*x: int, topk: int, **static: Any) -> Good:
    out = (*x[:2], x[3], topk)
    return Good(_select(x, x[:2], x[:2], topk), (out,), "stream", static, out_dtype="int32")


TOPK_SELECTOR = Expected(
    good=[
        Good(
            _select(),
            ((2, 3, 1, 5),),
            "stream",
            {"block": 64, "single": True, "aligned": True},
            240,
            4 * (240 + 6 + 6 + 30),
            out_dtype="int32",
        ),
        _good(1, 1, 41, 1, topk=41, block=64, single=True, aligned=False),
        _good(1, 1, 200, 2, topk=129, block=256, single=False, aligned=False),
        _good(1, 1, 9000, 1, topk=8192, block=8192),
        Good(_select((1, 1, 9000, 1), (1, 1), (1, 1), 8193), ((1, 1, 1, 8193),), None, out_dtype="int32"),
    ],
    bad=[
        Bad("topk must lie in [1, S_kv]", _select(topk=0)),
        Bad("topk must lie in [1, S_kv]", _select(topk=-1)),
        Bad("topk must lie in [1, S_kv]", _select(topk=41)),
        Bad("index_score must have 4 dimensions", _select((2, 3, 40))),
        Bad("starts must have shape [B S]", _select(starts=(3, 3))),
        Bad("ends must have shape [B S]", _select(ends=(2, 4))),
        Bad("starts must have 2 dimensions", _select(starts=(2, 3, 1))),
        Bad("ends must have 2 dimensions", _select(ends=(6,))),
        Bad("index_score must be a torch.Tensor", _select(None)),
        Bad("starts must be a torch.Tensor", _select(starts=None)),
        Bad("ends must be a torch.Tensor", _select(ends=None)),
    ],
    dtypes={"index_score": {"float32"}, "starts": {"int32"}, "ends": {"int32"}},
    made={"starts": (0, 18), "ends": (150, 300)},
)

EXPECTED: dict[str, Expected] = {"TopkSelectorFwdOp": TOPK_SELECTOR}
