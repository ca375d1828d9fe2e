"""What the holder of a key sees of decisions while people read blind."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_review.decisions.visibility import Visibility
from tamis_schemas import Blinded, EvaluationResult, HumanStage, ItemResult, ItemStatus, Override, ScreeningMode

ME, OTHER = "Reviewer A", "Reviewer B"
BLIND = st.sampled_from([ScreeningMode.PAIR, ScreeningMode.MODEL_SECOND])
PLACES = st.integers(0, 5)
HIDDEN = st.frozensets(PLACES)


def override(index: int, reviewer: str) -> Override:
    return Override(
        batch_id="b",
        index=index,
        item_id=f"r{index}",
        value="include",
        reviewer=reviewer,
        created_at=datetime(2026, 3, 1, tzinfo=UTC),
        system_decided=True,
        system_value="exclude",
    )


DECISIONS = st.lists(st.builds(override, PLACES, st.sampled_from([ME, OTHER])))


def visibility(hidden: frozenset[int], mode: ScreeningMode = ScreeningMode.PAIR) -> Visibility:
    return Visibility("3f2a91c0-0000", mode, ME, hidden)


@given(hidden=HIDDEN, decisions=DECISIONS)
def test_nothing_hidden_is_told_and_everything_else_is(hidden: frozenset[int], decisions: list[Override]) -> None:
    told = visibility(hidden).overrides(decisions)
    for one in told:
        if one.index in hidden:
            assert (one.reviewer, one.system_decided, one.system_value) == (ME, False, None)
    assert [one for one in told if one.index not in hidden] == [one for one in decisions if one.index not in hidden]
    assert sum(one.reviewer == ME for one in told) == sum(one.reviewer == ME for one in decisions)


@given(hidden=HIDDEN, mode=BLIND, index=PLACES)
def test_what_needs_a_hidden_record_is_refused_with_what_opens_it(
    hidden: frozenset[int], mode: ScreeningMode, index: int
) -> None:
    seen = visibility(hidden, mode)
    refusals = {
        "whole": (seen.check_whole, bool(hidden)),
        "record": (lambda: seen.check_record(index), index in hidden),
        "settles": (lambda: seen.check_decision(index, HumanStage.OWN, settles=True), index in hidden),
        "report": (lambda: seen.check_decision(index, HumanStage.FULL_TEXT, settles=False), index in hidden),
    }
    for check, refused in refusals.values():
        if refused:
            with pytest.raises(Blinded, match="tamis blind 3f2a91c0 off"):
                check()
        else:
            check()
    seen.check_decision(index, HumanStage.OWN, settles=False)


@given(hidden=HIDDEN)
def test_hidden_items_have_no_result_as_if_nobody_had_decided(hidden: frozenset[int]) -> None:
    decided = EvaluationResult(value="include", confidence=0.9)
    rows = [ItemResult(index=n, item_id=f"r{n}", status=ItemStatus.DECIDED, item={}, result=decided) for n in range(6)]
    shown = visibility(hidden).results(rows)
    assert [row.result is None and row.status == ItemStatus.PENDING for row in shown] == [n in hidden for n in range(6)]
    assert [row for row in shown if row.index not in hidden] == [row for row in rows if row.index not in hidden]


@pytest.mark.parametrize("part", ["stages", "sources"])
def test_an_answer_about_all_records_is_refused_while_another_stage_or_the_source_of_examples_is_hidden(
    part: str,
) -> None:
    seen = replace(visibility(frozenset()), **{part: (visibility(frozenset({1})),)})
    with pytest.raises(Blinded, match="1 record is still read blind"):
        seen.check_whole()
    assert not seen.audits


def test_somebody_elses_name_is_refused_while_people_read_blind_and_then_alone() -> None:
    for mode in (ScreeningMode.PAIR, ScreeningMode.MODEL_SECOND):
        with pytest.raises(Blinded, match="you decide as 'Reviewer A', not as"):
            visibility(frozenset(), mode).check_name(OTHER)
        visibility(frozenset(), mode).check_name(ME)
        visibility(frozenset(), mode).check_name(None)
    visibility(frozenset(), ScreeningMode.SINGLE).check_name(OTHER)
