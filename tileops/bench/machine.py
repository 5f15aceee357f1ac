"""What a run says of its machine."""

from __future__ import annotations

import datetime
import importlib.metadata
import platform
import subprocess
from collections.abc import Iterable
from typing import Any

import torch

from tileops.bench.peer import Peer

__all__ = ["facts", "folder_name", "unavailable"]


def unavailable(device: str) -> str | None:
    """Why nothing can be measured on a device, or `None`."""
    from tileops import targets

    if device == "cpu":
        return targets.get("cpu").unavailable()
    if not torch.cuda.is_available():
        return "there is no CUDA GPU; --device cpu tries the harness on small cases"
    return targets.get("hopper").unavailable()


def folder_name(device: str) -> str:
    """Where results go when nothing is said: "bench/h200"."""
    name = torch.cuda.get_device_name().removeprefix("NVIDIA ") if device == "cuda" else device
    return f"bench/{name.lower().replace(' ', '-')}"


def facts(device: str, peers: Iterable[Peer]) -> dict[str, Any]:
    """Device, driver, date and versions."""
    versions: dict[str, str] = {"python": platform.python_version()}
    for name, distribution in (("torch", "torch"), ("tilelang", "tilelang"), ("tileops", "tileops-h200")):
        versions[name] = _version(distribution)
    versions |= {peer.name: str(peer.version) for peer in peers if peer.version is not None}
    if device == "cpu":
        return {"device": "cpu", "driver": None, "date": _today(), "versions": versions}
    versions |= {"cuda": str(torch.version.cuda), "cudnn": str(torch.backends.cudnn.version())}
    return {
        "device": torch.cuda.get_device_name(),
        "driver": _driver(),
        "date": _today(),
        "versions": versions,
    }


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:  # a checkout on the path
        return "checkout"


def _driver() -> str | None:
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.split()[0]


def _today() -> str:
    return datetime.datetime.now(tz=datetime.UTC).date().isoformat()
