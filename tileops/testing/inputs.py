"""What a case of the manifest needs to be called: operator, params, tensors, oracle."""

from __future__ import annotations

import ast
import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from tileops import ops
from tileops.compiled import DTYPE, compile_spec
from tileops.op import Op
from tileops.params import normalize
from tileops.spec import BoundCase, OpSpec
from tileops.spec.expressions import Expression

__all__ = [
    "Bound",
    "bound_operator",
    "case_facts",
    "case_params",
    "laid_out",
    "make_inputs",
    "make_meta",
    "operator",
    "oracle",
    "results",
]


def operator(spec: OpSpec) -> type[Op]:
    """The class of an operator."""
    cls: type[Op] = getattr(ops, spec.name)
    return cls


def case_params(spec: OpSpec, case: BoundCase) -> dict[str, Any]:
    """Params and numbers of a case as a call takes them: dtypes are torch's."""
    dtyped = {name for name, param in spec.params.items() if "dtype" in param.type}
    return {n: DTYPE[v] if n in dtyped and v is not None else v for n, v in case.params.items()}


def case_facts(spec: OpSpec, case: BoundCase) -> dict[str, Any]:
    """What a call of the case finds, from tensors without memory: to choose a kernel, and for costs."""
    values = normalize(spec, case_params(spec, case).values())
    tensors: list[Any] = [*make_meta(spec, case)] or [torch.device("meta")]
    facts: dict[str, Any] = compile_spec(spec.name).facts(*tensors, *values)
    return facts


class Bound:
    """An operator with what a call takes beside tensors: numbers, or the device where no tensor comes in."""

    def __init__(self, op: Op, others: dict[str, Any]) -> None:
        self.op, self.others = op, others

    def __call__(self, *tensors: Tensor | None) -> Any:
        """Call it."""
        return self.op(*tensors, **self.others)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.op, name)
        return functools.partial(found, **self.others) if name in ("build", "explain", "validate") else found


def bound_operator(
    spec: OpSpec,
    params: Mapping[str, Any],
    *,
    device: str | None = None,
    target: str | None = None,
    implementation: str | None = None,
) -> Bound:
    """The operator for `case_params`, called with tensors only."""
    own = {name: value for name, value in params.items() if name not in spec.call}
    others = {name: params[name] for name in spec.call} | ({} if spec.inputs else {"device": device})
    return Bound(operator(spec)(**own, target=target, implementation=implementation), others)


def results(op: Callable[..., Any], spec: OpSpec, tensors: Sequence[Tensor | None]) -> dict[str, Tensor]:
    """What a call returns, and then what it leaves in the tensors that it may write, by name.

    `tensors` stay as they are: a call that may write gets copies. An oracle returns the same, in this order.
    """
    slots = dict(zip(spec.inputs, tensors, strict=True))
    slots |= {n: _copied(t) for n, t in slots.items() if spec.inputs[n].mutated and t is not None}
    made = op(*slots.values())
    out = dict(zip(spec.returned, (made,) if isinstance(made, Tensor) else made, strict=True))
    aliases = {output.alias for output in spec.outputs.values()}
    written = {n: t for n, t in slots.items() if spec.inputs[n].mutated and n not in aliases}
    return out | {name: tensor for name, tensor in written.items() if tensor is not None}


def _copied(tensor: Tensor) -> Tensor:
    """The same values at the same places of other memory: gaps stay gaps."""
    memory = tensor.untyped_storage().clone()
    return tensor.new_empty(0).set_(memory, tensor.storage_offset(), tensor.shape, tensor.stride())


def make_inputs(spec: OpSpec, case: BoundCase, *, device: str = "cpu", seed: int = 0) -> list[Tensor | None]:
    """Random inputs of a case: normal floats, and index tensors from the maker that the manifest names."""
    generator = torch.Generator().manual_seed(seed)
    made: dict[str, Tensor | None] = {}
    for name, member in spec.inputs.items():
        shape, dtype = case.shapes[name], case.dtypes[name]
        if shape is None or dtype is None:
            made[name] = None
        elif member.make is None:
            made[name] = _random(shape, DTYPE[dtype], generator)
        else:
            made[name] = _make(member.make, shape, DTYPE[dtype], case, generator)
    return [None if t is None else laid_out(t.to(device), n, case) for n, t in made.items()]


