"""The order of the rungs."""

from itertools import pairwise

import pytest

from tamis_worker.llm.chat import LOWEST, START, Rung, is_below, lower


def test_the_rungs_stand_in_their_order() -> None:
    assert [str(rung) for rung in Rung] == ["bounded", "strict", "json_object", "text", "reminded"]
    assert (START, LOWEST) == (Rung.STRICT, Rung.REMINDED)
    for higher, one_lower in pairwise(Rung):
        assert is_below(one_lower, higher)
        assert not is_below(higher, one_lower)


@pytest.mark.parametrize("rung", Rung)
def test_no_rung_is_below_itself(rung: Rung) -> None:
    assert not is_below(rung, rung)
    assert lower(rung, rung) is rung
    assert lower(rung, LOWEST) is lower(LOWEST, rung) is LOWEST
