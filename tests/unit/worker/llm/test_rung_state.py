"""The rung after an answer: the table of `dialect`, and its laws."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_worker.llm.chat import LOWEST, START, Rung, is_below, lower
from tamis_worker.llm.dialect import MAX_WASTED, Adherence, AnswerCounts, RungState, adherence_of, after_answer
from tamis_worker.llm.json_answer import Malformed

SCHEMA = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string", "maxLength": 10},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
    },
    "required": ["reasoning", "confidence"],
    "additionalProperties": False,
}
GOOD = {"reasoning": "so", "confidence": 0.5}
USABLE, FOLLOWED, OUT, OTHER = Adherence.USABLE, Adherence.FOLLOWED, Adherence.OUT_OF_BOUNDS, Adherence.OTHER_SHAPE


@pytest.mark.parametrize(
    ("value", "adherence"),
    [
        (GOOD, FOLLOWED),  # the operation refused it for another reason
        (GOOD | {"confidence": 1.5}, OUT),
        (GOOD | {"confidence": -1}, OUT),
        (GOOD | {"reasoning": "far too long"}, OUT),
        (GOOD | {"confidence": "0.5"}, OTHER),
        (GOOD | {"more": 1}, OTHER),
        ({"reasoning": "so"}, OTHER),
        ({}, OTHER),
        ([GOOD], OTHER),
        ("include", OTHER),
        (None, OTHER),
        (Malformed("no JSON object"), OTHER),
    ],
)
def test_an_answer_that_was_refused_is_told_by_its_shape(value: object, adherence: Adherence) -> None:
    assert adherence_of(value, SCHEMA) is adherence


def test_a_hostile_pattern_of_a_caller_is_judged_in_linear_time() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string", "pattern": "^(a+)+$"}}, "required": ["name"]}
    assert adherence_of({"name": "a" * 5_000 + "!"}, schema) is OUT


NEW = RungState()
STRICT = RungState(proven=True)
TEXT = RungState(Rung.TEXT, proven=True)


@pytest.mark.parametrize(
    ("known", "asked_on", "adherence", "beyond", "then"),
    [
        # nothing is proven yet: the first bad answer steps down
        (NEW, Rung.STRICT, OTHER, False, RungState(Rung.JSON_OBJECT, unusable=1)),
        (RungState(Rung.JSON_OBJECT, unusable=1), Rung.JSON_OBJECT, OTHER, False, RungState(Rung.TEXT, unusable=2)),
        (RungState(Rung.TEXT, unusable=2), Rung.TEXT, OTHER, False, RungState(LOWEST)),
        (NEW, Rung.STRICT, OUT, False, RungState(Rung.BOUNDED, unusable=1)),
        (RungState(Rung.BOUNDED, unusable=1), Rung.BOUNDED, OTHER, False, RungState(Rung.JSON_OBJECT, unusable=2)),
        (
            RungState(Rung.JSON_OBJECT, unusable=2),
            Rung.JSON_OBJECT,
            OTHER,
            False,
            RungState(LOWEST),
        ),  # the third: no more
        # an answer below the rung that refusals led to is one of the model all the same
        (NEW, Rung.JSON_OBJECT, OTHER, False, RungState(Rung.TEXT, unusable=1)),
        (NEW, Rung.JSON_OBJECT, USABLE, False, STRICT),
        # nothing to be learned: the shape was followed, or no longer form is left
        (NEW, Rung.STRICT, FOLLOWED, False, NEW),
        (RungState(Rung.BOUNDED), Rung.BOUNDED, OUT, False, RungState(Rung.BOUNDED)),
        (RungState(Rung.BOUNDED), Rung.STRICT, OUT, False, RungState(Rung.BOUNDED)),  # bounded was refused here
        (RungState(Rung.TEXT), Rung.TEXT, OUT, False, RungState(Rung.TEXT)),
        # proven: a glitch is none of its business, too many are
        (NEW, Rung.STRICT, USABLE, False, STRICT),
        (STRICT, Rung.STRICT, OTHER, False, STRICT),
        (STRICT, Rung.STRICT, OTHER, True, RungState(Rung.JSON_OBJECT, unusable=1)),
        (STRICT, Rung.STRICT, OUT, True, RungState(Rung.BOUNDED, proven=True, unusable=1)),
        (STRICT, Rung.JSON_OBJECT, OTHER, True, STRICT),  # of one schema, which is refused on a rung that works
        # the lowest rung counts
        (RungState(LOWEST), LOWEST, OTHER, False, RungState(LOWEST, unusable=1)),
        (RungState(LOWEST, unusable=18), LOWEST, FOLLOWED, False, RungState(LOWEST, unusable=19)),
        (RungState(LOWEST, unusable=18), LOWEST, USABLE, False, RungState(LOWEST, proven=True)),
        (RungState(LOWEST, proven=True), LOWEST, OTHER, True, RungState(LOWEST, proven=True)),
        # answers to calls from before the step teach nothing any more
        (RungState(Rung.JSON_OBJECT, unusable=1), Rung.STRICT, OTHER, True, RungState(Rung.JSON_OBJECT, unusable=1)),
        (TEXT, Rung.STRICT, USABLE, False, TEXT),
        # after a day the first rung is tried anew
        (replace(TEXT, due=True), Rung.STRICT, USABLE, False, STRICT),
        (replace(TEXT, due=True), Rung.STRICT, OTHER, True, TEXT),
    ],
)
def test_what_follows_from_an_answer(
    known: RungState, asked_on: Rung, adherence: Adherence, beyond: bool, then: RungState
) -> None:
    assert after_answer(known, asked_on, adherence, beyond_tolerance=beyond) == then


@pytest.mark.parametrize(
    ("answers", "bad", "beyond"),
    [
        (1, 1, False),  # a few are glitches, wherever they stand
        (4, 4, False),
        (5, 5, True),
        (100, 1, False),
        (100, 5, False),  # 5 % of 100
        (100, 6, True),
        (99, 5, True),
        (1_000, 50, False),
    ],
)
def test_a_proven_rung_is_worn_by_more_than_a_twentieth_of_bad_answers(answers: int, bad: int, beyond: bool) -> None:
    assert AnswerCounts(answers, bad).beyond_tolerance(Adherence.OTHER_SHAPE) is beyond


@pytest.mark.parametrize(
    ("answers", "bad", "beyond"),
    [
        (1, 1, True),
        (99, 1, True),  # 1 > 0.99
        (100, 1, False),  # 1 > 1 is not so
        (300, 3, False),
        (300, 4, True),
    ],
)
def test_the_long_form_is_sent_where_more_than_a_hundredth_was_out_of_bounds(
    answers: int, bad: int, beyond: bool
) -> None:
    assert AnswerCounts(answers, bad).beyond_tolerance(Adherence.OUT_OF_BOUNDS) is beyond


@pytest.mark.parametrize(("adherence", "bad"), [(USABLE, 0), (FOLLOWED, 0), (OUT, 1), (OTHER, 1)])
def test_what_is_bad_is_the_shape_alone(adherence: Adherence, bad: int) -> None:
    counts = AnswerCounts()
    counts.add(adherence)
    assert counts == AnswerCounts(1, bad)


ANSWERS = st.lists(st.tuples(st.sampled_from(Adherence), st.sampled_from(Rung), st.booleans()), max_size=40)


@given(ANSWERS)
def test_within_a_day_nothing_but_the_long_form_is_ever_gained(answers: list[tuple[Adherence, Rung, bool]]) -> None:
    known = RungState()
    for adherence, refused_down_to, beyond in answers:
        then = after_answer(known, lower(known.rung, refused_down_to), adherence, beyond_tolerance=beyond)
        rises = is_below(known.rung, then.rung)
        assert not rises or (known.rung, then.rung, adherence) == (Rung.STRICT, Rung.BOUNDED, OUT)
        known = then


@given(st.lists(st.sampled_from([OUT, OTHER]), min_size=MAX_WASTED, max_size=MAX_WASTED))
def test_an_endpoint_that_follows_nothing_but_the_lowest_rung_wastes_three_answers(bad: list[Adherence]) -> None:
    """Whatever is wrong with the answers, as long as each of them teaches something."""
    known, wasted = START_KNOWN, 0
    for adherence in [*bad, *[OTHER] * 9]:
        if known.rung is LOWEST:
            break
        then = after_answer(known, known.rung, adherence, beyond_tolerance=False)
        wasted += then != known
        known = then
    assert known == RungState(LOWEST)
    assert wasted == MAX_WASTED


START_KNOWN = RungState(START)
