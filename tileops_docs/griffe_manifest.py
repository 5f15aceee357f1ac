"""Griffe extension: gives each operator's class its entry of the manifest, for the template to render."""

from __future__ import annotations

from typing import Any

from griffe import Class, Extension, GriffeLoader

from tileops.spec import all_specs
from tileops_docs.page import OpPage
from tileops_docs.performance import performance
from tileops_docs.performance_chart import chart
from tileops_docs.where import canonical

__all__ = ["ManifestExtension"]


class ManifestExtension(Extension):
    """Puts an `OpPage` into `cls.extra["tileops"]["page"]` of every class that the manifest declares.

    Beside it stand the recorded measurements, `"performance"`, and their chart, `"performance_chart"`.

    Args:
        repository: URL of the repository, for links to sources.
    """

    def __init__(self, repository: str) -> None:
        self.repository = repository

    def on_class(self, *, cls: Class, loader: GriffeLoader, **kwargs: Any) -> None:
        spec = all_specs().get(cls.name)
        if spec is None or cls.canonical_path != canonical(spec.name):
            return
        cls.extra["tileops"]["page"] = OpPage(spec, self.repository)
        found = performance(spec.name) if spec.implemented else None
        cls.extra["tileops"]["performance"] = found
        cls.extra["tileops"]["performance_chart"] = chart(found) if found else ""
