"""One case: check every implementation against the oracle, then time them in turn."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from tileops.bench import check, inputs, timing
from tileops.bench.peer import Call, Function, Peer, Unserved
from tileops.bench.plan import Case
from tileops.bench.results import OURS
from tileops.provenance import kernel_hash

__all__ = ["DeviceLost", "Settings", "measure"]


class DeviceLost(Exception):
    """The device takes no further work from this process; the text names what was running."""


@dataclass(frozen=True)
class Settings:
    """How to measure, and what to leave out.

    Attributes:
        device: `"cuda"` or `"cpu"`.
        rounds: Rounds of measurements.
        seconds: Duration of one measurement.
        blamed: (operator, key, implementation) of what ended an earlier process.
        note: Told what runs now, before it does.
    """

    device: str
    rounds: int = 12
    seconds: float = 1e-3
    blamed: Sequence[tuple[str, str, str]] = ()
    note: Callable[[str, str, str], None] = field(default=lambda *_: None)


@dataclass
class Candidate:
    """An implementation that passed the check."""

    call: Function
    writes: set[int]


def measure(case: Case, peers: Sequence[Peer], settings: Settings) -> dict[str, Any]:
    """The row of a case. What goes wrong is in the row; only a lost device raises."""
    row: dict[str, Any] = {
        "key": case.key,
        "label": case.label,
        "sizes": case.sizes,
        "dtypes": dict(case.row),
        "kernel_hash": kernel_hash(case.spec.name),
        "flops": case.cost.flops,
        "bytes": case.cost.bytes,
        "times": {},
    }
    with torch.no_grad():
        try:
            _fill(row, case, peers, settings)
        except DeviceLost:
            raise
        except Exception as error:  # noqa: BLE001  a case that fails is a row with its error
            row["error"] = _text(error)
            _require_device(settings, "the case")
    _free(settings.device)
    ours = row["times"].get(OURS, {})
    if "failed" in ours:
        row["error"] = ours["failed"]
    return row


def _fill(row: dict[str, Any], case: Case, peers: Sequence[Peer], settings: Settings) -> None:
    first = inputs.make(case, settings.device)
    row["implementation"] = case.op().explain(*first).implementation
    want = check.reference(case, first)
    found: dict[str, Candidate] = {}
    times: dict[str, dict[str, Any]] = row["times"]
    for name, make, writes in _implementations(case, peers, first, settings.device):
        if (case.spec.name, case.key, name) in settings.blamed:
            times[name] = {"failed": "it ended the measuring process"}
            continue
        settings.note(case.spec.name, case.key, name)
        try:
            call = make()
            times[name] = {"error": check.error(case, call(*inputs.copies(first, writes)), want)}
            found[name] = Candidate(call, writes)
        except Unserved as reason:
            times[name] = {"unserved": str(reason)}
        except Exception as error:  # noqa: BLE001  a peer that raises is named in the row, and the others go on
            times[name] = _failed(name, error)
            _require_device(settings, name)
        _free(settings.device)
    del want
    _time(times, case, found, first, settings)


def _implementations(
    case: Case, peers: Sequence[Peer], first: inputs.Inputs, device: str
) -> list[tuple[str, Callable[[], Function], set[int]]]:
    names = list(case.spec.inputs)
    call = Call(case.params, dict(zip(names, first, strict=True)), device)
    out: list[tuple[str, Callable[[], Function], set[int]]] = [(OURS, lambda: case.op(device), set())]
    for peer in peers:
        served = peer.ops.get(case.spec.name)
        if served is not None:
            writes = {names.index(name) for name in served.writes}
            out.append((peer.name, lambda served=served: served.make(call), writes))  # type: ignore[misc]
    return out


def _time(
    times: dict[str, dict[str, Any]],
    case: Case,
    found: dict[str, Candidate],
    first: inputs.Inputs,
    settings: Settings,
) -> None:
    sets, flush, cold = _sets(case, first, settings.device)
    plan = timing.Plan(settings.rounds, settings.seconds, flush)
    timers: dict[str, timing.Timer] = {}
    for name, candidate in found.items():
        settings.note(case.spec.name, case.key, name)
        own = [inputs.copies(one, candidate.writes) for one in sets]
        try:
            timers[name] = timing.timer(candidate.call, own, plan, settings.device)
        except Exception as error:  # noqa: BLE001  as above
            times[name] |= _failed(name, error)
            _require_device(settings, name)
            _free(settings.device)
    measured, failed = timing.interleave(
        timers, plan, lambda name: settings.note(case.spec.name, case.key, name)
    )
    for name, raised in failed.items():
        times[name] |= _failed(name, raised)
        _require_device(settings, name)
    for name, taken in measured.items():
        times[name] = {**taken._asdict(), "timer": timers[name].kind, "cold": cold, **times[name]}
        if why := getattr(timers[name], "why", None):
            times[name]["why"] = why


def _sets(
    case: Case, first: inputs.Inputs, device: str
) -> tuple[list[inputs.Inputs], torch.Tensor | None, str]:
    """Argument lists to go through, a buffer to flush the cache with or `None`, and in words which it is."""
    if device == "cpu":
        return [first, inputs.make(case, device, 1)], None, "not cold"
    _free(device)  # what the oracle took
    cache = torch.cuda.get_device_properties(0).L2_cache_size
    count, flush, words = timing.cold(inputs.call_bytes(case), cache, device)
    return [first] + [inputs.make(case, device, n) for n in range(1, count)], flush, words


def _free(device: str) -> None:
    """Give memory back that nobody uses: a later call may need it in one piece."""
    if device == "cuda":
        torch.cuda.empty_cache()


def _failed(name: str, error: Exception) -> dict[str, Any]:
    """What a row says of an implementation that raised; a peer that lacks memory does not serve the row."""
    text = _text(error)
    traceback.clear_frames(error.__traceback__)  # they hold what it computed until then
    if name != OURS and _out_of_memory(error):
        return {"unserved": f"it needs more memory than there is: {text}"}
    return {"failed": text}


def _out_of_memory(error: BaseException | None) -> bool:
    """Whether memory was short, also where a compiler wraps the error."""
    if error is None or isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return error is not None
    return _out_of_memory(error.__cause__ or error.__context__)


def _require_device(settings: Settings, name: str) -> None:
    """After an error: whether the device still works for this process."""
    if settings.device == "cpu":
        return
    try:
        torch.cuda.synchronize()
    except Exception as error:
        raise DeviceLost(f"{name}: {error}") from error


def _text(error: BaseException) -> str:
    """One line: type, message, and where it was raised."""
    message = " ".join(str(error).split())
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {message[:400]}{place}"
