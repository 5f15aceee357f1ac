"""The answer to: which implementation serves this call, and why not another?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from torch.nn import Parameter

from tileops.compiled import channels_last
from tileops.kernel import Key
from tileops.runner import Verdict, make_key, verdicts
from tileops.spec.model import OpSpec

__all__ = ["Explanation", "explain"]


@dataclass(frozen=True)
class Explanation:
    """What a call would do.

    Attributes:
        op: Operator class name.
        target: `"hopper"` or `"cpu"`.
        implementation: The one that serves the call; `None` when none does.
        key: All that its kernel depends on; calls with equal keys share one kernel.
        verdicts: Every implementation with the reasons why it does not serve the call.
        copies: Inputs that are copied first, with the reason.
    """

    op: str
    target: str
    implementation: str | None
    key: Key | None
    verdicts: tuple[Verdict, ...]
    copies: dict[str, str]

    def __str__(self) -> str:
        lines = [f"{self.op} on {self.target}: {self.implementation or 'no implementation serves this call'}"]
        for verdict in self.verdicts:
            why = "; ".join(verdict.reasons) or (
                "chosen" if verdict.implementation == self.implementation else "applies"
            )
            lines.append(f"  {verdict.implementation} (rank {verdict.rank}): {why}")
        lines += [f"  key: {self.key}"] if self.key else []
        lines += [f"  {slot} is copied: {reason}" for slot, reason in self.copies.items()]
        return "\n".join(lines)


def explain(
    spec: OpSpec, facts: Mapping[str, Any], target: str, forced: str | None, tensors: Mapping[str, Any]
) -> Explanation:
    """Judge every implementation for the call that `facts` describe."""
    found = verdicts(spec, facts, target)
    serving = [v.implementation for v in found if not v.reasons and forced in (None, v.implementation)]
    chosen = serving[0] if serving else None
    key = make_key(spec, chosen, facts, target) if chosen else None
    copies = {n: reason for n, t in tensors.items() if (reason := _copied(t, spec.inputs[n].channels_last))}
    return Explanation(spec.name, target, chosen, key, tuple(found), copies)


def _copied(tensor: Any, may_be_last: bool) -> str | None:
    if tensor is None or tensor.numel() == 0:
        return None
    if not tensor.is_contiguous() and not (may_be_last and channels_last(tensor)):
        return "it is not contiguous"
    if type(tensor) in (Tensor, Parameter) and not tensor.is_meta and tensor.data_ptr() & 15:
        return "its memory does not start at a multiple of 16 bytes"
    return None
