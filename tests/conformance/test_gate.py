"""Every program lowers for the H200 without one, with the instructions that it claims."""

from __future__ import annotations

import pytest

from tests.conformance.plan import Call, calls_of
from tileops.compiled import DTYPE, compile_spec
from tileops.kernel import Kernel, Key
from tileops.runner import make_key, trace
from tileops.targets import hopper
from tileops.testing import make_meta

FLAGS = "tl.device_compile_flags"  # the pass configuration that holds nvcc's flags


def kernels(call: Call, only: list[str] | None = None) -> dict[Key, Kernel]:
    """The kernels that serve a call on the H200."""
    values = [call.params[name] for name in call.spec.params]
    facts = compile_spec(call.spec.name).facts(*make_meta(call.spec, call.bound), *values)
    names = call.implementations("hopper") if only is None else only
    keys = [make_key(call.spec, name, facts, "hopper") for name in names]
    return {key: trace(call.spec, key) for key in keys}


def narrow(call: Call) -> bool:
    """Whether rows of a tensor are not whole 16 bytes, so that a program may have nothing to claim."""
    shapes = {**call.bound.shapes, **call.bound.outputs}
    rows = [
        (shape[-1] if shape else 1, call.bound.dtypes[n]) for n, shape in shapes.items() if shape is not None
    ]
    return any(size * DTYPE[str(dtype)].itemsize % 16 for size, dtype in rows)


def test_programs_lower_with_what_they_claim(call: Call) -> None:
    for key, kernel in kernels(call).items():
        assert kernel.claims or narrow(call), f"{key} claims no instruction"
        lowered = [hopper.lower(program, kernel.pass_configs) for program in kernel.programs]
        source = "\n".join(part.source for part in lowered)
        missing = [claim for claim in kernel.claims if claim not in source]
        assert not missing, f"{key}: the sm_90a source has no {missing}"
        for part in lowered:
            assert part.shared_memory <= hopper.SHARED_MEMORY_LIMIT, (
                f"{key}: {part.shared_memory} bytes of shared memory"
            )


def representatives(first: Call) -> dict[Key, Kernel]:
    """The kernels of an operator's first call, and one of each implementation that it does not reach."""
    found = kernels(first)
    reached = {key.implementation for key in found}
    for call in calls_of(first.spec, False):
        fresh = [name for name in call.implementations("hopper") if name not in reached]
        found |= kernels(call, fresh)
        reached.update(fresh)
    assert reached == set(first.spec.implementations)
    return found


@pytest.mark.nvcc
def test_nvcc_takes_programs_without_spills(first_call: Call) -> None:
    for key, kernel in representatives(first_call).items():
        flags = kernel.pass_configs.get(FLAGS, [])
        for program in kernel.programs:
            for checked in hopper.check(hopper.lower(program, kernel.pass_configs).source, flags):
                assert checked.spill_bytes == 0, f"{key}: {checked}"
