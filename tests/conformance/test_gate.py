"""Every program lowers for the H200 without one, with the instructions that it claims."""

from __future__ import annotations

from typing import Any

import pytest
import tilelang.language as T
import tvm
from tvm import tirx
from tvm.tirx.stmt_functor import post_order_visit

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
    wraps = [text for program in kernel.programs for text in wrapping_sums(program)]
    assert not wraps, f"{key}: CUDA has no signed sums that wrap, as that of {wraps}"
    missing = [claim for claim in kernel.claims if claim not in source]
    assert not missing, f"{key}: the sm_90a source has no {missing}"
    for part in lowered:
        used = part.shared_memory
        assert used <= hopper.SHARED_MEMORY_LIMIT, f"{key}: {used} bytes of shared memory"


def wrapping_sums(program: Any) -> list[str]:
    """Signed sums and products of bits that can leave their dtype: nvcc takes it that they do not.

    g++ is told that they wrap, so on a CPU such a program is right.
    """
    analyzer, found = tvm.arith.Analyzer(), []

    def visit(node: Any) -> None:
        if not isinstance(node, tirx.Add | tirx.Sub | tirx.Mul) or str(node.dtype) not in ("int32", "int64"):
            return
        most = (1 << (int(str(node.dtype)[3:]) - 1)) - 1
        bits = any(isinstance(x, tirx.Call) and "bitwise" in str(x.op) for x in (node.a, node.b))
        known = [analyzer.const_int_bound(x) for x in (node.a, node.b, node)]
        anything = any(x.min_value <= -most and x.max_value >= most for x in known[:2])
        if bits and not anything and (known[2].max_value > most or known[2].min_value < -most - 1):
            found.append(str(node))

    post_order_visit(program.body, visit)
    return found


def test_a_sum_that_fills_the_sign_bit_is_found() -> None:
    @T.prim_func
    def main(X: T.Tensor((1,), "int32"), low: T.int32):
        with T.Kernel(1, threads=32):
            X[0] = T.bitwise_and(low, 0x7FFFFFFF) + 0x7FFFFFFF
            X[0] = T.bitwise_and(low, 0x7FFF) + 0x7FFF

    assert len(wrapping_sums(main)) == 1


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
