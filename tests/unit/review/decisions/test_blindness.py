"""While people read blind, nobody is shown a decision that could sway their own."""

from hypothesis import example, given
from hypothesis import strategies as st

from tamis_review.decisions.blindness import is_hidden
from tamis_schemas import ScreeningMode

PAIR, MODEL, SINGLE = ScreeningMode.PAIR, ScreeningMode.MODEL_SECOND, ScreeningMode.SINGLE
NAMES = st.sampled_from(["A", "B", "C", "D"])
DECIDED = st.lists(NAMES, unique=True)


@given(decided=DECIDED, me=NAMES, kept_out=st.booleans())
def test_where_nobody_reads_blind_nothing_is_hidden(decided: list[str], me: str, kept_out: bool) -> None:
    assert not is_hidden(SINGLE, decided, me, kept_out=kept_out)


@given(decided=DECIDED, me=NAMES)
def test_in_a_pair_nobody_sees_a_decision_before_two_have_decided(decided: list[str], me: str) -> None:
    assert is_hidden(PAIR, decided, me) == (len(decided) < 2)


@given(decided=DECIDED, me=NAMES)
def test_beside_the_model_a_record_opens_to_those_who_have_decided_on_it(decided: list[str], me: str) -> None:
    assert is_hidden(MODEL, decided, me) == (me not in decided)


@given(mode=st.sampled_from(ScreeningMode), decided=DECIDED, me=NAMES)
@example(mode=PAIR, decided=["A"], me="B")
@example(mode=MODEL, decided=["A"], me="B")
def test_whoever_has_yet_to_decide_never_sees_the_one_decision_before_theirs(
    mode: ScreeningMode, decided: list[str], me: str
) -> None:
    if mode.blind and len(decided) == 1 and me not in decided:
        assert is_hidden(mode, decided, me)
        assert is_hidden(mode, decided, me, kept_out=True)


@given(mode=st.sampled_from(ScreeningMode), me=NAMES)
def test_what_a_rule_kept_out_before_anybody_read_it_waits_for_nobody(mode: ScreeningMode, me: str) -> None:
    assert not is_hidden(mode, [], me, kept_out=True)


def test_one_name_that_decided_twice_is_no_pair() -> None:
    assert is_hidden(PAIR, ["A", "A"], "B")
