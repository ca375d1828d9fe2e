"""Criteria that are valid and probably not meant so."""

import pytest

from tamis_review.plans.criteria_lint import doubts
from tamis_schemas import SearchCriteria


def doubted(included: list[str], excluded: list[str], **others: list[str]) -> list[str]:
    return doubts(
        SearchCriteria.model_validate(
            {"research_question": "q", "inclusion_criteria": included, "exclusion_criteria": excluded, **others}
        )
    )


@pytest.mark.parametrize(
    ("included", "excluded"),
    [
        (["adults", "randomised trials"], ["animals", "reviews"]),
        (["adults over 18"], ["adults over 65"]),  # only their numbers differ
        (["published in English"], ["published in Spanish"]),
        (["home-based exercise"], ["hospital-based exercise"]),
    ],
)
def test_sound_criteria_raise_no_doubt(included: list[str], excluded: list[str]) -> None:
    assert doubted(included, excluded) == []


def test_study_types_are_an_inclusion_criterion_however_many_there_are() -> None:
    assert doubted([], ["animals"], study_types=["cohort study " * 30]) == []
    (doubt,) = doubted(["published in mice", "people"], ["cats"], study_types=["RCT"], custom_keywords=["RCT"])
    assert doubt.startswith("custom_keywords: 'RCT' occurs in S1")


def test_a_wording_that_repeats_an_inclusion_criterion_is_doubted() -> None:
    worded = {"criterion": "Randomised trials", "exclude_as": "randomised trials."}
    (doubt,) = doubts(SearchCriteria.model_validate({"research_question": "q", "inclusion_criteria": [worded]}))
    assert doubt.startswith("I1: exclude_as repeats the criterion")
    assert (
        doubts(
            SearchCriteria.model_validate(
                {"research_question": "q", "inclusion_criteria": ["a"], "exclusion_criteria": [worded]}
            )
        )
        == []
    )


@pytest.mark.spec("3.23")
@pytest.mark.parametrize(
    ("included", "excluded", "said"),
    [
        (["Randomised trials", "randomised trials."], [], "I1 and I2 say the same"),
        (["randomised trials", "randomized trials"], [], "I1 and I2 say the same"),
        (["a"], ["case reports", "The case reports"], "E1 and E2 say the same"),
        (["case reports"], ["case reports"], "I1 and E1 contradict each other: no record"),
        (["animals", "no animals"], [], "I1 and I2 contradict each other: one denies the other"),
        (["no animals"], ["animals"], "I1 and E1 say the same"),
        (["excluding animals"], ["case reports"], "I1 begins with 'excluding': does it belong in exclusion_criteria?"),
        (["adults"], ["only in English"], "E1 begins with 'only': does it belong in inclusion_criteria?"),
        (["adults"], ["No animal studies"], "E1 begins with 'no': records that meet it are excluded"),
        (["adults " * 50], [], "I1 has 349 characters, but gets one verdict"),
        ([], ["animals"], "there is no inclusion criterion"),
    ],
)
def test_what_is_probably_not_meant_is_said(included: list[str], excluded: list[str], said: str) -> None:
    (doubt,) = doubted(included, excluded)
    assert doubt.startswith(said)


def test_a_keyword_that_excludes_what_is_to_be_included_is_doubtful() -> None:
    said = doubted(["Studies of Simulation, in adults", "trials"], [], custom_keywords=["simulation", "q", "rial"])
    assert said == [
        "custom_keywords: 'simulation' occurs in I1, but the initial filter excludes records with it",
        "custom_keywords: 'q' occurs in research_question, but the initial filter excludes records with it",
    ]
