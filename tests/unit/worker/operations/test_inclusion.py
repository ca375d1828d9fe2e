"""An inclusion's answer: quotes, verdicts, status, and an exclusion that can always name its reason."""

import json
from itertools import product
from typing import Any

import pytest

from tamis_schemas import (
    EvaluationResult,
    Inclusion,
    InclusionDecision,
    InclusionStatus,
    SearchCriteria,
    UnclearPolicy,
    UnverifiedPolicy,
    Verdict,
)
from tamis_schemas.answers.results import CriterionVerdict
from tamis_worker import operations
from tamis_worker.llm.answer_reading import read_answer
from tamis_worker.llm.dialect import PORTABLE, portable
from tamis_worker.operations import InvalidAnswer, inclusion

CRITERIA = SearchCriteria(
    research_question="Does it work?", inclusion_criteria=["humans"], exclusion_criteria=["case reports"]
)
INCLUSION = Inclusion(criteria=CRITERIA)
RECORD = {"id": "1", "title": "A trial in adults", "abstract": "We randomised 20 adults \u2013 all of them human."}
TRUE, INVENTED = "We randomised 20 adults", "Forty rabbits were given cola"
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


@pytest.mark.spec("3.20")
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


def test_an_exclusion_is_worded_as_the_criteria_word_it_and_the_model_is_not_shown_that() -> None:
    worded = CRITERIA.model_copy(update={"exclude_as": {"I1": "Wrong population", "E1": "One patient"}})
    operation = Inclusion(criteria=worded)
    for included, excluded, reason in (("not met", "not met", "Wrong population"), ("met", "met", "One patient")):
        verdicts = {"I1": verdict(included, TRUE), "E1": verdict(excluded, TRUE)}
        assert parsed(answer(status="exclude", verdicts=verdicts), operation).exclusion_reason == reason
    assert inclusion.messages(operation, RECORD) == inclusion.messages(INCLUSION, RECORD)
    assert inclusion.response_schema(operation) == inclusion.response_schema(INCLUSION)


@pytest.mark.parametrize(
    "written", ["not met by silence", "not_met_by_silence", "Not-Met-By-Silence", "NOT MET BY SILENCE"]
)
def test_silence_is_read_however_it_is_written_and_needs_no_quote(written: str) -> None:
    given = answer(status="exclude", verdicts={"I1": verdict(written), "E1": verdict("not met")})
    read = read_answer(json.dumps(given), inclusion.response_schema(INCLUSION))
    made = parsed(read.value)
    assert made.verdicts["I1"].verdict is Verdict.SILENT
    assert (made.status, made.exclusion_reason, made.flagged) == (InclusionStatus.EXCLUDE, "not met: humans", False)


def test_study_types_are_a_criterion_with_a_verdict_of_its_own() -> None:
    operation = Inclusion(criteria=CRITERIA.model_copy(update={"study_types": ["cohort study", "case series"]}))
    system = inclusion.messages(operation, RECORD)[0].content
    assert "Inclusion criteria:\n- I1: humans\n- S1: Study type: cohort study or case series\n\nExclusion" in system
    assert "Study types:" not in system
    assert list(inclusion.response_schema(operation)["properties"]["verdicts"]["properties"]) == ["I1", "S1", "E1"]
    verdicts = {"I1": verdict("met"), "S1": verdict("not met", TRUE), "E1": verdict("not met")}
    made = parsed(answer(status="exclude", verdicts=verdicts), operation)
    assert made.exclusion_reason == "not met: Study type: cohort study or case series"


def test_the_policies_are_recall_first_unless_said_otherwise_and_the_model_is_asked_the_same() -> None:
    assert INCLUSION.unclear is UnclearPolicy.INCLUDE
    assert INCLUSION.unverified is UnverifiedPolicy.REFER
    for policy, unverified in product(UnclearPolicy, UnverifiedPolicy):
        operation = Inclusion(criteria=CRITERIA, unclear=policy, unverified=unverified)
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


@pytest.mark.spec("3.21")
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
    questions = next(operations.program_of(Inclusion(criteria=LONG), RECORD))
    assert questions[0].tokens == 250 + 30 * 100
    assert next(operations.program_of(INCLUSION, RECORD))[0].tokens < 1024


def test_a_decision_of_a_ledger_from_before_quotes_can_be_read() -> None:
    old = {"status": "include", "confidence": 0.9, "rationale": "r", "verdicts": {"I1": "met"}, "criteria": ["humans"]}
    made = InclusionDecision.model_validate(old)
    assert made.verdicts == {"I1": CriterionVerdict(verdict=Verdict.MET)}
    assert InclusionDecision.model_validate_json(made.model_dump_json()) == made


@pytest.mark.spec("3.20")
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
