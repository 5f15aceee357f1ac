"""Griffe extension: gives each operator's class its entry of the manifest, for the template to render."""

from __future__ import annotations

from typing import Any

from griffe import AliasResolutionError, Class, Extension, GriffeLoader

from tileops.spec import all_specs
from tileops_docs.page import OpPage
from tileops_docs.performance import performance
from tileops_docs.performance_chart import chart
from tileops_docs.where import canonical

__all__ = ["ManifestExtension", "found_class", "found_object"]

_classes: dict[str, Class] = {}
_loaders: list[GriffeLoader] = []


def found_class(name: str) -> Class | None:
    """The class of an operator as the last build read it."""
    return _classes.get(name)


def found_object(path: str) -> Any:
    """What the last build read at a path, through aliases; `None` where there is nothing."""
    for loader in reversed(_loaders):
        try:
            found = loader.modules_collection[path]
            return found.final_target if found.is_alias else found
        except (KeyError, AliasResolutionError):
            continue
    return None


class ManifestExtension(Extension):
    """Puts an `OpPage` into `cls.extra["tileops"]["page"]` of every class that the manifest declares.

    Beside it stand the recorded measurements, `"performance"`, and their chart, `"performance_chart"`.

    Args:
        repository: URL of the repository, for links to sources.
    """

    def __init__(self, repository: str) -> None:
        self.repository = repository

    def on_class(self, *, cls: Class, loader: GriffeLoader, **kwargs: Any) -> None:
        if loader not in _loaders:
            _loaders.append(loader)
        spec = all_specs().get(cls.name)
        if spec is None or cls.canonical_path != canonical(spec.name):
            return
        _classes[spec.name] = cls
        cls.extra["tileops"]["page"] = OpPage(spec, self.repository)
        found = performance(spec.name) if spec.implemented else None
        cls.extra["tileops"]["performance"] = found
        cls.extra["tileops"]["performance_chart"] = chart(found) if found else ""
