"""An operator's page as data: what the template shows, from the manifest, the sources and recorded runs.

Longer than 300 lines because it is all that the page of one operator shows.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from tileops.spec import OpSpec, all_specs
from tileops.spec.dtypes import SlotDtype
from tileops.spec.expressions import Expression, variables
from tileops.spec.model import Implementation
from tileops_docs import code, source_pages, sources, where
from tileops_docs.badges import Badge, badges
from tileops_docs.calculator import entry, lacking, workload_cost
from tileops_docs.sources import Source
from tileops_docs.text import call_lines, parameter, shown_default, shown_type, words
from tileops_docs.verification import Verification, verification

__all__ = ["Badge", "OpPage", "ProgramRow", "TensorRow", "op_page"]


@cache
def op_page(name: str) -> OpPage:
    """The page of an operator, for tables and lists; each is worked out once in a build."""
    return OpPage(all_specs()[name], "")


PART = re.compile(r'class="op-part__title"[^>]* id="([^"]+)">\s*([^<]+?)\s*<')


PROMOTED = {
    "promote_int_to_float": "float32 for integers and booleans",
    "promote_int_to_int64": "int64 for integers and booleans",
    "promote_to_bool": "but bool, except for uint8",
}
"""What a dtype that follows another one is where it does not."""


@dataclass(frozen=True)
class TensorRow:
    """A line of the tensor table."""

    role: str  # "input" or "output"
    name: str
    dtypes: tuple[str, ...]
    same_as: str | None
    param: str | None
    promoted: str | None
    shape: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ProgramRow:
    """A line of the table of implementations."""

    name: str
    implementation: Implementation
    source: Source


class OpPage:
    """What the page of one operator shows.

    Attributes:
        spec: The manifest's entry.
        repository: URL of the repository, for links to sources.
    """

    def __init__(self, spec: OpSpec, repository: str) -> None:
        self.spec = spec
        self.repository = repository

    # ------------------------------------------------------------------------------------------------ facts
    @property
    def name(self) -> str:
        """Class name."""
        return self.spec.name

    @cached_property
    def slots(self) -> list[str]:
        """Slots that have a dtype of their own; the columns of the dtype table."""
        return list(self.spec.rows[0]) if self.spec.rows else []

    @cached_property
    def rows(self) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        """(dtypes, implementations that serve them) for each supported row."""
        return [(tuple(row[s] for s in self.slots), self.serving(row)) for row in self.spec.rows]

    def serving(self, row: dict[str, str]) -> tuple[str, ...]:
        """Implementations that no domain rule about dtypes alone keeps from a row."""
        known = dict(variables({}, {}, row)) | {f"d_{slot}": dtype for slot, dtype in row.items()}
        serving = []
        for name, implementation in self.spec.implementations.items():
            rules = [Expression(rule.rule) for rule in implementation.domain]
            about = [r for r in rules if not r.names and r.tensors and _only_dtypes(r, row)]
            if all(rule.evaluate(known) for rule in about):
                serving.append(name)
        return tuple(serving)

    @cached_property
    def tensors(self) -> list[TensorRow]:
        out = []
        for name, member in self.spec.inputs.items():
            notes = ["optional"] if member.optional else []
            if member.mutated is True:
                notes.append("written in place")
            elif member.mutated:
                notes.append(f"written in place when {member.mutated} is true")
            notes += [f"values: {member.values}"] if member.values else []
            notes += ["channels-last is taken as it is"] if member.channels_last else []
            out.append(self._tensor("input", name, member.dtype, member.shape, notes))
        for name, output in self.spec.outputs.items():
            notes = ["kept for the backward, not returned"] if output.saved else []
            notes += [self._alias(output.alias)] if output.alias else []
            out.append(self._tensor("output", name, output.dtype, output.shape, notes))
        return out

    def _alias(self, slot: str) -> str:
        """When an output is an input."""
        when = self.spec.inputs[slot].mutated
        return f"is {slot} when {'that is given' if when is True else f'{when} is true'}"

    def _tensor(self, role: str, name: str, dtype: str, shape: str, notes: list[str]) -> TensorRow:
        slot = SlotDtype.parse(dtype, self.spec.params)
        promoted = PROMOTED.get(str(slot.promotion))
        return TensorRow(role, name, slot.choices, slot.same_as, slot.param, promoted, shape, tuple(notes))

    @cached_property
    def verification(self) -> Verification | None:
        return verification(self.name) if self.spec.implemented else None

    @cached_property
    def programs(self) -> list[ProgramRow]:
        rows = []
        for name, implementation in self.spec.implementations.items():
            source = where.defined_in(
                f"Program of {name}", "tileops/kernels", self.spec, implementation.program
            )
            rows.append(ProgramRow(name, implementation, source))
        return sorted(rows, key=lambda row: -row.implementation.rank)

    @cached_property
    def oracle(self) -> Source | None:
        if not self.spec.implemented:
            return None
        return where.defined_in("Oracle", "tileops/reference", self.spec, self.spec.torch_name)

    @cached_property
    def public_lets(self) -> dict[str, str]:
        """Named expressions that shapes, rules or the cost read, themselves or through each other."""
        spec = self.spec
        texts = [rule.rule for rule in spec.rules] + [spec.roofline.flops, spec.roofline.bytes or ""]
        texts += [member.shape for members in (spec.inputs, spec.outputs) for member in members.values()]
        return self._lets_in(texts)

    @cached_property
    def program_lets(self) -> dict[str, str]:
        """Named expressions that only the choice of a program reads."""
        texts = []
        for implementation in self.spec.implementations.values():
            texts += [*implementation.static.values(), *implementation.scalars]
            texts += [rule.rule for rule in implementation.domain]
        found = self._lets_in(texts)
        return {name: text for name, text in found.items() if name not in self.public_lets}

    def _lets_in(self, texts: list[str]) -> dict[str, str]:
        found: set[str] = set()
        waiting = list(texts)
        while waiting:
            read = set(re.findall(r"[A-Za-z_]\w*", waiting.pop())) & set(self.spec.let) - found
            found |= read
            waiting += [self.spec.let[name] for name in read]
        return {name: text for name, text in self.spec.let.items() if name in found}

    @cached_property
    def tests(self) -> list[tuple[str, str]]:
        """What tests the operator: (what a reader calls it, path in the repository)."""
        return sources.tests(self.name, self.spec.family, self.spec.implemented)

    @cached_property
    def calculator(self) -> str:
        """The entry as the page's script evaluates it; empty where that lacks a function of it."""
        if lacking(self.spec):
            return ""
        return json.dumps(entry(self.spec), separators=(",", ":")).replace("</", "<\\/")

    @property
    def mutates(self) -> list[str]:
        return [name for name, member in self.spec.inputs.items() if member.mutated]

    @cached_property
    def badges(self) -> list[Badge]:
        """The facts in two words below the name."""
        return badges(self)

    @property
    def backward(self) -> str | None:
        """The operator that autograd calls."""
        return self.spec.backward.op if self.spec.backward else None

    # ------------------------------------------------------------------------------------------------- text
    @cached_property
    def call(self) -> str:
        """Constructor and call, in one block."""
        spec = self.spec
        params = [parameter(name, param) for name, param in spec.constructor.items()]
        params += ["target: str | None = None", "implementation: str | None = None"]
        inputs = [
            f"{n}: Tensor | None = None" if i.optional else f"{n}: Tensor" for n, i in spec.inputs.items()
        ]
        numbers = [parameter(name, spec.params[name]) for name in spec.call]
        numbers += [] if spec.inputs else ["device: torch.device | str | None = None"]
        inputs += ["*", *numbers] if numbers else []
        results = ", ".join(spec.returned)
        return "\n".join(
            [call_lines(f"op = tileops.{spec.name}", ["*", *params]), call_lines(f"{results} = op", inputs)]
        )

    @staticmethod
    def code(text: str, language: str) -> str:
        """Highlighted code."""
        return code.block(text, language)

    @property
    def words(self) -> list[str]:
        """The words of the name, for a line to break between."""
        return words(self.name)

    @cached_property
    def aliases(self) -> list[str]:
        """Lower-case spellings for the search, which splits `RMSNorm` into words but not `rmsnorm`."""
        parts = words(re.sub(r"(Fwd|Bwd)?Op$", "", self.name))
        tails = ["".join(parts[n:]).lower() for n in range(len(parts) - 1)]
        return list(dict.fromkeys([*(tails or [parts[0].lower()]), self.name.lower(), self.spec.torch_name]))

    def default(self, name: str) -> str | None:
        """The default of a param, as Python writes it."""
        param = self.spec.params[name]
        return None if param.required else shown_default(param)

    def type(self, name: str) -> str:
        """The type of a param, as Python annotates it."""
        return shown_type(self.spec.params[name].type)

    def link(self, fragment: str) -> str:
        """URL of a path in the repository."""
        return sources.link(self.repository, fragment)

    def source(self, fragment: str) -> str:
        """URL of a source file's page on the site, from the operator's own page."""
        return source_pages.url(fragment, where.page(self.name))

    @cached_property
    def class_path(self) -> str:
        """Where the class stands."""
        path = f"tileops/ops/{where.module(self.name).replace('.', '/')}.py"
        return sources.function("Class", path, self.name).fragment

    @property
    def twin(self) -> tuple[str, str] | None:
        """(what a reader calls it, class name) of the backward of a forward, or the forward of a backward."""
        if self.backward and self.backward != self.name:
            return "Backward", self.backward
        for own, other, label in (("FwdOp", "BwdOp", "Backward"), ("BwdOp", "FwdOp", "Forward")):
            name = self.name.removesuffix(own) + other
            if self.name.endswith(own) and name in all_specs():
                return label, name
        return None

    @staticmethod
    def jumps(body: str) -> list[tuple[str, str]]:
        """(id, title) of the parts of a rendered page, in order."""
        return PART.findall(body)

    @staticmethod
    def identifier(name: str) -> str:
        """What the entry of an operator is linked by."""
        return where.identifier(name)

    @property
    def manifest_path(self) -> str:
        """Where the entry stands."""
        return f"manifest/{self.spec.family}.yaml#L{self.spec.line}"

    def workload_cost(self, entry: dict[str, Any]) -> tuple[str, str, str]:
        """Operations, bytes and microseconds at the speed of light of a workload."""
        return workload_cost(self.spec, entry)

    def workload(self, entry: dict[str, Any]) -> str:
        """A workload's sizes and params: "B = [4096], N = 8"."""
        hidden = {"label", "dtypes", "absent", "strides"}
        return ", ".join(f"{name} = {value}" for name, value in entry.items() if name not in hidden)

    def descriptions(self, cls: Any) -> dict[str, str]:
        """What the docstrings of the class and of `forward` say of each param and tensor, in Markdown."""
        forward = cls.members.get("forward")
        out: dict[str, str] = {}
        for docstring in filter(None, [cls.docstring, forward.docstring if forward is not None else None]):
            for section in docstring.parsed:
                if section.kind.value == "parameters":
                    out |= {item.name: item.description for item in section.value}
                if section.kind.value == "returns":
                    values = [item.description for item in section.value]
                    if len(values) == 1:  # one sentence about all outputs
                        values *= len(self.spec.returned)
                    out |= dict(zip(self.spec.returned, values, strict=False))
        return out


def _only_dtypes(rule: Expression, row: dict[str, str]) -> bool:
    return all(function == "dtype" and tensor in row for function, tensor in rule.tensors)
