"""The benchmarks lie beside the packages, not among them."""

import sys
from pathlib import Path

import pytest

OWN = "tests/unit/benchmarks/"

sys.path.insert(0, str(Path(__file__).parents[3]))


@pytest.hookimpl(tryfirst=True)  # before the marks are looked at
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave tests of benchmarks to the night, unless the benchmarks changed."""
    for item in items:
        if item.nodeid.startswith(OWN):
            item.add_marker(pytest.mark.built_from("benchmarks"))
