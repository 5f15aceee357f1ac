"""Gradients: an operator whose manifest entry names its backward is differentiable, once and backwards.

PyTorch's transforms (`torch.func.grad`, `vjp`) call the Autograd key once for each of their levels. There a
`torch.autograd.Function` for one level is what is needed; what lies below must record for the other levels.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad
from torch.autograd.function import _SingleLevelFunction

from tileops.spec.model import Backward, OpSpec

__all__ = ["differentiable", "differentiated"]

_transforms = torch._C._functorch.peek_interpreter_stack


def differentiated(tensor: Tensor) -> bool:
    """Whether someone asks for a gradient: backward, or forward (then the tensor carries a tangent)."""
    return (torch.is_grad_enabled() and tensor.requires_grad) or _has_tangent(tensor)


def _has_tangent(tensor: Tensor) -> bool:
    return forward_ad._current_level >= 0 and forward_ad.unpack_dual(tensor).tangent is not None


class _Once(torch.autograd.Function):
    """Gradients where someone may ask for their gradients, too: only who does learns that there are none."""

    generate_vmap_rule = True

    @staticmethod
    def forward(name: str, compute: Callable[..., Any], *tensors: Any) -> Any:
        return compute(*tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.name = inputs[0]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        raise NotImplementedError(f"{ctx.name} can be differentiated once: its gradients have no backward")


def differentiable(spec: OpSpec, names: Sequence[str], overload: Callable[..., Any]) -> Callable[..., Any]:
    """The operator with its gradients, for the dispatcher's Autograd key.

    Args:
        spec: The operator; `spec.backward` says what computes its gradients.
        names: What the overload returns, in order.
        overload: The operator without gradients; takes all arguments of its schema.
    """
    twin = _declared(spec)
    count = len(spec.inputs)

    class Function(_SingleLevelFunction):
        @staticmethod
        def forward(ctx: Any, *arguments: Any) -> Any:
            wanted = [n for n, needed in zip(spec.inputs, ctx.needs_input_grad, strict=False) if needed]
            if lost := [name for name in wanted if name not in twin.gives.values()]:
                raise NotImplementedError(
                    f"{spec.name}: {twin.op} gives no gradient of {lost[0]}; detach it, or call under "
                    f"torch.no_grad()"
                )
            result = below(*arguments)
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
            compute = functools.partial(cls(**params), **numbers)
            if torch.is_grad_enabled() and cls.spec.backward is None:
                result = _Once.apply(spec.name, compute, *tensors)
            else:
                result = compute(*tensors)
            made = dict(
                zip(cls.spec.returned, (result,) if isinstance(result, Tensor) else result, strict=True)
            )
            by_input = {slot: made[name] for name, slot in twin.gives.items()}
            wanted = zip(spec.inputs, ctx.needs_input_grad, strict=False)  # absent tensors have no gradient
            others = len(ctx.needs_input_grad) - count
            return (*(by_input.get(name) if needed else None for name, needed in wanted), *[None] * others)

    apply: Callable[..., Any] = getattr(Function, "apply")  # noqa: B009  # from C, without a type

    def below(*arguments: Any) -> Any:
        with torch._C._AutoDispatchBelowAutograd():
            if _transforms() is None:
                return overload(*arguments)
            with torch.enable_grad(), forward_ad._set_fwd_grad_enabled(True):
                return overload(*arguments)

    def call(*arguments: Any) -> Any:
        tensors = [a for a in arguments[:count] if a is not None]
        if not any(map(differentiated, tensors)):
            with torch._C._AutoDispatchBelowAutograd():
                return overload(*arguments)
        if any(map(_has_tangent, tensors)):
            raise NotImplementedError(
                f"{spec.name} has no forward-mode derivative, and an input carries a tangent. Use reverse "
                f"mode (torch.func.grad, vjp, jacrev), or detach the inputs"
            )
        if _transforms() is None:
            return apply(*arguments)
        with enable_single_level_autograd_function():
            return apply(*arguments)

    return call


def _declared(spec: OpSpec) -> Backward:
    if spec.backward is None:
        raise ValueError(f"{spec.name} has no backward")
    return spec.backward


def _op(name: str) -> Any:
    """The class of the backward; importing it registers it."""
    return getattr(importlib.import_module("tileops.ops"), name)
