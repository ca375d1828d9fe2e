"""An inclusion's answer: quotes, verdicts, status, and an exclusion that can always name its reason."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tamis_schemas import EvaluationResult, Inclusion, InclusionDecision, InclusionStatus, SearchCriteria, Verdict
from tamis_schemas.operations.inclusion import UnclearPolicy
from tamis_schemas.results import CriterionVerdict
from tamis_worker import operations
from tamis_worker.llm.schema_dialect import PORTABLE, portable
from tamis_worker.operations import InvalidAnswer, inclusion

CRITERIA = SearchCriteria(
    research_question="Does it work?", inclusion_criteria=["humans"], exclusion_criteria=["case reports"]
)
INCLUSION = Inclusion(criteria=CRITERIA)
RECORD = {"id": "1", "title": "A trial in adults", "abstract": "We randomised 20 adults \u2013 all of them human."}
LONG = SearchCriteria(
    research_question="q",
    inclusion_criteria=[f"included {n}" for n in range(20)],
    exclusion_criteria=[f"excluded {n}" for n in range(10)],
)


def verdict(said: str, quote: str | None = None) -> dict[str, Any]:
    return {"quote": quote, "verdict": said}


def answer(**changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "rationale": "because",
        "verdicts": {"I1": verdict("met"), "E1": verdict("not met")},
        "status": "include",
        "confidence": 0.9,
    }
    return given | changes


def parsed(given: dict[str, Any], operation: Inclusion = INCLUSION) -> InclusionDecision:
    evaluation = inclusion.parse(operation, RECORD, given)
    assert isinstance(evaluation.detail, InclusionDecision)
    assert isinstance(evaluation.result, EvaluationResult)
    assert evaluation.result.value == evaluation.detail.status.value
    assert evaluation.result.confidence == evaluation.detail.confidence
    return evaluation.detail


def decision(status: str, included: str, excluded: str, policy: UnclearPolicy) -> InclusionDecision:
    given = answer(status=status, verdicts={"I1": verdict(included), "E1": verdict(excluded)})
    return parsed(given, Inclusion(criteria=CRITERIA, unclear=policy))


def test_rationale_and_verdicts_come_before_the_status_and_each_quote_before_its_verdict() -> None:
    schema = inclusion.response_schema(INCLUSION)
    assert list(schema["properties"]) == ["rationale", "verdicts", "status", "confidence"]
    verdicts = schema["properties"]["verdicts"]
    assert list(verdicts["properties"]) == ["I1", "E1"]
    assert verdicts["additionalProperties"] is False
    for part in verdicts["properties"].values():
        assert list(part["properties"]) == part["required"] == ["quote", "verdict"]
        assert part["additionalProperties"] is False


def test_the_schema_stays_within_what_strict_modes_take_but_for_its_bounds() -> None:
    def keywords(schema: Any) -> set[str]:
        parts = [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]
        return set(schema).union(*map(keywords, parts))

    schema = inclusion.response_schema(INCLUSION)
    assert keywords(schema) - PORTABLE == {"maxLength", "minimum", "maximum"}
    assert keywords(portable(schema)) <= PORTABLE


# What the record ends as under the three policies: include, refer, exclude.
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
} | {("uncertain", *verdicts): ("uncertain",) * 3 for verdicts in product(Verdict, Verdict)}
ENDS = [(*case, policy, end) for case, ends in TABLE.items() for policy, end in zip(UnclearPolicy, ends, strict=True)]


def test_the_table_holds_every_case() -> None:
    assert set(TABLE) == set(product(InclusionStatus, Verdict, Verdict))


def test_the_documentation_holds_the_same_table() -> None:
    text = (Path(__file__).parents[4] / "docs" / "screening.md").read_text("utf-8")
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in text.splitlines()]
    written = {row[:3]: row[3:] for row in rows if len(row) == 6 and row[0] in set(InclusionStatus)}
    assert written.pop(("uncertain", "any", "any")) == ("uncertain",) * 3
    assert written == {case: ends for case, ends in TABLE.items() if case[0] != "uncertain"}


@pytest.mark.parametrize(("said", "included", "excluded", "policy", "ends"), ENDS)
def test_a_status_needs_verdicts_that_bear_it(
    said: str, included: str, excluded: str, policy: UnclearPolicy, ends: str
) -> None:
    made = decision(said, included, excluded, policy)
    assert made.status == ends
    assert made.model_status == (None if ends == said else said)


@pytest.mark.parametrize(
    ("said", "included", "excluded", "policy", "deciding", "reason"),
    [
        ("include", "met", "unclear", "include", ["humans"], None),
        ("include", "unclear", "not met", "include", [], None),
        ("include", "met", "met", "include", [], None),
        ("exclude", "not met", "not met", "include", ["humans"], "humans"),
        ("exclude", "met", "met", "include", ["case reports"], "case reports"),
        ("exclude", "not met", "met", "include", ["humans", "case reports"], "humans"),
        ("exclude", "unclear", "met", "include", ["case reports"], "case reports"),
        ("exclude", "unclear", "met", "exclude", ["humans", "case reports"], "humans"),
        ("exclude", "unclear", "unclear", "exclude", ["humans"], "humans"),
        ("exclude", "unclear", "unclear", "include", ["humans", "case reports"], None),
        ("exclude", "not met", "unclear", "refer", ["case reports"], None),
        ("uncertain", "unclear", "not met", "include", ["humans"], None),
        ("uncertain", "not met", "met", "include", [], None),
    ],
)
def test_the_criteria_that_decided_are_named_and_the_first_that_failed_is_the_reason(
    said: str, included: str, excluded: str, policy: str, deciding: list[str], reason: str | None
) -> None:
    made = decision(said, included, excluded, UnclearPolicy(policy))
    assert made.criteria == deciding
    assert made.exclusion_reason == reason


def test_no_exclusion_is_ever_without_a_reason_and_nothing_else_has_one() -> None:
    for said, included, excluded, policy in product(InclusionStatus, Verdict, Verdict, UnclearPolicy):
        made = decision(said, included, excluded, policy)
        assert (made.exclusion_reason is not None) is (made.status is InclusionStatus.EXCLUDE)
        assert made.exclusion_reason is None or made.criteria[0] == made.exclusion_reason


def test_nothing_is_excluded_that_the_model_did_not_exclude() -> None:
    for said, included, excluded, policy in product(InclusionStatus, Verdict, Verdict, UnclearPolicy):
        if said is not InclusionStatus.EXCLUDE:
            assert decision(said, included, excluded, policy).status is not InclusionStatus.EXCLUDE


def test_unclear_counts_recall_first_unless_said_otherwise_and_the_model_is_asked_the_same() -> None:
    assert INCLUSION.unclear is UnclearPolicy.INCLUDE
    for policy in UnclearPolicy:
        operation = Inclusion(criteria=CRITERIA, unclear=policy)
        assert inclusion.messages(operation, RECORD) == inclusion.messages(INCLUSION, RECORD)
        assert inclusion.response_schema(operation) == inclusion.response_schema(INCLUSION)


def test_a_quote_stands_with_its_verdict_and_its_place_in_the_record() -> None:
    made = parsed(answer(verdicts={"I1": verdict("met", "20 adults - all of them human"), "E1": verdict("not met")}))
    quote = made.verdicts["I1"].quote
    assert quote is not None
    assert (quote.field, quote.start, quote.end) == ("abstract", 14, 43)
    assert RECORD["abstract"][14:43] == "20 adults \u2013 all of them human"
    assert made.verdicts["E1"] == CriterionVerdict(verdict=Verdict.NOT_MET)
    assert (made.confidence, made.model_confidence, made.flagged) == (0.9, None, False)


def test_a_quote_that_is_not_in_the_record_lowers_the_confidence_flags_the_row_and_changes_no_status() -> None:
    verdicts = {"I1": verdict("met", "We randomised 20 adults"), "E1": verdict("not met", "No case is reported here.")}
    made = parsed(answer(verdicts=verdicts))
    assert made.status is InclusionStatus.INCLUDE
    assert made.confidence == pytest.approx(0.675)  # 0.9 x (1 - 0.5 x 1/2)
    assert (made.model_confidence, made.model_status, made.flagged) == (0.9, None, True)
    assert [v.quote.found for v in made.verdicts.values() if v.quote] == [True, False]


def test_a_text_for_no_quote_is_no_quote_and_lowers_nothing() -> None:
    made = parsed(answer(verdicts={"I1": verdict("unclear", "null"), "E1": {"verdict": "not met"}}))
    assert [v.quote for v in made.verdicts.values()] == [None, None]
    assert (made.confidence, made.flagged) == (0.9, False)


def test_an_answer_about_30_criteria_may_be_longer_than_the_workers_budget() -> None:
    questions = next(operations.course(Inclusion(criteria=LONG), RECORD))
    assert questions[0].tokens == 250 + 30 * 100
    assert next(operations.course(INCLUSION, RECORD))[0].tokens < 1024


def test_a_decision_of_a_ledger_from_before_quotes_can_be_read() -> None:
    old = {"status": "include", "confidence": 0.9, "rationale": "r", "verdicts": {"I1": "met"}, "criteria": ["humans"]}
    made = InclusionDecision.model_validate(old)
    assert made.verdicts == {"I1": CriterionVerdict(verdict=Verdict.MET)}
    assert InclusionDecision.model_validate_json(made.model_dump_json()) == made


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"status": "Include"}, "status: 'Include'"),
        ({"status": "maybe"}, "status: 'maybe'"),
        ({"verdicts": {"I1": verdict("met")}}, "verdicts: given for"),
        ({"verdicts": {"I1": verdict("met"), "E1": verdict("met"), "E2": verdict("met")}}, "verdicts: given for"),
        ({"verdicts": {"I1": verdict("met"), "E1": verdict("yes")}}, "verdicts: 'yes'"),
        ({"verdicts": {"I1": verdict("met"), "E1": "met"}}, "verdicts.E1: "),
        ({"verdicts": {"I1": verdict("met"), "E1": {"quote": "q"}}}, "verdicts.E1.verdict: "),
        ({"verdicts": {"I1": verdict("met"), "E1": {"quote": ["q"], "verdict": "met"}}}, "verdicts.E1.quote: "),
        ({"verdicts": {"I1": verdict("met"), "E1": verdict("met") | {"place": 1}}}, "verdicts.E1.place: "),
        ({"verdicts": []}, "verdicts: "),
        ({"confidence": 7}, "confidence: "),
        ({"rationale": None}, "rationale: "),
        ({"extra": 1}, "extra: "),
    ],
)
def test_an_answer_that_is_not_what_was_asked_for_is_refused(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidAnswer, match=named):
        inclusion.parse(INCLUSION, RECORD, answer(**changes))
