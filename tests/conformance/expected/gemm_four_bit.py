"""Probes of the products with weights of four bits."""

from __future__ import annotations

from typing import Any

from tests.conformance.expected.probes import Bad, Expected, Good, Probe, Shape

W4 = {"packed_weight": "uint8", "weight_scale": "float32", "weight_zero": "uint8"}


def _w4(m: int, n: int, k: int, group: int = 128, /, **changed: Any) -> Probe:
    inputs: dict[str, Shape] = {"activation": (m, k), "packed_weight": (n, k // 2)}
    inputs["weight_scale"] = inputs["weight_zero"] = (n, k // group if group > 0 else 0)
    inputs |= {name: v for name, v in changed.items() if not isinstance(v, str)}
    dtypes = {**W4, **{name: v for name, v in changed.items() if isinstance(v, str)}}
    return Probe(inputs, {"group_size": group}, "float16", dtypes)


def _w4_good(m: int, n: int, k: int, group: int, implementation: str | None, **more: Any) -> Good:
    run = more.pop("run", False)
    return Good(_w4(m, n, k, group), ((m, n),), implementation, {"group_size": group, **more}, run=run)


W4A16 = Expected(
    good=[
        Good(
            _w4(16, 48, 256),
            ((16, 48),),
            "few",
            {"group_size": 128, "tile": "16"},
            2 * 16 * 48 * 256,
            2 * 16 * 256 + 48 * 128 + 48 * 2 * 5 + 2 * 16 * 48,
        ),
        _w4_good(1, 48, 256, 128, "gemv"),
        _w4_good(1, 44, 256, 32, "gemv"),
        _w4_good(1, 44, 256, 16, "general"),
        _w4_good(2, 48, 256, 64, "few", tile="16"),
        _w4_good(17, 48, 256, 64, "few", tile="32"),
        _w4_good(32, 48, 256, 64, "few", tile="32"),
        _w4_good(33, 48, 256, 64, "few", tile="64"),
        _w4_good(64, 48, 256, 128, "few", tile="64"),
        _w4_good(65, 48, 256, 128, "many", run=True),
        _w4_good(16, 48, 256, 16, "general"),
        _w4_good(65, 48, 256, 16, "general"),
        _w4_good(16, 44, 256, 128, "general"),
        _w4_good(65, 44, 256, 128, "general"),
        _w4_good(1048560, 4, 32, 16, "general"),
        _w4_good(1048561, 4, 32, 16, None),
        _w4_good(8388480, 8, 32, 32, "many"),
        _w4_good(8388481, 8, 32, 32, None),
    ],
    bad=[
        Bad("group_size must be positive", _w4(16, 48, 0, -1)),
        Bad("K must be even and a multiple of group_size", _w4(16, 48, 200)),
        Bad("K must be even and a multiple of group_size", _w4(16, 48, 9, 3)),
        Bad("packed_weight must have shape", _w4(16, 48, 256, packed_weight=(48, 256))),
        Bad("weight_scale must have shape", _w4(16, 48, 256, weight_scale=(48, 4))),
        Bad("weight_scale must have shape", _w4(16, 48, 256, weight_scale=(47, 2))),
        Bad("weight_zero must have shape", _w4(16, 48, 256, weight_zero=(48, 4))),
        Bad("weight_zero must have shape", _w4(16, 48, 256, weight_zero=(47, 2))),
        Bad("activation must have 2 dimensions", _w4(16, 48, 256, activation=(256,))),
        Bad("packed_weight must have dtype", _w4(16, 48, 256, packed_weight="int8")),
        Bad("weight_scale must have dtype", _w4(16, 48, 256, weight_scale="float16")),
        Bad("weight_zero must have dtype", _w4(16, 48, 256, weight_zero="int8")),
        *(Bad(f"{name} must be a torch.Tensor", _w4(16, 48, 256, **{name: None})) for name in W4),
        Bad("activation must be a torch.Tensor", _w4(16, 48, 256, activation=None)),
    ],
    dtypes={"activation": {"float16"}, **{name: {dtype} for name, dtype in W4.items()}},
    made={"packed_weight": (1, 254), "weight_zero": (0, 15)},
)

EXPECTED: dict[str, Expected] = {
    "GemmW4A16FwdOp": W4A16,
}
