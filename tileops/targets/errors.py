"""Errors of compilation, apart from those of a call."""

__all__ = ["TargetError", "UnsupportedOnCpu"]


class TargetError(RuntimeError):
    """A target cannot be used here: a compiler, a version or a folder is missing or wrong."""


class UnsupportedOnCpu(NotImplementedError):
    """The program uses a construct that has no sequential (single thread) meaning."""
