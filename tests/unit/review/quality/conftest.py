"""The benchmarks lie beside the packages, not among them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[4]))
