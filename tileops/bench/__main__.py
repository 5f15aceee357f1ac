"""`python -m tileops.bench`."""

import sys

from tileops.bench.cli import main

sys.exit(main())
