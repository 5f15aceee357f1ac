"""Recorded measurements of an operator, as its page shows them; `python -m tileops.bench` writes them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from tileops.bench.results import OURS, read
from tileops.spec import all_specs
from tileops_docs.sources import ROOT, current_hash

__all__ = ["RECORDS", "Performance", "Row", "all_performance", "number", "performance"]

RECORDS = ROOT / "docs" / "data" / "h200"
TORCH = ("PyTorch", "cuBLAS", "cuDNN")
"""Peers that are PyTorch, the first one that was measured; its error stands beside ours."""

VERDICTS = {"ahead": "good", "level": "plain", "behind": "bad"}


@dataclass(frozen=True)
class Row:
    """One measured call.

    Attributes:
        op: Operator class name.
        data: The row of the results file.
        run: The run that it is of.
        stale: Whether the kernels changed since.
    """

    op: str
    data: dict[str, Any]
    run: dict[str, Any]
    stale: bool

    @property
    def label(self) -> str:
        """What the manifest calls the workload."""
        return str(self.data["label"])

    @property
    def dtypes(self) -> str:
        """Its dtypes, each once."""
        return ", ".join(dict.fromkeys(self.data["dtypes"].values()))

    @property
    def failed(self) -> str | None:
        """Why there is no time, or `None`."""
        return None if "us" in self._ours else str(self.data.get("error", "not measured"))

    @property
    def _ours(self) -> dict[str, Any]:
        times: dict[str, dict[str, Any]] = self.data["times"]
        return times.get(OURS, {})

    @property
    def us(self) -> float:
        """Microseconds a call."""
        return float(self._ours["us"])

    @property
    def spread(self) -> str:
        """The rounds' tenth and ninetieth percentile in words."""
        return (
            f"{number(self._ours['low'])} to {number(self._ours['high'])} µs in {self._ours['rounds']} rounds"
        )

    def rate(self, unit: str) -> str:
        """The rate, where the call is bound by what `unit` counts."""
        return number(self.data["rate"]) if self.data["unit"] == unit else ""

    @property
    def share(self) -> float | None:
        """Share of the speed of light, of 1."""
        return self.data.get("share")

    @property
    def percent(self) -> str:
        """The share in percent, with a decimal where it is small."""
        if self.share is None:
            return ""
        return f"{100 * self.share:.{0 if self.share >= 0.1 else 1}f}"

    @property
    def verdict(self) -> str | None:
        """`"behind"`, `"level"` or `"ahead"`, or `None` without a peer."""
        return self.data.get("verdict")

    @property
    def kind(self) -> str:
        """The badge's colour."""
        return VERDICTS.get(self.verdict or "", "plain")

    @property
    def ratio(self) -> float | None:
        """Time of the strongest peer over ours."""
        return self.data.get("ratio")

    @property
    def strongest(self) -> str:
        """The strongest peer, or nothing."""
        return str(self.data.get("strongest", ""))

    @property
    def peer_us(self) -> float | None:
        """Microseconds of the strongest peer."""
        return self.data["times"][self.strongest]["us"] if self.strongest else None

    @property
    def error(self) -> float | None:
        """Our relative error against the float64 oracle."""
        return self._ours.get("error")

    @property
    def torch_error(self) -> float | None:
        """PyTorch's relative error, in the same dtypes."""
        found = (self.data["times"].get(name, {}).get("error") for name in TORCH)
        return next((error for error in found if error is not None), None)

    def time(self, peer: str) -> tuple[str, str]:
        """Microseconds of a peer as text, and what a pointer over it says."""
        times = self.data["times"].get(peer, {})
        if "us" in times:
            how = [times.get("timer", ""), times.get("cold", ""), times.get("why", "")]
            return number(times["us"]), "; ".join(text for text in how if text)
        if "failed" in times:
            return "failed", str(times["failed"])
        return "–", str(times.get("unserved", "not measured"))


@dataclass(frozen=True)
class Performance:
    """What was measured of one operator."""

    op: str
    family: str
    rows: tuple[Row, ...]

    @staticmethod
    def number(value: float | None) -> str:
        """A figure as text, for the template."""
        return number(value)

    @property
    def measured(self) -> list[Row]:
        """Rows with a time."""
        return [row for row in self.rows if row.failed is None]

    @property
    def stale(self) -> bool:
        """Whether a row is."""
        return any(row.stale for row in self.rows)

    @cached_property
    def units(self) -> list[str]:
        """Units of the rates that occur."""
        return list(dict.fromkeys(row.data["unit"] for row in self.measured))

    @cached_property
    def peers(self) -> list[str]:
        """Every peer that a row names."""
        return list(dict.fromkeys(name for row in self.rows for name in row.data["times"] if name != OURS))

    @cached_property
    def facts(self) -> dict[str, str]:
        """Device, date and versions of the newest run."""
        run = max((row.run for row in self.rows), key=lambda run: str(run["date"]))
        named = {name: str(run[name]) for name in ("device", "date", "driver") if run.get(name)}
        wanted = ("torch", "tilelang", "cuda")
        return named | {name: run["versions"][name] for name in wanted if name in run["versions"]}

    @cached_property
    def missing(self) -> dict[str, str]:
        """Peers that could not be measured, with the reason."""
        out: dict[str, str] = {}
        for row in self.rows:
            out |= row.run.get("missing", {})
        return {name: why for name, why in out.items() if name not in self.peers}


@lru_cache(maxsize=1024)
def performance(op: str, folder: Path = RECORDS) -> Performance | None:
    """The measurements of one operator, or `None` when there are none."""
    path = folder / f"{op}.json"
    if not path.is_file():
        return None
    data = _read(path)
    if not data["rows"]:
        return None
    current = current_hash(op)
    rows = (Row(op, row, data["runs"][row["run"]], row["kernel_hash"] != current) for row in data["rows"])
    return Performance(op, str(data["family"]), tuple(rows))


def all_performance(folder: Path = RECORDS) -> list[Performance]:
    """The measurements of all implemented operators that have some."""
    found = (performance(name, folder) for name, spec in all_specs().items() if spec.implemented)
    return [one for one in found if one is not None]


@lru_cache(maxsize=512)
def _read(path: Path) -> dict[str, Any]:
    return read(path)


def number(value: float | None) -> str:
    """Three digits that count, without an exponent where a reader needs none: "17.1", "4210", "0.00193"."""
    if value is None:
        return ""
    if value == 0:
        return "0"
    text = f"{value:.3g}"
    if "e" not in text:
        return text
    return f"{value:.0f}" if value >= 1000 else text
