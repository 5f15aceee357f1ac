"""Threads: their order, which a sequential block does not need, and their identity, which it lacks."""

from typing import Any

from .._tilelang import pre_order_visit, tirx
from ..errors import UnsupportedOnCpu

__all__ = ["NOOPS", "only_prints", "refuse_thread_code"]

# Statements that order threads or steer the scheduler.
NOOPS = frozenset({
    "tirx.tvm_storage_sync", "tl.sync_warp", "tl.fence_proxy_async", "tl.set_max_nreg",
    "tl.no_set_max_nreg", "tl.annotate_producer_reg_dealloc", "tl.annotate_consumer_reg_alloc",
    "tl.wait_wgmma", "tl.warpgroup_arrive", "tl.warpgroup_commit_batch", "tl.warpgroup_wait",
    "tl.warpgroup_fence_operand", "tl.pdl_trigger", "tl.pdl_sync", "tl.tma_store_arrive",
    "tl.tma_store_wait", "tirx.ptx_commit_group", "tirx.ptx_wait_group",
    "tl.mbarrier_wait_parity", "tl.mbarrier_expect_tx", "tirx.ptx_arrive_barrier",
    "tirx.ptx_arrive_barrier_expect_tx", "tl.ptx_fence_barrier_init",
})  # fmt: skip
_THREAD_OPS = (
    "shfl", "warp_reduce", "_sync", "syncthreads", "lane_idx", "warp_idx", "warp_group_idx", "cluster",
    "rng_", "sync_grid",
)  # fmt: skip


def only_prints(stmt: Any) -> bool:
    """True for what ``T.print`` expands to, which picks one thread to speak."""
    if isinstance(stmt, tirx.IfThenElse):
        return stmt.else_case is None and only_prints(stmt.then_case)
    if isinstance(stmt, tirx.For):
        return only_prints(stmt.body)
    if isinstance(stmt, tirx.SeqStmt):
        speaks = [s for s in stmt if not isinstance(s, tirx.Bind)]
        return bool(speaks) and all(only_prints(s) for s in speaks)
    call = stmt.value if isinstance(stmt, tirx.Evaluate) else None
    if not isinstance(call, tirx.Call) or getattr(call.op, "name", "") != "tirx.call_extern":
        return False
    return "debug_print" in str(call.args[0])


def refuse_thread_code(func: Any) -> None:
    """Raise when the meaning of the program depends on which thread executes it."""
    thread_vars: list[Any] = []
    found: list[str] = []  # an exception would lose its type on the way through the visitor

    def visit(node: Any) -> bool:
        if isinstance(node, tirx.Bind) and "launch_thread_idx" in str(getattr(node.value, "op", "")):
            thread_vars.append(node.var)
            return False
        if isinstance(node, tirx.Var) and any(node.same_as(v) for v in thread_vars):
            found.append("the program reads the thread index (T.get_thread_binding, T.ws or SIMT code)")
        if (
            isinstance(node, tirx.For)
            and node.thread_binding is not None
            and "threadIdx" in str(node.thread_binding.thread_tag)
        ):
            found.append("the program binds a loop to threadIdx")
        if isinstance(node, tirx.IfThenElse) and only_prints(node):
            return False
        name = str(getattr(node.op, "name", "")) if isinstance(node, tirx.Call) else ""
        if name not in NOOPS and any(s in name for s in _THREAD_OPS):
            found.append(f"{name} works on threads of a warp, block or cluster")
        return True

    pre_order_visit(func.body, visit)
    if found:
        raise UnsupportedOnCpu(found[0])
