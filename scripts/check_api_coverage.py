#!/usr/bin/env python3
"""Check that every public name and every operator of the manifest has its entry on the documentation site.

    python scripts/check_api_coverage.py                      # both stages, on a site that it builds itself
    python scripts/check_api_coverage.py --stage 1            # sources only, about a second
    python scripts/check_api_coverage.py --stage 2 --site site    # a site that was just built

Exit status: 0 complete, 1 something is missing (the lines to paste are printed), 2 the input cannot be used.
It imports neither torch nor the package that it checks.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.api_coverage.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(root=ROOT))
