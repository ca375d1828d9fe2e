"""The rules that the benchmark leaves out are where it says."""

import pkgutil

import pytest
from benchmarks.filter_rules import RULES


@pytest.mark.parametrize("place", [place for places in RULES.values() for place in places])
def test_what_is_put_aside_is_there(place: str) -> None:
    pkgutil.resolve_name(place)
