"""The specification layer: manifest files to typed, checked operator specs. Needs neither torch nor a GPU."""

from tileops.spec.cases import BoundCase, bind_case
from tileops.spec.loader import all_specs, families, load, load_family, manifest_dir, read_file
from tileops.spec.model import OpSpec, torch_name

__all__ = [
    "BoundCase",
    "OpSpec",
    "all_specs",
    "bind_case",
    "families",
    "load",
    "load_family",
    "manifest_dir",
    "read_file",
    "torch_name",
]
