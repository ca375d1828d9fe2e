"""The figures that the documents quote, each as a command; `python -m benchmarks` runs those of the whole system."""

import sys
from pathlib import Path

# The LLM double and the bounded waits are shared with the tests.
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
