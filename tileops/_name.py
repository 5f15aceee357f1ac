"""Refuses to be imported beside the other project of the import name `tileops`.

On the Python package index `tileops` is somebody else's distribution with the same import name. Installed
into one environment, their files and ours lie in one folder, and Python imports a mixture of both.
"""

import os
import sys

__all__ = ["refuse_other_distribution"]

OWN_DISTRIBUTION = "tileops-h200"
METADATA = (".dist-info", ".egg-info")


def refuse_other_distribution() -> None:
    """Raise ImportError if the distribution `tileops` is installed anywhere on `sys.path`.

    One directory listing a path entry, 0.3 ms in all. `importlib.metadata` would answer the same, but
    importing it takes longer than `import tileops` should.
    """
    for entry in sys.path:
        found = _other_metadata(entry)
        if found is not None:
            raise ImportError(_message(os.path.join(entry, found)))


def _other_metadata(folder: str) -> str | None:
    """The other distribution's metadata in `folder`: "tileops-1.0.dist-info". Ours is "tileops_h200-..."."""
    try:
        names = os.listdir(folder or ".")
    except OSError:  # zip files, and folders that do not exist
        return None
    for name in names:
        if name[:7].lower() != "tileops":
            continue
        stem, suffix = os.path.splitext(name)
        if suffix in METADATA and stem.split("-")[0].lower() == "tileops":
            return name
    return None


def _message(metadata: str) -> str:
    return (
        "two projects share the import name 'tileops', and both are installed: this one, distribution "
        f"{OWN_DISTRIBUTION!r}, and another one, distribution 'tileops', found at {metadata}. Their files "
        f"would be mixed. Run `python -m pip uninstall tileops`, then install {OWN_DISTRIBUTION} again: "
        "each may have overwritten files of the other."
    )
