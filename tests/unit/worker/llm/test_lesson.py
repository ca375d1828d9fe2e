"""What answers teach: the table of `lesson`, and its laws."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_worker.llm.json_answer import Malformed
from tamis_worker.llm.lesson import MAX_WASTED, Learned, Lesson, Tried, after_answer, lesson_of
from tamis_worker.llm.rung import LOWEST, START, Rung, is_below, lower

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
USABLE, FOLLOWED, OUT, OTHER = Lesson.USABLE, Lesson.FOLLOWED, Lesson.OUT_OF_BOUNDS, Lesson.OTHER_SHAPE


@pytest.mark.parametrize(
    ("value", "lesson"),
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
def test_an_answer_that_was_refused_is_told_by_its_shape(value: object, lesson: Lesson) -> None:
    assert lesson_of(value, SCHEMA) is lesson


def test_a_hostile_pattern_of_a_caller_is_judged_in_linear_time() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string", "pattern": "^(a+)+$"}}, "required": ["name"]}
    assert lesson_of({"name": "a" * 5_000 + "!"}, schema) is OUT


NEW = Learned()
STRICT = Learned(proven=True)
TEXT = Learned(Rung.TEXT, proven=True)


@pytest.mark.parametrize(
    ("known", "asked_on", "lesson", "worn", "then"),
    [
        # nothing is proven yet: the first bad answer steps down
        (NEW, Rung.STRICT, OTHER, False, Learned(Rung.JSON_OBJECT, unusable=1)),
        (Learned(Rung.JSON_OBJECT, unusable=1), Rung.JSON_OBJECT, OTHER, False, Learned(Rung.TEXT, unusable=2)),
        (Learned(Rung.TEXT, unusable=2), Rung.TEXT, OTHER, False, Learned(LOWEST)),
        (NEW, Rung.STRICT, OUT, False, Learned(Rung.BOUNDED, unusable=1)),
        (Learned(Rung.BOUNDED, unusable=1), Rung.BOUNDED, OTHER, False, Learned(Rung.JSON_OBJECT, unusable=2)),
        (Learned(Rung.JSON_OBJECT, unusable=2), Rung.JSON_OBJECT, OTHER, False, Learned(LOWEST)),  # the third: no more
        # an answer below the rung that refusals led to is one of the model all the same
        (NEW, Rung.JSON_OBJECT, OTHER, False, Learned(Rung.TEXT, unusable=1)),
        (NEW, Rung.JSON_OBJECT, USABLE, False, STRICT),
        # nothing to be learned: the shape was followed, or no longer form is left
        (NEW, Rung.STRICT, FOLLOWED, False, NEW),
        (Learned(Rung.BOUNDED), Rung.BOUNDED, OUT, False, Learned(Rung.BOUNDED)),
        (Learned(Rung.BOUNDED), Rung.STRICT, OUT, False, Learned(Rung.BOUNDED)),  # bounded was refused here
        (Learned(Rung.TEXT), Rung.TEXT, OUT, False, Learned(Rung.TEXT)),
        # proven: a glitch is none of its business, too many are
        (NEW, Rung.STRICT, USABLE, False, STRICT),
        (STRICT, Rung.STRICT, OTHER, False, STRICT),
        (STRICT, Rung.STRICT, OTHER, True, Learned(Rung.JSON_OBJECT, unusable=1)),
        (STRICT, Rung.STRICT, OUT, True, Learned(Rung.BOUNDED, proven=True, unusable=1)),
        (STRICT, Rung.JSON_OBJECT, OTHER, True, STRICT),  # of one schema, which is refused on a rung that works
        # the lowest rung counts
        (Learned(LOWEST), LOWEST, OTHER, False, Learned(LOWEST, unusable=1)),
        (Learned(LOWEST, unusable=18), LOWEST, FOLLOWED, False, Learned(LOWEST, unusable=19)),
        (Learned(LOWEST, unusable=18), LOWEST, USABLE, False, Learned(LOWEST, proven=True)),
        (Learned(LOWEST, proven=True), LOWEST, OTHER, True, Learned(LOWEST, proven=True)),
        # answers to calls from before the step teach nothing any more
        (Learned(Rung.JSON_OBJECT, unusable=1), Rung.STRICT, OTHER, True, Learned(Rung.JSON_OBJECT, unusable=1)),
        (TEXT, Rung.STRICT, USABLE, False, TEXT),
        # after a day the first rung is tried anew
        (replace(TEXT, due=True), Rung.STRICT, USABLE, False, STRICT),
        (replace(TEXT, due=True), Rung.STRICT, OTHER, True, TEXT),
    ],
)
def test_what_follows_from_an_answer(known: Learned, asked_on: Rung, lesson: Lesson, worn: bool, then: Learned) -> None:
    assert after_answer(known, asked_on, lesson, worn=worn) == then


@pytest.mark.parametrize(
    ("answers", "bad", "worn"),
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
def test_a_proven_rung_is_worn_by_more_than_a_twentieth_of_bad_answers(answers: int, bad: int, worn: bool) -> None:
    assert Tried(answers, bad).wears(Lesson.OTHER_SHAPE) is worn


@pytest.mark.parametrize(
    ("answers", "bad", "worn"),
    [
        (1, 1, True),
        (99, 1, True),  # 1 > 0.99
        (100, 1, False),  # 1 > 1 is not so
        (300, 3, False),
        (300, 4, True),
    ],
)
def test_the_long_form_is_sent_where_more_than_a_hundredth_was_out_of_bounds(
    answers: int, bad: int, worn: bool
) -> None:
    assert Tried(answers, bad).wears(Lesson.OUT_OF_BOUNDS) is worn


@pytest.mark.parametrize(("lesson", "bad"), [(USABLE, 0), (FOLLOWED, 0), (OUT, 1), (OTHER, 1)])
def test_what_is_bad_is_the_shape_alone(lesson: Lesson, bad: int) -> None:
    tried = Tried()
    tried.note(lesson)
    assert tried == Tried(1, bad)


LESSONS = st.lists(st.tuples(st.sampled_from(Lesson), st.sampled_from(Rung), st.booleans()), max_size=40)


@given(LESSONS)
def test_within_a_day_nothing_but_the_long_form_is_ever_gained(heard: list[tuple[Lesson, Rung, bool]]) -> None:
    known = Learned()
    for lesson, refused_down_to, worn in heard:
        then = after_answer(known, lower(known.rung, refused_down_to), lesson, worn=worn)
        rises = is_below(known.rung, then.rung)
        assert not rises or (known.rung, then.rung, lesson) == (Rung.STRICT, Rung.BOUNDED, OUT)
        known = then


@given(st.lists(st.sampled_from([OUT, OTHER]), min_size=MAX_WASTED, max_size=MAX_WASTED))
def test_an_endpoint_that_follows_nothing_but_the_lowest_rung_wastes_three_answers(bad: list[Lesson]) -> None:
    """Whatever is wrong with the answers, as long as each of them teaches something."""
    known, wasted = START_KNOWN, 0
    for lesson in [*bad, *[OTHER] * 9]:
        if known.rung is LOWEST:
            break
        then = after_answer(known, known.rung, lesson, worn=False)
        wasted += then != known
        known = then
    assert known == Learned(LOWEST)
    assert wasted == MAX_WASTED


START_KNOWN = Learned(START)
