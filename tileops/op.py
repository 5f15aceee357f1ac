"""`Op`: the base of every operator. A call binds, checks, chooses an implementation and launches it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar

import msgspec
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor

from tileops import targets
from tileops._name import refuse_other_distribution
from tileops.compiled import compile_spec, device_of, make_outputs
from tileops.construct import construct
from tileops.errors import CallError
from tileops.explain import Explanation, explain
from tileops.library import Overloads, register
from tileops.params import normalize_one
from tileops.roofline import Roofline, roofline, tensor_bytes
from tileops.runner import build, choose, computes_nothing, make_key
from tileops.signatures import compare_signatures, default_value
from tileops.spec import OpSpec, load

__all__ = ["Op", "PlainOp", "compare_signatures"]

refuse_other_distribution()  # here too: installed over ours, their `__init__` is the one that ran


class Op:
    r"""An operator: construct it with its params, call it with tensors.

    Subclasses are the operators of the manifest. An instance is a value: two with equal params are equal, it
    can be pickled and copied, and it holds no tensor, no kernel and no device. Kernels are built by the first
    call that needs them and are shared by all instances in the process.

    Every operator's constructor also takes:

    Args:
        target: `"hopper"` or `"cpu"` to say where calls must run. By default the tensors' device decides.
        implementation: Name of the implementation that must serve every call, from the operator's table. By
            default the one of the highest rank whose domain holds the call.

    Raises:
        CallError: A param has a wrong type or value, or `implementation` is unknown.
        UnsupportedDeviceError: This machine has no GPU for `target`.
        TargetError: It has no compiler for `target`.

    Examples:
        >>> import tileops
        >>> tileops.GemmFwdOp(trans_b=False)
        GemmFwdOp(trans_b=False)
        >>> tileops.GemmFwdOp() == tileops.GemmFwdOp(trans_b=True)
        True
    """

    spec: ClassVar[OpSpec]
    _overloads: ClassVar[Overloads | None] = None
    _call: ClassVar[Callable[..., Any]]
    __slots__ = ("__weakref__", "_implementation", "_last", "_runner", "_target", "_values")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__call__" not in cls.__dict__:
            cls.__call__ = cls.forward  # type: ignore[method-assign]  # one Python frame less a call
        if cls.__module__ == __name__ or hasattr(cls, "spec"):
            return  # a base of operators, or a user's subclass of one, which inherits all of it
        cls.spec = load(cls.__name__)
        compare_signatures(cls, cls.spec)
        compiled = compile_spec(cls.__name__)
        cls._call = compiled.call
        if cls.spec.implemented:
            cls._overloads = register(cls.spec)
        for name in cls.spec.constructor:
            setattr(cls, name, property(functools.partial(_param, name)))

    def __init__(
        self, *, target: str | None = None, implementation: str | None = None, **params: Any
    ) -> None:
        if not hasattr(self, "spec"):
            name = type(self).__name__
            raise TypeError(f"{name} is a base of operators; construct one of them, such as GemmFwdOp()")
        self._target, self._implementation = target, implementation
        self._values, self._runner = construct(self.spec.name, target, implementation, tuple(params.items()))
        self._last: tuple[Any, ...] | None = None  # shapes and dtypes of the last call, for eval_roofline

    def __call__(self, *tensors: Any, **named: Any) -> Any:
        """Call the operator: see `forward` for its tensors."""
        return self.forward(*tensors, **named)

    def forward(self, *tensors: Any, **named: Any) -> Any:
        """What a call does; every operator defines it with its own tensors."""
        raise NotImplementedError(f"{type(self).__name__} must define forward")

    # ------------------------------------------------------------------------------- asking about calls
    def explain(self, *tensors: Tensor | None, **named: Any) -> Explanation:
        """Which implementation would serve a call with these tensors, why not the others, and what is copied.

        Args:
            *tensors: The call's tensors, or tensors on the meta device of the same shapes and dtypes.
            **named: What the call passes by name.

        Returns:
            An `Explanation`; its `str` is a readable report. Nothing is built or launched.

        Raises:
            CallError: The call would be refused.
        """
        slots = self._slots(tensors, named)
        facts = self._facts(tensors, named)
        return explain(self.spec, facts, self._target_for(facts["device"]), self._implementation, slots)

    def build(self, *tensors: Tensor | None, **named: Any) -> None:
        """Build the kernel for calls like this one ahead of time, say before a CUDA graph is captured.

        Args:
            *tensors: The call's tensors, or tensors on the meta device of the same shapes and dtypes.
            **named: What the call passes by name.

        Raises:
            CallError: The call would be refused.
            NotImplementedError: No implementation serves it.
        """
        facts = self._facts(tensors, named)
        target = self._target_for(facts["device"])
        implementation = choose(self.spec, facts, target, self._implementation)
        if not computes_nothing(self.spec, facts):
            build(self.spec, make_key(self.spec, implementation, facts, target))

    def validate(self, *tensors: Tensor | None, **named: Any) -> None:
        """Check types, ranks, dtypes, sizes, devices, rules and index tensors of a call without running it.

        Values of index tensors on a GPU are read, which waits for it; a call never does that.

        Args:
            *tensors: The call's tensors.
            **named: What the call passes by name.

        Raises:
            CallError: What the call would raise.
        """
        self._facts(tensors, named)
        look = compile_spec(self.spec.name).values
        if look is not None:
            look(*self._arguments(tensors, named))

    def eval_roofline(self) -> Roofline:
        """The least work of the last call: floating-point operations and bytes of memory traffic.

        Raises:
            RuntimeError: There was no call yet. Calls inside a compiled graph are not seen.
        """
        return roofline(self.spec, self._last_facts())

    def total_memory(self) -> int:
        """Bytes of all tensors of the last call: inputs and outputs.

        Raises:
            RuntimeError: There was no call yet.
        """
        return tensor_bytes(self.spec, self._last_facts())

    # --------------------------------------------------------------------------------------- value object
    @property
    def params(self) -> dict[str, Any]:
        """Every param of the constructor and its value."""
        return dict(zip(self.spec.constructor, self._values, strict=True))

    def __repr__(self) -> str:
        shown = []
        for name, value in self.params.items():
            param = self.spec.params[name]
            if param.required or value != default_value(param):
                shown.append(f"{name}={value!r}")
        shown += [f"target={self._target!r}"] if self._target else []
        shown += [f"implementation={self._implementation!r}"] if self._implementation else []
        return f"{type(self).__name__}({', '.join(shown)})"

    def _identity(self) -> tuple[Any, ...]:
        values = tuple("nan" if value != value else value for value in self._values)  # NaN equals nothing
        return type(self), values, self._target, self._implementation

    def __eq__(self, other: object) -> bool:
        return self._identity() == other._identity() if isinstance(other, Op) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._identity())

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = {**self.params, "target": self._target, "implementation": self._implementation}
        return _rebuild, (type(self), arguments), getattr(self, "__dict__", None)

    # ---------------------------------------------------------------------------------------------- inside
    def _dispatch(self, *arguments: Any) -> Any:
        """The call through PyTorch's dispatcher: under `torch.compile`, modes, transforms, with gradients.

        `arguments` are the tensors, or for an operator without any the device; then the numbers of the call.
        """
        count = len(self.spec.inputs)
        tensors, numbers = arguments[: count or 1], arguments[count or 1 :]
        others = (self._target, self._implementation, *(() if count else tensors))
        if torch.compiler.is_compiling():
            if self._overloads is None:  # a plain sentence: the tracer follows nothing more
                raise NotImplementedError(f"{self.spec.name} is specified and not yet implemented")
            return self._overloads.call(tensors[:count], (*self._values, *numbers), *others)
        compiled = compile_spec(self.spec.name)
        # Refuse before the dispatcher does.
        device, made = compiled.outputs(*tensors, *self._values, *numbers)
        for name, tensor in zip(self.spec.inputs, tensors[:count], strict=True):
            if tensor is not None and tensor.layout is not torch.strided:
                raise CallError(f"{self.spec.name}: {name} must be a strided tensor, got {tensor.layout}")
        if self._overloads is not None:
            result = self._overloads.call(tensors[:count], (*self._values, *numbers), *others)
        elif (fake := next((t for t in tensors if isinstance(t, FakeTensor)), None)) is not None:
            with fake.fake_mode:
                outputs = make_outputs(device, made)
            returned = outputs[: len(self.spec.returned)]
            result = returned[0] if len(returned) == 1 else tuple(returned)
        else:
            return compiled.core(self, self._runner, *tensors, *self._values, *numbers)
        shapes = (x for t in tensors[:count] for x in ((None, None) if t is None else (t.shape, t.dtype)))
        self._last = (*shapes, *numbers)
        return result

    def _slots(self, tensors: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        """Every input by name, `None` for those that a call leaves out."""
        names = list(self.spec.inputs)
        if len(tensors) > len(names):
            raise CallError(f"{self.spec.name}: takes {len(names)} tensors, got {len(tensors)}")
        given = dict(zip(names, tensors, strict=False))
        others = {*self.spec.call, *(() if names else ("device",))}
        for name in named.keys() - others:
            if name not in names or name in given:
                known = ", ".join([*names, *sorted(others)])
                why = "is given twice" if name in given else f"is not an input; there are {known}"
                raise CallError(f"{self.spec.name}: {name} {why}")
        return {name: {**given, **named}.get(name) for name in names}

    def _facts(self, tensors: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        """What a call with these arguments finds."""
        facts: dict[str, Any] = compile_spec(self.spec.name).facts(*self._arguments(tensors, named))
        return facts

    def _arguments(self, tensors: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """Every argument of the generated functions: tensors or the device, params, numbers."""
        numbers = []
        for name in self.spec.call:
            default = self.spec.params[name].default
            if name not in named and default is msgspec.UNSET:
                raise CallError(f"{self.spec.name}: {name} is missing; it is a number that each call says")
            numbers.append(normalize_one(self.spec, name, named.get(name, default)))
        slots = [*self._slots(tensors, named).values()] or [device_of(named.get("device"))]
        return (*slots, *self._values, *numbers)

    def _last_facts(self) -> dict[str, Any]:
        last = self._last
        if last is None:
            raise RuntimeError(f"{self.spec.name}: there was no call yet whose cost could be told")
        count = 2 * len(self.spec.inputs)
        pairs = zip(last[:count:2], last[1:count:2], strict=True)
        tensors = [None if s is None else torch.empty(s, dtype=d, device="meta") for s, d in pairs]
        named = dict(zip(self.spec.call, last[count:], strict=True))
        return self._facts(tuple(tensors), named if tensors else {**named, "device": "meta"})

    def _target_for(self, device: torch.device) -> str:
        if device.type != "meta":
            return self._runner.target_for(device)
        return self._target or ("hopper" if targets.get("hopper").unavailable() is None else "cpu")


class PlainOp(Op):
    """An operator without params: its constructor takes what every one's does."""

    __slots__ = ()

    def __init__(self, *, target: str | None = None, implementation: str | None = None) -> None:
        super().__init__(target=target, implementation=implementation)


def _rebuild(cls: type[Op], arguments: dict[str, Any]) -> Op:
    """An operator from its params; the constructor of a user's subclass may take others, and does not run."""
    op = cls.__new__(cls)
    Op.__init__(op, **arguments)
    return op


def _param(name: str, op: Op) -> Any:
    return op._values[list(op.spec.constructor).index(name)]
