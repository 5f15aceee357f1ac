"""Tile operators as loops: those whose CPU lowering in TileLang is missing or partial."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .._tilelang import Op, tirx
from .narrow import cast, decode, encode, wide
from .scalar_ops import combine, identity

if TYPE_CHECKING:
    from .rewrite import Rewriter

__all__ = ["EXPANDERS"]


class Region:
    """A tile operand ``T.region(buffer[mins], access, extents...)`` over the rewritten buffer."""

    def __init__(self, rewriter: "Rewriter", call: Any):
        load = call.args[0]
        self.buffer, self.dtype = rewriter.map(load.buffer), rewriter.dtype(load.buffer)
        self.mins = [rewriter.visit_expr(i) for i in load.indices]
        self.extents = [rewriter.visit_expr(e) for e in call.args[2:]]

    def at(self, index: Sequence[Any]) -> list[Any]:
        """Absolute position of ``index``, which counts the trailing dimensions of the region."""
        pad = len(self.mins) - len(index)
        return self.mins[:pad] + [m + i for m, i in zip(self.mins[pad:], index, strict=True)]

    def dense(self, index: Sequence[Any]) -> list[Any]:
        """``index`` over the non-unit dimensions, padded with zeros for the unit ones."""
        left = iter(index)
        return [0 if _is_one(e) else next(left) for e in self.extents]

    def load(self, index: Sequence[Any]) -> Any:
        return decode(tirx.BufferLoad(self.buffer, self.at(index)), self.dtype)

    def store(self, value: Any, index: Sequence[Any]) -> Any:
        return tirx.BufferStore(self.buffer, encode(value, self.dtype), self.at(index))


def _is_one(extent: Any) -> bool:
    return isinstance(extent, tirx.IntImm) and extent.value == 1


def _when(cond: Any, stmt: Any) -> list[Any]:
    """``[if cond: stmt]``, resolved when the condition is a constant."""
    if isinstance(cond, tirx.IntImm):
        return [stmt] if cond.value else []
    return [tirx.IfThenElse(cond.astype("bool"), stmt, None)]


def _nest(extents: Sequence[Any], body: Callable[[list[Any]], Any]) -> Any:
    """A serial loop nest over ``extents`` around ``body(loop variables)``."""
    loop_vars = [tirx.Var(f"i{n}", "int32") for n in range(len(extents))]
    stmt = body(loop_vars)
    for var, extent in zip(reversed(loop_vars), reversed(list(extents)), strict=True):
        stmt = tirx.For(var, 0, extent, tirx.ForKind.SERIAL, stmt)
    return stmt


def _copy(rw: "Rewriter", call: Any) -> Any:
    src, dst = Region(rw, call.args[0]), Region(rw, call.args[1])
    if src.dtype == dst.dtype:  # TileLang's own lowering; asynchronous variants complete at once
        args = [rw.visit_expr(a) for a in call.args[:2]]
        return tirx.Evaluate(tirx.call_intrin("handle", Op.get("tl.tileop.copy"), *args))
    extents = [e for e in dst.extents if not _is_one(e)]
    return _nest(extents, lambda v: dst.store(src.load(src.dense(v)), dst.dense(v)))


def _fill(rw: "Rewriter", call: Any) -> Any:
    dst, value = Region(rw, call.args[0]), rw.visit_expr(call.args[1])
    return _nest(dst.extents, lambda v: dst.store(value, v))


def _gemm(rw: "Rewriter", call: Any) -> Any:
    a, b, c = (Region(rw, x) for x in call.args[:3])
    trans_a, trans_b, m, n, k = (int(x) for x in call.args[3:8])
    dtype = wide(c.dtype)
    # Operands are staged once, B as [k, n], so that the inner loop is a unit-stride axpy.
    stage_a = tirx.decl_buffer((m, k), dtype, "gemm_a", scope="local")
    stage_b = tirx.decl_buffer((k, n), dtype, "gemm_b", scope="local")
    rw.staging += [stage_a, stage_b]

    def step(v: list[Any]) -> Any:
        product = tirx.BufferLoad(stage_a, [v[0], v[1]]) * tirx.BufferLoad(stage_b, [v[1], v[2]])
        return c.store(c.load((v[0], v[2])) + product, (v[0], v[2]))

    def stage(to: Any, source: Region, transposed: bool) -> Callable[[list[Any]], Any]:
        return lambda v: tirx.BufferStore(to, cast(source.load(v[::-1] if transposed else v), dtype), v)

    clear = _nest((m, n), lambda v: c.store(tirx.const(0, dtype), v))
    return tirx.SeqStmt([
        *_when(rw.visit_expr(call.args[9]), clear),
        _nest((m, k), stage(stage_a, a, bool(trans_a))),
        _nest((k, n), stage(stage_b, b, bool(trans_b))),
        _nest((m, k, n), step),
    ])  # fmt: skip


def _reduce(rw: "Rewriter", call: Any) -> Any:
    src, dst = Region(rw, call.args[0]), Region(rw, call.args[1])
    kind, dim = str(call.args[2].value), int(call.args[3])
    if kind in ("max", "min", "absmax") and int(call.annotations.get("nan_propagate", 0)):
        kind += "_nan"
    keepdim = len(dst.extents) == len(src.extents)

    def body(v: list[Any]) -> Any:
        at, r = ([*v[:dim], 0, *v[dim:]] if keepdim else v or [0]), tirx.Var("r", "int32")
        step = dst.store(combine(kind, dst.load(at), src.load([*v[:dim], r, *v[dim:]])), at)
        loop = tirx.For(r, 0, src.extents[dim], tirx.ForKind.SERIAL, step)
        init = _when(rw.visit_expr(call.args[4]), dst.store(identity(kind, wide(dst.dtype)), at))
        return tirx.SeqStmt([*init, loop]) if init else loop

    return _nest([e for n, e in enumerate(src.extents) if n != dim], body)


def _scan(rw: "Rewriter", call: Any, kind: str) -> Any:
    src, dst = Region(rw, call.args[0]), Region(rw, call.args[1])
    dim, reverse = int(call.args[2]), bool(call.args[3])

    def body(v: list[Any]) -> Any:
        def at(pos: Any) -> list[Any]:
            return [*v[:dim], src.extents[dim] - 1 - pos if reverse else pos, *v[dim + 1 :]]

        now, before = at(v[dim]), at(v[dim] - 1)
        step = dst.store(combine(kind, dst.load(before), src.load(now)), now)
        return tirx.IfThenElse(v[dim] == 0, dst.store(src.load(now), now), step)

    return _nest(src.extents, body)


def _reducer_init(rw: "Rewriter", call: Any) -> Any:
    acc, kind = Region(rw, call.args[0]), rw.reducers[call.args[0].args[0].buffer.data]
    value = rw.visit_expr(call.args[1]) if len(call.args) > 1 else identity(kind, wide(acc.dtype))
    return _nest(acc.extents, lambda v: acc.store(value, v))


def _update(rw: "Rewriter", call: Any, kind: str) -> Any:
    """``place = place (kind) value``: reducer updates and scalar atomics."""
    place = call.args[0] if isinstance(call.args[0], tirx.BufferLoad) else call.args[0].args[0]
    dtype, value = rw.dtype(place.buffer), cast(rw.visit_expr(call.args[1]), rw.dtype(place.buffer))
    old = decode(rw.raw(place), dtype)
    new = value if kind == "store" else combine(kind, old, value)
    return tirx.BufferStore(rw.map(place.buffer), encode(new, dtype), list(rw.raw(place).indices))


def _update_many(rw: "Rewriter", call: Any, count: int) -> Any:
    """Vector atomics: one update for each of the ``count`` elements."""
    dst = call.args[0].args[0]
    src = call.args[1].args[0] if isinstance(call.args[1], tirx.Call) else call.args[1]
    if not isinstance(src, tirx.BufferLoad):
        rw.refuse("vector atomics need a buffer element as the value")

    def at(load: Any, n: int) -> Any:
        return tirx.BufferLoad(load.buffer, [*load.indices[:-1], load.indices[-1] + n])

    def one(n: int) -> Any:
        place = tirx.call_intrin("handle", call.args[0].op, at(dst, n))
        return tirx.call_intrin("handle", call.op, place, at(src, n))

    return tirx.SeqStmt([_update(rw, one(n), "sum") for n in range(count)])


def _atomic_tile(rw: "Rewriter", call: Any, kind: str) -> Any:
    src, dst = Region(rw, call.args[0]), Region(rw, call.args[1])
    extents = [e for e in dst.extents if not _is_one(e)]

    def body(v: list[Any]) -> Any:
        at = dst.dense(v)
        return dst.store(combine(kind, dst.load(at), src.load(src.dense(v))), at)

    return _nest(extents, body)


def _check(rw: "Rewriter", call: Any) -> Any:
    return tirx.Evaluate(tirx.call_extern("int32", "tl_check", rw.visit_expr(call.args[0])))


def _with(expand: Callable[..., Any], *more: Any) -> Callable[["Rewriter", Any], Any]:
    return lambda rw, call: expand(rw, call, *more)


_ATOMIC = {"add": "sum", "max": "max", "min": "min", "or": "bitor", "store": "store"}
EXPANDERS: dict[str, Callable[["Rewriter", Any], Any]] = {
    **{f"tl.tileop.{n}": _copy for n in ("copy", "async_copy", "tma_copy", "finalize_reducer_v2")},
    **{f"tl.tileop.{n}": _gemm for n in ("gemm", "wgmma_gemm")},
    "tl.tileop.fill": _fill,
    "tl.tileop.reduce": _reduce,
    "tl.tileop.cumsum": _with(_scan, "sum"),
    "tl.tileop.cummax": _with(_scan, "max"),
    "tl.tileop.reducer_init": _reducer_init,
    "tl.reducer_update": lambda rw, call: _update(rw, call, rw.reducers[call.args[0].buffer.data]),
    **{f"tl.atomic_{n}_elem_op": _with(_update, kind) for n, kind in _ATOMIC.items()},
    **{f"tl.atomic_addx{n}_elem_op": _with(_update_many, n) for n in (2, 4)},
    **{f"tl.tileop.atomic{n}": _with(_atomic_tile, _ATOMIC[n]) for n in ("add", "max", "min")},
    "tl.loop_break": lambda rw, call: tirx.Evaluate(tirx.break_loop()),
    "tl.device_assert": _check,
    "tl.device_assert_with_msg": _check,
}
