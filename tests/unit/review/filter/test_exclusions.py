"""Exclusion sentences: what they cover, however long they are, and where they end."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis_review.filter import InitialFilter
from tamis_review.filter.exclusions import MOST_VERBS, Exclusions
from tamis_schemas import SearchCriteria
from tamis_schemas.records.paper import PaperData

MANY = ", ".join(f"papers of kind {kind}" for kind in range(60))  # far more than a context's 40 words and 600 bytes
FILTER = InitialFilter(SearchCriteria(research_question="Do statins help?", inclusion_criteria=["statins"]))


def covered(text: str, ends: tuple[int, ...] = ()) -> str:
    """The words in capitals that the text's exclusion sentences cover."""
    exclusions = Exclusions(text.encode(), ends)
    return " ".join(found.group() for found in re.finditer("[A-Z]{2}", text) if exclusions.cover(found.start()))


@pytest.mark.parametrize(
    "text",
    [
        "Studies of AA, BB and CC are excluded",
        "Studies of AA, BB and CC will be excluded.",
        "Studies of AA, BB and CC should therefore not be included",
        "Studies of AA, letters that were published as BB, and CC were removed",
        "Studies of AA including BB, and CC are ineligible",
        "Studies of AA; studies of BB; and studies of CC are excluded",
        "Studies of AA, BB, CC excluded.",
        "We excluded AA, BB, and CC",
        "We will exclude AA; BB; and CC",
        "We exclude: AA; BB; CC",
        "We exclude the following studies: AA; BB; CC",
        "We exclude (1) AA; (2) BB; (3) CC",
        "They were grouped, excluding AA, BB, letters that were published as CC",
        "Exclusion criteria were AA, BB, CC",
        "The exclusion criteria included AA, BB, CC",
        "With the exclusion of AA, BB, CC",
    ],
)
def test_all_that_an_exclusion_sentence_enumerates_is_covered(text: str) -> None:
    assert covered(text) == "AA BB CC"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("AA is studied", ""),
        ("AA and BB are included", ""),
        ("AA were pooled, and BB were excluded", "BB"),
        ("We pooled AA, and BB were excluded", "BB"),
        ("We pooled AA but BB were excluded", "BB"),
        ("AA were pooled with BB that were excluded", ""),
        ("AA; reviews of BB are excluded", "BB"),  # two statements; an enumeration ends in "; and ..."
        ("We excluded AA but we studied BB", "AA"),
        ("We excluded AA, including BB", "AA"),
        ("We exclude AA; BB in any language", "AA"),
        ("We excluded AA , whereas BB was studied", "AA"),
        ("We excluded AA and excluded BB", "AA BB"),
        ("AA are not excluded", ""),
        ("AA will never be excluded", ""),
        ("We do not exclude AA", ""),
        ("Reviews that were excluded, and AA", ""),
        ("No restriction was made; AA was included, BB was excluded", "BB"),
    ],
)
def test_another_statement_ends_what_is_covered(text: str, expected: str) -> None:
    assert covered(text) == expected


def test_nothing_is_covered_beyond_its_sentence() -> None:
    text = "AA is rare. BB were excluded. CC is rare. We excluded DD. EE is rare"
    ends = tuple(at for at, char in enumerate(text, 1) if char == ".")
    assert covered(text, ends) == "BB DD"


@pytest.mark.spec("3.8")
@pytest.mark.parametrize(
    ("abstract", "rule"),
    [
        (f"Case reports, {MANY} and in vitro studies were excluded.", None),
        (f"We excluded case reports, {MANY} and in vitro studies.", None),
        (f"Exclusion criteria: {MANY}; animal studies; in vitro studies.", None),
        (f"We excluded {MANY}. Statins were tested in vitro.", "in_vitro"),
        (f"Statins were tested in vitro, and {MANY} were excluded.", "in_vitro"),
        (f"We did not exclude {MANY} nor {MANY} in which statins were tested in vitro.", "in_vitro"),
        (f"In vitro work was done. {MANY} were excluded.", "in_vitro"),
    ],
)
def test_in_an_abstract_a_mention_in_an_exclusion_sentence_of_any_length_is_protected(
    abstract: str, rule: str | None
) -> None:
    assert FILTER.filter_paper(PaperData(title="T", abstract=abstract)).rule == rule


@settings(max_examples=30)
@given(st.lists(st.sampled_from(["kind a", "letters (e.g. b)", "papers that were old", "x; or y"]), max_size=300))
def test_the_length_of_the_enumeration_makes_no_difference(members: list[str]) -> None:
    text = ", ".join(["AA", *members, "and BB"])
    assert covered(f"{text} are excluded") == "AA BB"
    assert covered(f"We exclude {text}") == "AA BB"


@pytest.mark.timeout(20)  # a quadratic search would take hours
@pytest.mark.parametrize("unit", ["is excluded ", "; and ", "that were "])
def test_a_text_of_a_million_characters_is_read_within_a_bound(unit: str) -> None:
    text = f"AA {unit * (2**20 // len(unit))}".encode()
    assert not Exclusions(text, range(0, len(text), 100)).cover(len(text))


def test_no_more_than_a_bounded_number_of_verbs_is_read() -> None:
    assert covered(f"{'is ' * (MOST_VERBS - 1)}excluding AA") == "AA"
    assert covered(f"{'is ' * MOST_VERBS}excluding AA") == ""
