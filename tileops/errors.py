"""The errors that TileOps raises on purpose. Each says what came and what is needed."""

from __future__ import annotations

__all__ = ["CallError", "ManifestError", "UnsupportedDeviceError"]


class CallError(ValueError):
    """A call or a constructor got something that the operator's specification does not allow.

    The message names the operator, the argument, what came and what is needed. It is raised before any
    memory is allocated and before any launch, so nothing is lost or half-done after it.
    """


class UnsupportedDeviceError(RuntimeError):
    """The device of the tensors, or the one that `target` names, cannot run the programs."""


class ManifestError(Exception):
    """A manifest file cannot be used. The message names file, line, operator and field."""
