"""Every program lowers for the H200 without one, with the instructions that it claims."""

from __future__ import annotations

import pytest

from tests.conformance.plan import Call, calls_of, plan, verified
from tileops.compiled import DTYPE
from tileops.kernel import Kernel, Key
from tileops.runner import make_key, trace
from tileops.spec import OpSpec
from tileops.targets import hopper
from tileops.testing import case_facts

FLAGS = "tl.device_compile_flags"  # the pass configuration that holds nvcc's flags


def kernels(call: Call, names: list[str]) -> dict[Key, Kernel]:
    """The kernels of these implementations that serve a call on the H200."""
    facts = case_facts(call.spec, call.bound)
    keys = [make_key(call.spec, name, facts, "hopper") for name in names]
    return {key: trace(call.spec, key) for key in keys}


def narrow(call: Call) -> bool:
    """Whether rows of a tensor are not whole 16 bytes, so that a program may have nothing to claim."""
    shapes = {**call.bound.shapes, **call.bound.outputs}
    rows = [
        (shape[-1] if shape else 1, call.bound.dtypes[n]) for n, shape in shapes.items() if shape is not None
    ]
    return any(size * DTYPE[str(dtype)].itemsize % 16 for size, dtype in rows)


def test_programs_lower_with_what_they_claim(first_call: Call, all_rows: bool) -> None:
    if first_call.spec.name in verified() and not all_rows:
        return  # these very programs have passed on an H200, which shows more
    for call in calls_of(first_call.spec, all_rows):
        for key, kernel in kernels(call, call.implementations("hopper")).items():
            check_claims(call, key, kernel)


def check_claims(call: Call, key: Key, kernel: Kernel) -> None:
    assert kernel.claims or narrow(call), f"{key} claims no instruction"
    lowered = [hopper.lower(program, kernel.pass_configs) for program in kernel.programs]
    source = "\n".join(part.source for part in lowered)
    missing = [claim for claim in kernel.claims if claim not in source]
    assert not missing, f"{key}: the sm_90a source has no {missing}"
    for part in lowered:
        used = part.shared_memory
        assert used <= hopper.SHARED_MEMORY_LIMIT, f"{key}: {used} bytes of shared memory"


def representatives(spec: OpSpec) -> dict[Key, Kernel]:
    """One kernel of every implementation of an operator."""
    fresh = plan(spec.name, "hopper", False, False)
    return {k: v for call in calls_of(spec, False) for k, v in kernels(call, fresh[call.id]).items()}


@pytest.mark.nvcc
def test_nvcc_takes_programs_without_spills(first_call: Call) -> None:
    for key, kernel in representatives(first_call.spec).items():
        flags = kernel.pass_configs.get(FLAGS, [])
        for program in kernel.programs:
            for checked in hopper.check(hopper.lower(program, kernel.pass_configs).source, flags):
                assert checked.spill_bytes == 0, f"{key}: {checked}"
