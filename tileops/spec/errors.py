"""How the parts of the loader say what is wrong; the loader adds file, line and operator."""

from __future__ import annotations

__all__ = ["CaseError", "FieldError", "RuleBroken"]


class FieldError(ValueError):
    """Something is wrong with the field at `path` of an entry."""

    def __init__(self, path: tuple[str | int, ...], message: str) -> None:
        super().__init__(message)
        self.path = path


class CaseError(ValueError):
    """A case that does not say what it must, or for which an expression cannot be evaluated."""


class RuleBroken(CaseError):
    """A case that breaks a rule of its operator."""
