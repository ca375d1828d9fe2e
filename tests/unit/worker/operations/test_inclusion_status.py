"""What a status comes to: tables of every case, and the law that nothing unverified excludes."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis_schemas import (
    Inclusion,
    InclusionDecision,
    InclusionStatus,
    SearchCriteria,
    UncertainReason,
    UnclearPolicy,
    UnverifiedPolicy,
    Verdict,
)
from tamis_worker.operations import inclusion

CRITERIA = SearchCriteria(
    research_question="Does it work?", inclusion_criteria=["humans"], exclusion_criteria=["case reports"]
)
RECORD = {"id": "1", "title": "A trial in adults", "abstract": "We randomised 20 adults \u2013 all of them human."}
TRUE, INVENTED = "We randomised 20 adults", "Forty rabbits were given cola"


def parsed(operation: Inclusion, said: str, verdicts: dict[str, tuple[str, str | None]]) -> InclusionDecision:
    given: dict[str, Any] = {
        "rationale": "because",
        "verdicts": {label: {"quote": quote, "verdict": verdict} for label, (verdict, quote) in verdicts.items()},
        "status": said,
        "confidence": 0.9,
    }
    detail = inclusion.parse(operation, RECORD, given).detail
    assert isinstance(detail, InclusionDecision)
    return detail


def decision(
    status: str,
    included: str,
    excluded: str,
    unclear: str,
    *,
    unverified: str = "refer",
    quotes: tuple[str | None, str | None] = (TRUE, TRUE),
) -> InclusionDecision:
    operation = Inclusion(criteria=CRITERIA, unclear=UnclearPolicy(unclear), unverified=UnverifiedPolicy(unverified))
    return parsed(operation, status, {"I1": (included, quotes[0]), "E1": (excluded, quotes[1])})


# What the record ends as under the three policies (include, refer, exclude), every quote standing in the record.
TABLE = {
    # said, inclusion criterion, exclusion criterion
    ("include", "met", "not met"): ("include", "include", "include"),
    ("include", "met", "unclear"): ("include", "uncertain", "include"),
    ("include", "met", "met"): ("uncertain", "uncertain", "uncertain"),  # a reason against it
    ("include", "unclear", "not met"): ("include", "uncertain", "uncertain"),
    ("include", "unclear", "unclear"): ("include", "uncertain", "uncertain"),
    ("include", "unclear", "met"): ("uncertain", "uncertain", "uncertain"),
    ("include", "not met", "not met"): ("uncertain", "uncertain", "uncertain"),
    ("include", "not met", "unclear"): ("uncertain", "uncertain", "uncertain"),
    ("include", "not met", "met"): ("uncertain", "uncertain", "uncertain"),
    ("exclude", "met", "not met"): ("uncertain", "uncertain", "uncertain"),  # no reason for it
    ("exclude", "met", "unclear"): ("uncertain", "uncertain", "uncertain"),
    ("exclude", "met", "met"): ("exclude", "exclude", "exclude"),
    ("exclude", "unclear", "not met"): ("uncertain", "uncertain", "exclude"),
    ("exclude", "unclear", "unclear"): ("uncertain", "uncertain", "exclude"),
    ("exclude", "unclear", "met"): ("exclude", "uncertain", "exclude"),
    ("exclude", "not met", "not met"): ("exclude", "exclude", "exclude"),
    ("exclude", "not met", "unclear"): ("exclude", "uncertain", "exclude"),
    ("exclude", "not met", "met"): ("exclude", "exclude", "exclude"),
} | {("uncertain", *verdicts): ("uncertain",) * 3 for verdicts in product(("met", "not met", "unclear"), repeat=2)}
POLICIES = ("include", "refer", "exclude")
STATUS_HEADING, UNVERIFIED_HEADING = "What a status comes to", "Nothing unverified excludes"
ENDS = [(*case, policy, end) for case, ends in TABLE.items() for policy, end in zip(POLICIES, ends, strict=True)]

# The same of an exclusion whose quotes are not in the record, or of which none is given, under `unverified: refer`.
UNVERIFIED = {
    ("met", "met"): ("uncertain", "uncertain", "uncertain"),
    ("unclear", "not met"): ("uncertain", "uncertain", "exclude"),  # unclear counts as not met: it needs no quote
    ("unclear", "unclear"): ("uncertain", "uncertain", "exclude"),
    ("unclear", "met"): ("uncertain", "uncertain", "exclude"),
    ("not met", "not met"): ("uncertain", "uncertain", "uncertain"),
    ("not met", "unclear"): ("uncertain", "uncertain", "uncertain"),
    ("not met", "met"): ("uncertain", "uncertain", "uncertain"),
    ("not met by silence", "not met"): ("exclude", "exclude", "exclude"),
    ("not met by silence", "unclear"): ("exclude", "uncertain", "exclude"),
    ("not met by silence", "met"): ("exclude", "exclude", "exclude"),
}


def test_the_table_holds_every_case() -> None:
    assert set(TABLE) == set(product(InclusionStatus, *2 * [set(Verdict) - {Verdict.SILENT}]))


def _rows(heading: str) -> list[list[str]]:
    """The cells of the table under a heading of docs/screening.md, without its head."""
    section = (
        (Path(__file__).parents[4] / "docs" / "screening.md").read_text("utf-8").split(f"\n### {heading}\n")[1]
    ).split("\n### ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    return rows[2:]


def _ends(cell: str) -> tuple[str, ...]:
    """The status under each policy: the first word, or the one of the policy, as in "exclude; `refer`: uncertain"."""
    usual, *others = cell.split("; ")
    named = {}
    for other in others:
        policies, status = other.split(": ")
        named |= dict.fromkeys(policies.replace("`", "").split(", "), status)
    assert set(named) <= set(POLICIES)
    return tuple(named.get(policy, usual) for policy in POLICIES)


def _row_of(included: str, excluded: str) -> str:
    """The row of the first table to which the verdicts belong."""
    if included == "not met" or excluded == "met":
        return f"one failed, {'one' if 'unclear' in (included, excluded) else 'none'} unclear"
    if included == "unclear":
        return "none failed, an inclusion criterion unclear"
    return f"none failed, {'only an exclusion criterion' if excluded == 'unclear' else 'none'} unclear"


def test_the_documentation_holds_every_case_of_the_first_table() -> None:
    rows = {row: {"include": _ends(first), "exclude": _ends(second)} for row, first, second in _rows(STATUS_HEADING)}
    cases = {case: ends for case, ends in TABLE.items() if case[0] != "uncertain"}
    assert rows.keys() == {_row_of(*verdicts) for _, *verdicts in cases}
    assert {case: rows[_row_of(*case[1:])][case[0]] for case in cases} == cases


def test_the_documentation_holds_every_case_of_an_unverified_exclusion() -> None:
    written = {
        (included, excluded): _ends(ends)
        for first, second, ends in _rows(UNVERIFIED_HEADING)
        for included in first.split(", ")
        for excluded in (("met", "not met", "unclear") if second == "any" else second.split(", "))
    }
    contradicted = {verdicts: TABLE["exclude", *verdicts] for verdicts in (("met", "not met"), ("met", "unclear"))}
    assert written == UNVERIFIED | contradicted


@pytest.mark.spec("3.21")
@pytest.mark.parametrize(("said", "included", "excluded", "policy", "ends"), ENDS)
def test_a_status_needs_verdicts_that_bear_it(said: str, included: str, excluded: str, policy: str, ends: str) -> None:
    made = decision(said, included, excluded, policy)
    assert made.status == ends
    assert made.model_status == (None if ends == said else said)
    assert (made.uncertain_reason is None) is (made.model_status is None)


@pytest.mark.parametrize("quotes", [(None, None), (INVENTED, None), (None, INVENTED), (INVENTED, INVENTED)])
@pytest.mark.parametrize(("verdicts", "ends"), UNVERIFIED.items())
def test_an_exclusion_needs_a_verified_verdict_that_bears_it(
    verdicts: tuple[str, str], ends: tuple[str, str, str], quotes: tuple[str | None, str | None]
) -> None:
    for policy, end in zip(POLICIES, ends, strict=True):
        made = decision("exclude", *verdicts, policy, quotes=quotes)
        if verdicts[0] == "not met by silence" and quotes != (None, None):
            end = "uncertain"  # who invents words, for whichever verdict, has not found the record silent
        assert made.status == end
        old = decision("exclude", *verdicts, policy, quotes=quotes, unverified="exclude")
        assert (
            old.status
            == TABLE[("exclude", verdicts[0].removesuffix(" by silence"), verdicts[1])][POLICIES.index(policy)]
        )
        if old.status != made.status:
            assert (made.uncertain_reason, made.model_status) == (UncertainReason.UNVERIFIED, old.status)
            assert made.exclusion_reason is None
            assert set(old.criteria) <= set(made.criteria)  # a person sees what was not verified


@pytest.mark.parametrize(
    ("quotes", "status"),
    [
        ((TRUE, TRUE), "exclude"),
        ((TRUE, INVENTED), "exclude"),  # who quotes one thing rightly has read the record
        ((INVENTED, INVENTED), "uncertain"),
        ((None, None), "exclude"),
    ],
)
def test_silence_is_believed_of_whoever_quotes_anything_rightly(quotes: tuple[str | None, ...], status: str) -> None:
    criteria = SearchCriteria(
        research_question="Does it work?", inclusion_criteria=["humans"], exclusion_criteria=["reports", "letters"]
    )
    verdicts = {f"E{n}": ("not met", quote) for n, quote in enumerate(quotes, 1)}
    operation = Inclusion(criteria=criteria, unverified=UnverifiedPolicy.REFER)
    made = parsed(operation, "exclude", {"I1": ("not met by silence", None), **verdicts})
    assert made.status == status


@pytest.mark.parametrize("verdict_", [v for v in Verdict if v is not Verdict.SILENT])
def test_silence_counts_as_not_met_for_both_kinds_of_criteria(verdict_: str) -> None:
    for said, policy in product(InclusionStatus, POLICIES):
        for place in (0, 1):
            pairs = [(other, verdict_)[:: -1 if place else 1] for other in ("not met by silence", "not met")]
            silent, stated = (decision(said, *pair, policy) for pair in pairs)
            assert (silent.status, silent.exclusion_reason) == (stated.status, stated.exclusion_reason)


@pytest.mark.parametrize(
    ("quotes", "unverified", "deciding"),
    [
        ((TRUE, TRUE), "refer", ["humans", "case reports"]),
        ((INVENTED, TRUE), "refer", ["case reports"]),
        ((None, TRUE), "refer", ["case reports"]),
        ((TRUE, INVENTED), "refer", ["humans"]),
        ((INVENTED, TRUE), "exclude", ["humans", "case reports"]),
        ((TRUE + " of 90 years", TRUE), "refer", ["case reports"]),
        ((TRUE.replace("20", "40"), TRUE), "exclude", ["humans", "case reports"]),
    ],
)
def test_the_first_verified_criterion_that_failed_is_the_reason(
    quotes: tuple[str, str], unverified: str, deciding: list[str]
) -> None:
    made = decision("exclude", "not met", "met", "include", quotes=quotes, unverified=unverified)
    assert made.criteria == deciding
    assert made.exclusion_reason == {"humans": "not met: humans", "case reports": "case reports"}[deciding[0]]


@pytest.mark.parametrize(
    ("said", "included", "excluded", "policy", "why"),
    [
        ("include", "met", "met", "include", "its verdicts contradict it"),
        ("exclude", "met", "unclear", "include", "its verdicts contradict it"),
        ("exclude", "not met", "unclear", "refer", "an unclear verdict is referred"),
        ("include", "unclear", "not met", "exclude", "its verdicts contradict it"),
        ("uncertain", "unclear", "met", "refer", None),
        ("exclude", "not met", "not met", "include", None),
    ],
)
def test_why_the_software_made_a_record_uncertain_is_said(
    said: str, included: str, excluded: str, policy: str, why: str | None
) -> None:
    assert decision(said, included, excluded, policy).uncertain_reason == why


@pytest.mark.parametrize(
    ("said", "included", "excluded", "policy", "deciding", "reason"),
    [
        ("include", "met", "unclear", "include", ["humans"], None),
        ("include", "unclear", "not met", "include", [], None),
        ("include", "met", "met", "include", [], None),
        ("exclude", "not met", "not met", "include", ["humans"], "not met: humans"),
        ("exclude", "met", "met", "include", ["case reports"], "case reports"),
        ("exclude", "not met", "met", "include", ["humans", "case reports"], "not met: humans"),
        ("exclude", "unclear", "met", "include", ["case reports"], "case reports"),
        ("exclude", "unclear", "met", "exclude", ["humans", "case reports"], "not met: humans"),
        ("exclude", "unclear", "unclear", "exclude", ["humans"], "not met: humans"),
        ("exclude", "unclear", "unclear", "include", ["humans", "case reports"], None),
        ("exclude", "not met", "unclear", "refer", ["case reports"], None),
        ("uncertain", "unclear", "not met", "include", ["humans"], None),
        ("uncertain", "not met", "met", "include", [], None),
    ],
)
def test_the_criteria_that_decided_are_named_and_the_first_that_failed_is_the_reason(
    said: str, included: str, excluded: str, policy: str, deciding: list[str], reason: str | None
) -> None:
    made = decision(said, included, excluded, policy)
    assert made.criteria == deciding
    assert made.exclusion_reason == reason


QUOTED = st.sampled_from([None, TRUE, INVENTED, "null", "We randomised 40 adults", "We did not randomise 20 adults"])


@pytest.mark.spec("3.21")
@given(
    st.sampled_from(InclusionStatus),
    st.dictionaries(st.sampled_from(["I1", "I2", "S1", "E1", "E2"]), st.tuples(st.sampled_from(Verdict), QUOTED)),
    st.sampled_from(UnclearPolicy),
    st.sampled_from(UnverifiedPolicy),
)
@settings(max_examples=80)
def test_no_exclusion_is_without_a_verified_failed_criterion_and_nothing_else_has_a_reason(
    said: InclusionStatus,
    given: dict[str, tuple[Verdict, str | None]],
    unclear: UnclearPolicy,
    unverified: UnverifiedPolicy,
) -> None:
    criteria = SearchCriteria(
        research_question="q",
        inclusion_criteria=["one", "two"],
        study_types=["trial"],
        exclusion_criteria=["three", "four"],
    )
    operation = Inclusion(criteria=criteria, unclear=unclear, unverified=unverified)
    made = parsed(operation, said, {c.label: given.get(c.label, ("met", None)) for c in criteria.labelled()})
    assert (made.exclusion_reason is not None) is (made.status is InclusionStatus.EXCLUDE)
    assert made.status is not InclusionStatus.EXCLUDE or said is InclusionStatus.EXCLUDE
    if made.status is not InclusionStatus.EXCLUDE:
        return
    deciding = [c for c in criteria.labelled() if c.text in made.criteria]
    assert made.exclusion_reason == deciding[0].reason
    for criterion in deciding:
        one = made.verdicts[criterion.label]
        against = {Verdict.MET} if criterion.excludes else set(Verdict) - {Verdict.MET}
        assert one.verdict in against
        quoted = one.quote is not None and one.quote.found
        quotes = [given.quote for given in made.verdicts.values() if given.quote is not None]
        invents = bool(quotes) and not any(quote.found for quote in quotes)
        silent = one.verdict is Verdict.SILENT and one.quote is None and not invents
        assert quoted or unverified is UnverifiedPolicy.EXCLUDE or one.verdict is Verdict.UNCLEAR or silent
        assert one.verdict is not Verdict.UNCLEAR or unclear is UnclearPolicy.EXCLUDE
