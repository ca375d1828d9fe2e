"""Pages of a work list, for whom a record waits, and words that are searched for in records or marked in them."""

import re

import pytest

from tamis_review.report.work_filter import (
    Said,
    cursor,
    exact_pattern,
    like_pattern,
    marked_words,
    page,
    place_of,
    ranked,
    reading_first,
)
from tamis_schemas import InvalidParameters, ScreeningMode


@pytest.mark.parametrize(
    ("word", "record", "found"),
    [
        ("muller", '{"authors":"Müller"}', True),
        ("MÜLLER", '{"authors":"Muller"}', True),
        ("title", '{"title":"A trial"}', False),
        ("title", '{"abstract":"the title says"}', True),
        ("5.2", '{"title":"5x2"}', False),
        ('"so"', '{"title":"it is \\"so\\" said"}', True),
        ("δ-wave", '{"title":"Δ-wave"}', True),
    ],
)
def test_a_word_is_found_in_the_values_of_a_record_whatever_its_case_and_accents(
    word: str, record: str, found: bool
) -> None:
    assert bool(re.search(exact_pattern(word), record, re.IGNORECASE)) is found


def test_a_sign_of_a_pattern_in_a_word_stands_for_itself() -> None:
    assert like_pattern("50%_\\") == r"%50\%\_" + "\\\\" * 2 + "%"


def test_words_of_criteria_are_marked_once_and_without_those_that_every_text_has() -> None:
    assert marked_words(["Adults with asthma", "adults, randomised"]) == ["adults", "asthma", "randomised"]


def test_pages_follow_each_other_without_a_gap_or_a_repetition() -> None:
    order, found = [4, 2, 0, 1, 3, 5], {0, 1, 2, 3, 4}
    first, after = page(order, found, None, 2)
    second, behind = page(order, found, after, 2)
    third, end = page(order, found, behind, 2)
    assert (first, second, third, end) == ([4, 2], [0, 1], [3], None)


def test_a_page_goes_on_where_the_record_behind_which_it_begins_is_no_longer_found() -> None:
    assert page([4, 2, 0, 1], {0, 1}, 2, 5) == ([0, 1], None)


def test_a_full_page_that_is_the_last_says_so() -> None:
    assert page([0, 1], {0, 1}, None, 2) == ([0, 1], None)


@pytest.mark.parametrize("place", [0, 7, 2**31 - 1])
def test_a_cursor_is_read_as_the_place_that_it_was_made_of(place: int) -> None:
    assert place_of(cursor(place)) == place


@pytest.mark.parametrize("text", ["", "7", "....", "YWZ0ZXItLTE", "é"])
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameters, match="not a cursor"):
        place_of(text)


@pytest.mark.parametrize(
    ("reviewers", "settled", "mode", "waits"),
    [
        ((), False, ScreeningMode.SINGLE, True),
        (("A",), False, ScreeningMode.SINGLE, False),
        (("B",), False, ScreeningMode.SINGLE, False),
        (("B",), False, ScreeningMode.PAIR, True),
        (("B", "C"), False, ScreeningMode.PAIR, False),
        (("A", "B"), False, ScreeningMode.PAIR, False),
        (("B",), True, ScreeningMode.PAIR, False),
        (("B",), False, ScreeningMode.MODEL_SECOND, False),
    ],
)
def test_a_record_waits_for_a_person_until_as_many_have_decided_as_the_mode_asks_for(
    reviewers: tuple[str, ...], settled: bool, mode: ScreeningMode, waits: bool
) -> None:
    assert Said(reviewers, conflict=False, settled=settled, first=1).waits(mode, "A") is waits


def test_every_record_of_the_batch_has_one_place_in_any_order() -> None:
    assert ranked([3, 1, 3, 9], 5) == [3, 1, 0, 2, 4]


def test_a_sample_is_read_first_then_what_others_of_a_pair_read_and_what_rules_exclude_last() -> None:
    said = {2: Said(("B",), conflict=False, settled=False, first=9), 4: Said(("B",), False, False, first=3)}
    order = [0, 1, 2, 3, 4, 5]
    assert ranked(reading_first([5], said, order, {0}, pairs=True), 6) == [5, 4, 2, 1, 3, 0]
    assert ranked(reading_first([5], said, order, {0}, pairs=False), 6) == [5, 1, 2, 3, 4, 0]
