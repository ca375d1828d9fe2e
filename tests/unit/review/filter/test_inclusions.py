"""Which rules the criteria switch off: a mention counts as included, unless it is excluded in words."""

import pytest

from tamis_review.filter.inclusions import MOST_TERMS, switched_off
from tamis_schemas import SearchCriteria

ANIMAL = {"animal", "in_vitro"}  # papers of the one kind speak of the other
CASES = {"case_report", "case_series"}


MANY = ", ".join(f"papers of kind {kind}" for kind in range(80))  # 1,300 characters


def off(included: str | list[str] = "adults", excluded: str | list[str] = (), **more: object) -> set[str]:  # type: ignore[assignment]  # an empty default
    fields: dict[str, object] = {
        "research_question": "Do statins help?",
        "inclusion_criteria": [included] if isinstance(included, str) else included,
        "exclusion_criteria": [excluded] if isinstance(excluded, str) else list(excluded),
    }
    return {rule.value for rule in switched_off(SearchCriteria.model_validate(fields | more))}


@pytest.mark.parametrize(
    ("included", "expected"),
    [
        ("adults", set()),
        ("Human studies", set()),
        ("animal studies", ANIMAL),
        ("Human and animal studies", ANIMAL),
        ("mice", ANIMAL),
        ("preclinical studies", ANIMAL),
        ("in vitro studies", ANIMAL),
        ("in-vitro studies", ANIMAL),
        ("Randomised trials and case series", CASES),
        ("case reports and case series", CASES),
        ("Any study design", CASES),
        ("All types of studies", CASES),
        ("no restriction on study design", CASES),
        ("regardless of study design", CASES),
        ("any publication type", CASES | {"protocol", "opinion"}),
        ("treatment protocols", {"protocol"}),
        ("editorials, letters", {"opinion"}),
        ("errata of included trials", {"correction"}),
        ("retracted articles", {"retracted"}),
    ],
)
def test_an_inclusion_criterion_switches_off_what_it_names(included: str, expected: set[str]) -> None:
    assert off(included) == expected


@pytest.mark.parametrize(
    "included",
    [
        "Humans, excluding animal studies and case reports",
        "No animal studies, case reports or editorials",
        "Animal studies are excluded",
        "Animal studies and case reports were not eligible",
        "Animal studies will not be considered",
        "human rather than animal studies",
        "studies other than case reports",
        "not in animals",
        "exclusion of systems for non-clinicians (e.g. animal models)",
        "We excluded (1) reviews, (2) case reports, (3) editorials.",
        "Adults with PTSD.\nExclusion criteria: animal studies, case reports, editorials and study protocols",
        "Included: adults\nExcluded:\n- case reports\n- editorials\n- in vitro or animal work",
        "studies without\nanimal models",
        "No animal studies, no case reports",
        "neither animal studies nor case reports",
        "not animal studies or in vitro studies, and no case reports",
        "Animal studies, case reports, case series, letters, editorials, conference abstracts and all other papers "
        "that report no original data are excluded",
        f"Animal studies, case reports, {MANY} and editorials will be excluded.",
        f"We exclude animal studies, {MANY}, case reports and editorials",
        f"Animal studies (e.g. in mice), {MANY} and case reports that were never reviewed should not be included.",
        f"Adults. Case reports; {MANY}; editorials; and in vitro studies are ineligible.",
        "We exclude the following: animal studies; case reports; editorials.",
        "We exclude (1) reviews; (2) animal studies; (3) case reports",
        "We excluded the following types of publications: letters; in vitro studies",
    ],
)
def test_a_negated_mention_in_an_inclusion_criterion_switches_nothing_off(included: str) -> None:
    assert off(included) == set()


@pytest.mark.parametrize(
    ("included", "expected"),
    [
        ("not only human but also animal studies", ANIMAL),
        ("No restriction to humans, animal studies are included", ANIMAL),
        ("Studies that do not exclude animals", ANIMAL),
        ("Whether or not animals were used", ANIMAL),
        ("No reviews. Animal studies.", ANIMAL),
        (f"Animal studies will be pooled, and {MANY} and case reports are excluded.", ANIMAL),
        (f"We exclude {MANY} but include animal studies.", ANIMAL),
        (f"Animal studies are of interest, whereas {MANY} and case reports are excluded.", ANIMAL),
        (f"We will not exclude {MANY} and animal studies.", ANIMAL),
        (f"We exclude {MANY}. Animal studies", ANIMAL),
        (f"We exclude {MANY} other than animal studies", ANIMAL),
        ("Animal studies; case reports are excluded", ANIMAL),
        ("We exclude reviews; animal studies of any kind in any language that appeared in a journal", ANIMAL),
        (f"{MANY} are excluded.\nAnimal studies", ANIMAL),
        ("No reviews\n- Animal studies", ANIMAL),
        ("Exclusion: reviews\nInclusion: animal studies", ANIMAL),
        ("Inclusion: in vitro studies\nExclusion: animal studies", {"in_vitro"}),
        ("All study designs except case reports", {"case_series"}),
    ],
)
def test_a_negation_reaches_as_far_as_a_reader_takes_it(included: str, expected: set[str]) -> None:
    assert off(included) == expected


@pytest.mark.parametrize(
    ("excluded", "expected"),
    [
        ("Animal studies", set()),
        ("No animal studies", set()),
        ("Excluding animal studies", set()),
        ("Animal studies will be excluded", set()),
        ("non-human animals", set()),
        ("Publications without human participants (animal, in vitro)", set()),
        ("Studies that combine human and animal data", set()),
        ("Studies other than case reports", CASES),
        ("Case reports, except case series of more than five", {"case_series"}),
        ("not animal studies", ANIMAL),
    ],
)
def test_an_exclusion_criterion_keeps_a_rule_on_unless_it_is_turned_round(excluded: str, expected: set[str]) -> None:
    assert off("adults", excluded) == expected


def test_what_is_excluded_in_words_is_not_switched_off_with_its_relative() -> None:
    assert off("case series", "case reports") == {"case_series"}
    assert off("in vitro studies", "animal studies") == {"in_vitro"}
    assert off("Any study design", ["case reports", "case series"]) == set()


def test_an_inclusion_outweighs_an_exclusion_of_the_same() -> None:
    assert off("animal models of PTSD", "animal models of other disorders") >= {"animal"}


def test_the_question_the_purpose_and_the_study_types_count_as_inclusions() -> None:
    assert off(research_question="What do mouse models tell of PTSD?") == ANIMAL
    assert off(purpose="To find in vitro evidence") == ANIMAL
    assert off(study_types=["case series"]) == CASES


def test_the_reason_names_the_term_and_its_criterion() -> None:
    criteria = SearchCriteria(research_question="Q", inclusion_criteria=["Trials, and case series of ten"])
    reasons = {rule.value: why for rule, why in switched_off(criteria).items()}
    assert reasons == {
        "case_series": "the criteria include 'case series': 'Trials, and case series of ten'",
        "case_report": "the criteria do not exclude this, and include 'case series': 'Trials, and case series of ten'",
    }


@pytest.mark.timeout(60)
def test_a_criterion_of_any_length_is_read_within_a_bound() -> None:
    assert off("animal " * 50_000) == ANIMAL
    assert off("no animal, " * (MOST_TERMS // 2)) == set()
    assert off(f"Animal studies, {'papers, ' * 100_000} and case reports are excluded") == set()
    assert off(f"animal studies, {'papers are, ' * 100_000} excluded") == ANIMAL
