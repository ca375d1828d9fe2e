"""Case reports, case series and opinions: what a review, and what a series of ten or more, protects."""

import pytest

from tamis_review.filter import InitialFilter
from tamis_schemas import SearchCriteria
from tamis_schemas.records.paper import PaperData

FILTER = InitialFilter(SearchCriteria(research_question="Do statins help?", inclusion_criteria=["statins"]))
CASE = "Case report: a man fell."


def rule(title: str, abstract: str | None = None) -> str | None:
    return FILTER.filter_paper(PaperData(title=title, abstract=abstract)).rule


@pytest.mark.parametrize(
    ("title", "abstract"),
    [
        ("Falls: a case report [Review]", None),
        ("Falls: a case report (review)", None),
        ("Falls: a case report [Review] [45 refs]", None),
        ("Falls: a case series [Systematic review]", None),
        ("Falls: case reports (Review article)", None),
        ("Case report: falls. A scoping review", None),
        ("Falls: a commentary and meta-analysis of trials", None),
        ("Falls: a case series and meta analysis", None),
        ("Falls: a case report", "We performed a systematic review of the literature."),
        ("Falls: a case series", "This scoping review maps what is known."),
        ("Falls", f"{CASE} We conducted a systematic literature review."),
        ("Falls", f"{CASE} A systematic search of two databases was performed."),
        ("Falls", f"{CASE} We systematically searched two databases."),
        ("Falls", f"{CASE} This meta-analysis adds them up."),
        ("Falls", f"{CASE} We followed PRISMA."),
        ("Falls: a commentary [Review]", None),
        ("Commentary: falls [Review]", None),
        ("Falls in mice [Review]", None),
        ("Falls in vitro (review)", None),
        ("Falls [Review]", "The animal model has its critics."),
        ("Falls", "This commentary asks why. We conducted a systematic review."),
    ],
)
def test_a_review_protects_a_mention_of_case_reports_and_series(title: str, abstract: str | None) -> None:
    assert rule(title, abstract) is None


@pytest.mark.parametrize(
    ("title", "abstract", "expected"),
    [
        ("Falls: a case report and review of the literature", None, "case_report"),
        ("Falls: a case report", "Systematic reviews are lacking.", "case_report"),
        ("Falls: a case series", "No meta-analysis of falls is known.", "case_series"),
        ("Falls", f"{CASE} A systematic review is needed.", "case_report"),
        ("Falls (under review): a case report", None, "case_report"),
        # What a review does not change: a plan is a plan, a title's own type is its type, an animal is an animal.
        ("Falls: study protocol for a systematic review", None, "protocol"),
        ("Editorial: systematic reviews of falls", None, "opinion"),
        ("Falls in mice: a systematic review", None, "animal"),
    ],
)
def test_a_review_that_the_paper_is_not_protects_nothing(title: str, abstract: str | None, expected: str) -> None:
    assert rule(title, abstract) == expected


LARGE = [
    "a case series of 24 patients",
    "a case series (n = 24)",
    "a case series (N=10)",
    "a case series of twenty-four patients",
    "a case series in twenty four consecutive adult patients",
    "a case series of ten women",
    "a case series of 1,024 cases",
    "a case series of 24",
    "a 24-patient case series",
    "a case series of a hundred and two children",
    "a case series of two dozen patients",
]
SMALL = [
    "a case series",
    "a case series of 9 patients",
    "a case series of nine patients",
    "a case series (n = 9)",
    "a case series of three 54-year-old patients",
    "a case series of 54 year old patients",
    "a case series over 12 months in patients",
    "a case series of a disease of 1 in 5,000 children",
    "a case series of 10% of patients",
    "a case series of 2015 patients",  # rather a year
    "a case series of 9 patients, 18 ears",
]


@pytest.mark.parametrize("says", LARGE)
def test_a_case_series_of_ten_or_more_passes(says: str) -> None:
    assert rule(f"Falls: {says}") is None
    assert rule("Falls: a case series", f"We describe {says}.") is None
    assert rule("Falls", f"We describe {says}.") is None


@pytest.mark.parametrize("says", SMALL)
def test_a_case_series_of_fewer_or_of_an_unknown_number_is_rejected(says: str) -> None:
    assert rule(f"Falls: {says}") == "case_series"
    assert rule("Falls: a case series", f"We describe {says}.") == "case_series"
    assert rule("Falls", f"We describe {says}.") == "case_series"


def test_a_number_of_patients_makes_a_case_report_no_series() -> None:
    assert rule("Falls: a case report", "Of 24 patients one fell.") == "case_report"


@pytest.mark.timeout(20)  # a quadratic search would take hours
@pytest.mark.parametrize("unit", ["10 year old patients ", "we did a ", "[review"])
def test_an_abstract_of_a_million_characters_is_read_within_a_bound(unit: str) -> None:
    assert rule("Falls: a case series", unit * (2**20 // len(unit))) == "case_series"