def laid_out(tensor: Tensor, slot: str, case: BoundCase) -> Tensor:
    """The tensor in the layout that the case says."""
    if slot not in case.channels_last:
        return tensor
    return tensor.movedim(1, -1).contiguous().movedim(-1, 1)


def make_meta(spec: OpSpec, case: BoundCase) -> list[Tensor | None]:
    """Tensors of the case's shapes and dtypes without memory."""
    out: list[Tensor | None] = []
    for name in spec.inputs:
        shape, dtype = case.shapes[name], case.dtypes[name]
        if shape is None or dtype is None:
            out.append(None)
        else:
            out.append(laid_out(torch.empty(shape, dtype=DTYPE[dtype], device="meta"), name, case))
    return out


def oracle(spec: OpSpec) -> Callable[..., Any]:
    """The operator's float64 formulation, `tileops.reference.<family>.<torch name>`."""
    module = importlib.import_module(f"tileops.reference.{spec.family}")
    function: Callable[..., Any] = getattr(module, spec.torch_name)
    return function


def _random(shape: Sequence[int], dtype: torch.dtype, generator: torch.Generator) -> Tensor:
    if dtype is torch.bool:
        return torch.randint(0, 2, tuple(shape), generator=generator).bool()
    if not dtype.is_floating_point and not dtype.is_complex:
        return torch.randint(-8, 8, tuple(shape), generator=generator).to(dtype)
    return torch.randn(tuple(shape), generator=generator).to(dtype)


def _make(
    text: str, shape: Sequence[int], dtype: torch.dtype, case: BoundCase, generator: torch.Generator
) -> Tensor:
    """Values of an index tensor from `maker(expression, ...)`."""
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
    arguments = [Expression(ast.unparse(a)).evaluate(case.variables) for a in call.args]
    return _MAKERS[call.func.id](tuple(shape), generator, *arguments).to(dtype)


def _lengths(shape: tuple[int, ...], generator: torch.Generator, least: int, most: int) -> Tensor:
    """Lengths in `[least, most]`; the first is `least` and the last is `most`."""
    out = torch.randint(least, most + 1, shape, generator=generator)
    out.view(-1)[:1], out.view(-1)[-1:] = least, most
    return out


def _offsets(shape: tuple[int, ...], generator: torch.Generator, total: int) -> Tensor:
    """Prefix sums of lengths of together `total`: equal ones, or where they are short any, also 0."""
    (ends,) = shape
    if ends < 2:
        return torch.zeros(shape)
    if total >= 64 * (ends - 1):
        return torch.arange(ends) * total // (ends - 1)
    cuts = torch.randint(0, total + 1, (ends - 2,), generator=generator).sort().values
    cuts[1:2] = cuts[:1]
    return torch.cat([torch.zeros(1), cuts, torch.full((1,), total)])


def _group_starts(shape: tuple[int, ...], generator: torch.Generator, total: int) -> Tensor:
    """First rows of groups of together `total` rows, later ones larger."""
    (groups,) = shape
    return torch.tensor([total * e * (e + 1) // (groups * (groups + 1)) for e in range(groups)])


def _group_sizes(shape: tuple[int, ...], generator: torch.Generator, total: int) -> Tensor:
    """How many rows each of these groups has."""
    starts = _group_starts(shape, generator, total)
    return torch.cat([starts, torch.tensor([total])]).diff()[: shape[0]]


def _distinct_pages(shape: tuple[int, ...], generator: torch.Generator, pages: int) -> Tensor:
    """A table of pages, all different while there are enough, in no order."""
    count = shape[0] * shape[1]
    rounds = -(-count // pages) if pages else 0
    order = [torch.randperm(pages, generator=generator) for _ in range(rounds)]
    return torch.cat(order)[:count].reshape(shape) if order else torch.zeros(shape)


def _permutation_or_minus_one(shape: tuple[int, ...], generator: torch.Generator, rows: int) -> Tensor:
    """Different rows out of `rows`, every fourth replaced by -1."""
    (count,) = shape
    out = torch.full(shape, -1)
    out[: min(count, rows)] = torch.randperm(rows, generator=generator)[:count]
    out[::4] = -1
    return out


_MAKERS: dict[str, Callable[..., Tensor]] = {
    "lengths": _lengths,
    "distinct_pages": _distinct_pages,
    "group_sizes": _group_sizes,
    "group_starts": _group_starts,
    "offsets": _offsets,
    "permutation_or_minus_one": _permutation_or_minus_one,
}
