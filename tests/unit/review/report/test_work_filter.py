"""Words that are searched for in records, and words of criteria that are marked in them."""

import re

import pytest

from tamis_review.report.work_filter import exact_pattern, like_pattern, marked_words


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
