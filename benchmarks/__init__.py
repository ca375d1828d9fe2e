"""The figures that the documents quote, each as a command. `python -m benchmarks` measures the whole system.

The LLM double is a server that stands in for the LLM, from the tests.
"""

import sys
from pathlib import Path

# The LLM double and the bounded waits are shared with the tests.
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
