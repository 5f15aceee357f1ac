"""Rewrite a traced GPU program into one that TileLang's C backend accepts.

* on-chip buffers (shared, fragment, reducer) become plain local arrays;
* sums that reducers make in float32 are float64 until they are read;
* parallel, vectorized and unrolled loops become serial loops;
* tile operators become loops (``tile_ops``), scalar operators become C (``scalar_ops``);
* barriers, fences and scheduling hints disappear: a block runs as one sequential thread (``threads``);
* float16, bfloat16 and float8 are stored as integers of their width and computed in float32, with the
  rounding (and, for float8, the saturation) of the GPU's conversion at every store, cast and operation
  (``narrow``).
"""

from typing import Any, NoReturn

from .._tilelang import Op, PointerType, PrimType, tirx
from ..errors import UnsupportedOnCpu
from .narrow import NARROW, decode, encode, exact, round_to, storage, wide
from .scalar_ops import SCALAR_OPS, combine
from .threads import NOOPS, only_prints, refuse_thread_code
from .tile_ops import EXPANDERS

__all__ = ["lower_for_cpu"]

_DROP_ATTRS = {"threadblock_swizzle_pattern", "tl.min_blocks_per_sm", "tl.ws_pipeline_depth", "tl.ws_op_id"}
_KEEP_BLOCK_ATTRS = {"tl.launch_threads", "safe_value_map", "tl.non_restrict_params", "pragma_import_c"}


