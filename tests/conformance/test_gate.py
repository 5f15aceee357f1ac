"""Every program lowers for the H200 without one, with the instructions that it claims."""

from __future__ import annotations

import pytest

from tests.conformance.plan import Call
from tileops.compiled import compile_spec
from tileops.kernel import Kernel, Key
from tileops.runner import make_key, trace
from tileops.targets import hopper
from tileops.testing import make_meta


def kernels(call: Call) -> dict[Key, Kernel]:
    """The kernels that serve a call on the H200."""
    values = [call.params[name] for name in call.spec.params]
    facts = compile_spec(call.spec.name).facts(*make_meta(call.spec, call.bound), *values)
    keys = [make_key(call.spec, name, facts, "hopper") for name in call.implementations("hopper")]
    return {key: trace(call.spec, key) for key in keys}


def test_programs_lower_with_what_they_claim(call: Call) -> None:
    for key, kernel in kernels(call).items():
        lowered = [hopper.lower(program, kernel.pass_configs) for program in kernel.programs]
        source = "\n".join(part.source for part in lowered)
        missing = [claim for claim in kernel.claims if claim not in source]
        assert not missing, f"{key}: the sm_90a source has no {missing}"
        for part in lowered:
            assert part.shared_memory <= hopper.SHARED_MEMORY_LIMIT, (
                f"{key}: {part.shared_memory} bytes of shared memory"
            )


@pytest.mark.nvcc
def test_nvcc_takes_programs_without_spills(first_call: Call) -> None:
    for key, kernel in kernels(first_call).items():
        for program in kernel.programs:
            for checked in hopper.check(hopper.lower(program, kernel.pass_configs).source):
                assert checked.spill_bytes == 0, f"{key}: {checked}"
