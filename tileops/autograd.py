"""Gradients: an operator whose manifest entry names its backward is differentiable."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from tileops.spec.model import Backward, OpSpec

__all__ = ["differentiable", "differentiated"]


def differentiated(tensor: Tensor) -> bool:
    """Whether someone asks for a gradient: backward, or forward (then the tensor carries a tangent)."""
    if torch.is_grad_enabled() and tensor.requires_grad:
        return True
    return forward_ad._current_level >= 0 and forward_ad.unpack_dual(tensor).tangent is not None


def differentiable(spec: OpSpec, names: Sequence[str], overload: Callable[..., Any]) -> Callable[..., Any]:
    """The operator with its gradients, for the dispatcher's Autograd key.

    Args:
        spec: The operator; `spec.backward` says what computes its gradients.
        names: What the overload returns, in order.
        overload: The operator without gradients; takes all arguments of its schema.
    """
    twin = _declared(spec)
    count = len(spec.inputs)

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *arguments: Any) -> Any:
            wanted = [n for n, needed in zip(spec.inputs, ctx.needs_input_grad, strict=False) if needed]
            if lost := [name for name in wanted if name not in twin.gives.values()]:
                raise NotImplementedError(
                    f"{spec.name}: {twin.op} gives no gradient of {lost[0]}; detach it, or call under "
                    f"torch.no_grad()"
                )
            result = overload(*arguments)
            outputs = dict(zip(names, (result,) if isinstance(result, Tensor) else result, strict=True))
            ctx.mark_non_differentiable(
                *(o for name, o in outputs.items() if name not in twin.gradients.values())
            )
            tensors = {**dict(zip(spec.inputs, arguments, strict=False)), **outputs}
            ctx.slots = [n for n in _op(twin.op).spec.inputs if n in tensors and tensors[n] is not None]
            ctx.save_for_backward(*(tensors[name] for name in ctx.slots))
            ctx.values = dict(zip(spec.params, arguments[count:], strict=False))
            return result

        @staticmethod
        def backward(ctx: Any, *gradients: Tensor) -> Any:
            cls = _op(twin.op)
            known = dict(zip(ctx.slots, ctx.saved_tensors, strict=True))
            by_output = dict(zip(names, gradients, strict=True))
            known |= {name: by_output[output] for name, output in twin.gradients.items()}
            tensors = [known.get(name) for name in cls.spec.inputs]
            params = {name: ctx.values[name] for name in cls.spec.constructor}
            numbers = {name: ctx.values[name] for name in cls.spec.call}
            result = cls(**params)(*tensors, **numbers)
            made = dict(
                zip(cls.spec.returned, (result,) if isinstance(result, Tensor) else result, strict=True)
            )
            by_input = {slot: made[name] for name, slot in twin.gives.items()}
            wanted = zip(spec.inputs, ctx.needs_input_grad, strict=False)  # absent tensors have no gradient
            others = len(ctx.needs_input_grad) - count
            return (*(by_input.get(name) if needed else None for name, needed in wanted), *[None] * others)

    def call(*arguments: Any) -> Any:
        if not any(a is not None and differentiated(a) for a in arguments[:count]):
            with torch._C._AutoDispatchBelowAutograd():
                return overload(*arguments)
        return Function.apply(*arguments)

    return call


def _declared(spec: OpSpec) -> Backward:
    if spec.backward is None:
        raise ValueError(f"{spec.name} has no backward")
    return spec.backward


def _op(name: str) -> Any:
    """The class of the backward; importing it registers it."""
    return getattr(importlib.import_module("tileops.ops"), name)