@tirx.functor.mutator
class Rewriter(tirx.PyStmtExprMutator):
    """On-chip buffers to local arrays, loops to serial, narrow types to integers, tile operators to loops."""

    def __init__(self) -> None:
        super().__init__()
        self.buffers: dict[tirx.Buffer, tirx.Buffer] = {}
        self.vars: dict[tirx.Var, tirx.Var] = {}
        self.reducers: dict[tirx.Var, str] = {}
        self.staging: list[tirx.Buffer] = []  # buffers to allocate in the enclosing block
        self.refused = ""

    def refuse(self, why: str) -> NoReturn:
        """Give up on the program."""
        self.refused = why  # the exception itself loses its type on the way through the visitor
        raise UnsupportedOnCpu(why)

    # -- buffers and variables
    def element(self, data: tirx.Var, dtype: Any) -> str:
        """Type of the array elements of a buffer: float64 for sums that reducers make in float32.

        One thread adds here, one by one, what on the GPU many threads add in a tree, which loses less.
        """
        return "float64" if self.reducers.get(data) == "sum" and str(dtype) == "float32" else storage(dtype)

    def dtype(self, b: tirx.Buffer) -> str:
        """Type of the values of a buffer."""
        return "float64" if self.element(b.data, b.dtype) == "float64" else str(b.dtype)

    def var(self, v: tirx.Var) -> tirx.Var:
        """The variable that replaces ``v``: a narrow scalar is wide, a pointer points to the storage type."""
        if v not in self.vars:
            new, ann = v, v.type_annotation
            if isinstance(ann, PointerType) and isinstance(ann.element_type, PrimType):
                dtype, scope = str(ann.element_type.dtype), ann.storage_scope
                on_chip = scope.startswith("shared") or scope in ("local.fragment", "local.reducer")
                element, local = self.element(v, dtype), "local" if on_chip else scope
                if (element, local) != (dtype, scope):
                    new = tirx.Var(v.name, PointerType(PrimType(element), local))
            elif str(v.dtype) != wide(v.dtype):
                new = tirx.Var(v.name, wide(v.dtype))
            self.vars[v] = new
        return self.vars[v]

    def map(self, b: tirx.Buffer) -> tirx.Buffer:
        """The buffer that replaces ``b``."""
        if b in self.buffers:
            return self.buffers[b]
        data, element = self.var(b.data), self.element(b.data, b.dtype)
        shape, strides = [self.visit_expr(s) for s in b.shape], [self.visit_expr(s) for s in b.strides]
        if not data.same_as(b.data) or element != b.dtype:
            scope = data.type_annotation.storage_scope
            options = {"data": data, "strides": strides, "elem_offset": b.elem_offset, "scope": scope}
            self.buffers[b] = tirx.decl_buffer(shape, element, b.name, **options)
        return self.buffers.setdefault(b, b)

    def raw(self, load: tirx.BufferLoad) -> tirx.BufferLoad:
        """The stored integer, or the place itself when it is only named (regions, pointers)."""
        return tirx.BufferLoad(self.map(load.buffer), [self.visit_expr(i) for i in load.indices])

    def visit_var_(self, op: tirx.Var) -> tirx.PrimExpr:
        return self.var(op)

    def visit_bind_(self, op: tirx.Bind) -> tirx.Stmt:
        return tirx.Bind(self.var(op.var), self.visit_expr(op.value))

    def visit_buffer_load_(self, op: tirx.BufferLoad) -> tirx.PrimExpr:
        return decode(self.raw(op), op.buffer.dtype)

    def visit_buffer_store_(self, op: tirx.BufferStore) -> tirx.Stmt:
        value = encode(self.visit_expr(op.value), op.buffer.dtype)
        return tirx.BufferStore(self.map(op.buffer), value, [self.visit_expr(i) for i in op.indices])

    def visit_decl_buffer_(self, op: tirx.DeclBuffer) -> tirx.Stmt:
        return tirx.DeclBuffer(self.map(op.buffer))

    def visit_alloc_buffer_(self, op: tirx.AllocBuffer) -> tirx.Stmt:
        return tirx.AllocBuffer(self.map(op.buffer))

    def visit_sblock_(self, op: tirx.SBlock) -> tirx.Stmt:
        if "reducer_info" in op.annotations:
            self.refuse("T.alloc_reducer(replication=...) is deprecated; drop the argument")
        for data, info in op.annotations.get("reducer_info_v2", {}).items():
            self.reducers[data] = str(info["op"])
        alloc = [self.map(b) for b in op.alloc_buffers if b.scope() != "shared.barrier"]
        outer, self.staging = self.staging, []
        body = self.visit_stmt(op.body)
        alloc, self.staging = alloc + self.staging, outer
        match = [
            tirx.MatchBufferRegion(
                self.map(m.buffer), tirx.BufferRegion(self.map(m.source.buffer), m.source.region)
            )
            for m in op.match_buffers
        ]
        keep = {k: v for k, v in op.annotations.items() if k in _KEEP_BLOCK_ATTRS}
        if "safe_value_map" in keep:
            keep["safe_value_map"] = {
                self.var(k): encode(self.visit_expr(v), k.type_annotation.element_type.dtype)
                for k, v in keep["safe_value_map"].items()
            }
        return tirx.SBlock(op.iter_vars, [], [], op.name_hint, body, op.init, alloc, match, keep)

    # -- control flow
    def visit_for_(self, op: tirx.For) -> tirx.Stmt:
        args = (op.loop_var, self.visit_expr(op.min), self.visit_expr(op.extent))
        body = self.visit_stmt(op.body)
        if op.kind == tirx.ForKind.THREAD_BINDING:
            return tirx.For(*args, op.kind, body, op.thread_binding, op.annotations)
        return tirx.For(*args, tirx.ForKind.SERIAL, body, step=op.step)

    def visit_if_then_else_(self, op: tirx.IfThenElse) -> tirx.Stmt:
        if only_prints(op):
            return tirx.Evaluate(0)
        otherwise = self.visit_stmt(op.else_case) if op.else_case is not None else None
        return tirx.IfThenElse(self.visit_expr(op.condition), self.visit_stmt(op.then_case), otherwise)

    def visit_attr_stmt_(self, op: tirx.AttrStmt) -> tirx.Stmt:
        if op.attr_key in _DROP_ATTRS:
            return self.visit_stmt(op.body)
        return tirx.AttrStmt(op.node, op.attr_key, self.visit_expr(op.value), self.visit_stmt(op.body))

    # -- expressions of narrow type
    def visit_cast_(self, op: tirx.Cast) -> tirx.PrimExpr:
        return round_to(self.visit_expr(op.value), op.dtype)

    def visit_float_imm_(self, op: tirx.FloatImm) -> tirx.PrimExpr:
        return exact(float(op.value), wide(op.dtype))

    def visit_add_(self, op: tirx.Add) -> tirx.PrimExpr:
        return round_to(self.visit_expr(op.a) + self.visit_expr(op.b), op.dtype)

    def visit_sub_(self, op: tirx.Sub) -> tirx.PrimExpr:
        return round_to(self.visit_expr(op.a) - self.visit_expr(op.b), op.dtype)

    def visit_mul_(self, op: tirx.Mul) -> tirx.PrimExpr:
        return round_to(self.visit_expr(op.a) * self.visit_expr(op.b), op.dtype)

    def visit_div_(self, op: tirx.Div) -> tirx.PrimExpr:
        return round_to(tirx.Div(self.visit_expr(op.a), self.visit_expr(op.b)), op.dtype)

    def visit_max_(self, op: tirx.Max) -> tirx.PrimExpr:
        return combine("max", self.visit_expr(op.a), self.visit_expr(op.b))

    def visit_min_(self, op: tirx.Min) -> tirx.PrimExpr:
        return combine("min", self.visit_expr(op.a), self.visit_expr(op.b))

    def visit_call_(self, op: tirx.Call) -> tirx.PrimExpr:
        name = op.op.name if isinstance(op.op, Op) else ""
        if name == "tirx.reinterpret":
            return self._reinterpret(op)
        if name in SCALAR_OPS:
            return round_to(SCALAR_OPS[name](*(self._argument(a) for a in op.args)), op.dtype)
        if name in ("tl.any_of", "tl.all_of"):
            return self._any_all(op)
        if name == "tl.atomic_load_elem_op":
            return self.visit_expr(op.args[0].args[0])
        if name.startswith("tl.atomic_") and str(op.args[0].args[0].buffer.dtype) in NARROW:
            self.refuse(f"{name} on {op.args[0].args[0].buffer.dtype}")
        place = name in ("tl.region", "tl.access_ptr", "tirx.address_of")
        args = [
            self.raw(a) if place and isinstance(a, tirx.BufferLoad) else self._argument(a) for a in op.args
        ]
        call = tirx.Call(wide(op.dtype), op.op, args)
        return call if name in ("tirx.if_then_else", "tl.infinity") else round_to(call, op.dtype)

    def _argument(self, arg: Any) -> Any:
        return self.visit_expr(arg) if isinstance(arg, tirx.PrimExpr) else arg

    def _any_all(self, op: tirx.Call) -> tirx.PrimExpr:
        load = op.args[0].args[0]
        if load.buffer.dtype != "bool":
            self.refuse(f"{op.op.name} over {load.buffer.dtype}; use a bool buffer")
        name, place = op.op.name.replace("tl.", "tl_"), tirx.address_of(self.raw(load))
        return tirx.call_pure_extern("bool", name, place, self.visit_expr(op.args[1]))

    def _reinterpret(self, op: tirx.Call) -> tirx.PrimExpr:
        bits = encode(self.visit_expr(op.args[0]), op.args[0].dtype)
        element = storage(op.dtype)
        return decode(bits if bits.dtype == element else tirx.reinterpret(element, bits), op.dtype)

    # -- statements that are operators
    def visit_evaluate_(self, op: tirx.Evaluate) -> tirx.Stmt:
        call = op.value
        name = call.op.name if isinstance(call, tirx.Call) and isinstance(call.op, Op) else ""
        if name in NOOPS or only_prints(op):
            return tirx.Evaluate(0)
        expand = EXPANDERS.get(name)
        return expand(self, call) if expand else tirx.Evaluate(self.visit_expr(call))


def lower_for_cpu(func: Any) -> Any:
    """Rewrite a traced TileLang GPU program into one that TileLang's C backend accepts."""
    refuse_thread_code(func)
    rewriter = Rewriter()
    buffer_map = {p: rewriter.map(b) for p, b in func.buffer_map.items()}
    params = [p if p in buffer_map else rewriter.var(p) for p in func.params]
    try:
        body = rewriter.visit_stmt(func.body)
    except Exception:
        if rewriter.refused:
            raise UnsupportedOnCpu(rewriter.refused) from None
        raise
    return tirx.PrimFunc(params, body, func.ret_type, buffer_map, func.attrs)
