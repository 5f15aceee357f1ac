"""Three layouts of well-known mkdocstrings sites, rebuilt small.

One entry for a package, a page for each module, and nested pages with an entry for each class.
"""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from scripts.api_coverage.cli import main
from tests.coverage.sample import Outcome

PLUGINS = """plugins:
  - mkdocstrings:
      handlers:
        python:
          paths: [{paths}]
          options: {{{options}}}
"""

# A whole package in one entry, `src` layout, names re-exported from private modules.
PACKAGE = {
    "mkdocs.yml": "site_name: Acme\nnav: [index.md, reference.md]\ntheme: mkdocs\n"
    + PLUGINS.format(paths="src", options='show_submodules: true, show_root_heading: true, filters: ["!^_"]'),
    "docs/index.md": "# Acme\n",
    "docs/reference.md": "# Reference\n\n::: acme\n",
    "src/acme/__init__.py": '''"""Acme."""

from acme._core import Client, connect
from acme.tools import dump

__all__ = ["Client", "connect", "dump"]
''',
    "src/acme/_core.py": '''"""Core."""


class Client:
    """A client."""

    def send(self):
        """Send."""

    def _close(self):
        pass


def connect():
    """Connect."""
''',
    "src/acme/tools.py": '''"""Tools."""


def dump():
    """Dump."""


def load():
    """Load."""
''',
}

# A page a module, without `__all__`, in two languages.
MODULES = {
    "mkdocs.yml": """site_name: Shop
nav:
  - api/index.md
  - api/app.md
  - api/cart.md
theme: mkdocs
extra:
  alternate:
    - {name: English, link: /, lang: en}
    - {name: French, link: /fr/, lang: fr}
"""
    + PLUGINS.format(paths=".", options="show_root_heading: true"),
    "docs/api/index.md": "# API\n",
    "docs/api/app.md": '---\ntitle: "shop.app"\n---\n\n::: shop.app\n',
    "docs/api/cart.md": "# Cart\n\n::: shop.cart\n    options:\n      members: [Cart, total]\n",
    "docs/fr/api/app.md": "# Application\n\n::: shop.app\n",
    "shop/__init__.py": '"""Shop."""\n',
    "shop/app.py": '''"""The application."""

from shop.cart import Cart


class App:
    """An application."""

    def run(self):
        """Run."""


def main():
    """Start."""
''',
    "shop/cart.py": '''"""Carts."""


class Cart:
    """A cart."""

    def add(self):
        """Add."""


def total():
    """Sum."""
''',
}

LAYER = '''

class {0}:
    """A {0}."""

    def __init__(self):
        """Make."""

    def __call__(self):
        """Call."""

    def extra(self):
        """More."""
'''
LAYER_PAGE = """## `{0}`

::: lab.nn.{0}
    options:
      members:
        - __init__
        - __call__

"""
CLASSES = ("Linear", "Conv", "Norm")

# Nested pages, an entry a class under a heading of its own, `members` that are listed, entries in a tab.
NESTED = {
    "mkdocs.yml": "site_name: Lab\ntheme: mkdocs\n"
    "markdown_extensions: [{pymdownx.tabbed: {alternate_style: true}}]\n"
    + PLUGINS.format(paths=".", options="heading_level: 3"),
    "docs/index.md": "# Lab\n",
    "docs/api/nn/layers.md": "# Layers\n\nLayers.\n\n"
    + "".join(map(LAYER_PAGE.format, CLASSES))
    + "---\n\nThat is all.\n",
    "docs/api/nn/functional.md": '# Functions\n\n=== "Tab"\n\n    ::: lab.nn.relu\n\n    ::: lab.nn.gelu\n',
    "lab/__init__.py": '"""Lab."""\n\nfrom lab import nn as nn\n\n__all__ = ["nn"]\n',
    "lab/nn/__init__.py": '''"""Networks."""

from ._functional import gelu, relu
from ._layers import Conv, Linear, Norm

__all__ = ["Conv", "Linear", "Norm", "gelu", "relu"]
''',
    "lab/nn/_layers.py": '"""Layers."""\n' + "".join(map(LAYER.format, CLASSES)),
    "lab/nn/_functional.py": '''"""Functions."""


def relu():
    """Cut."""


def gelu():
    """Bend."""
''',
}

LAYOUTS = {
    "package": (PACKAGE, ["--package", "acme", "--search-path", "src"]),
    "modules": (MODULES, ["--package", "shop"]),
    "nested": (NESTED, ["--package", "lab"]),
}


class Layout:
    """A checkout of one of them."""

    def __init__(self, root: Path, name: str) -> None:
        self.root, self.name = root, name
        files, arguments = LAYOUTS[name]
        self.arguments = [*arguments]
        for file, text in files.items():
            self.write(file, text)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())

    def read(self, name: str) -> str:
        return (self.root / name).read_bytes().decode()

    def edit(self, name: str, old: str, new: str) -> None:
        assert old in self.read(name), f"{name} has no {old!r}"
        self.write(name, self.read(name).replace(old, new))

    def check(self, *more: str, stage: str = "1") -> Outcome:
        arguments = [str(self.root / a) if a == "src" else a for a in self.arguments]
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            config = ["--mkdocs-config", str(self.root / "mkdocs.yml"), "--root", str(self.root)]
            code = main(["--format", "json", "--stage", stage, *config, *arguments, *more])
        return Outcome(code, out.getvalue(), err.getvalue())

    def required(self, *more: str) -> int:
        return int(json.loads(self.check(*more).out)["required"])
