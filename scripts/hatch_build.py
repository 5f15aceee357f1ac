"""Build hook: puts `manifest/` into the wheel as `tileops/manifest/`, but not into an editable install."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ManifestHook(BuildHookInterface):  # type: ignore[misc, type-arg, unused-ignore]
    """Adds the manifest to a wheel that stands on its own."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it collects files; `version` is "standard" or "editable"."""
        if version == "editable":
            return
        build_data["force_include"]["manifest"] = "tileops/manifest"
