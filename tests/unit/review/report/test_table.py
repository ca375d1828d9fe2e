"""A record as a row of the table, and the words of the table."""

import pytest

from stage.screened import CRITERIA
from tamis_review.decisions.final_outcome import NO_REASON, Outcome
from tamis_review.report.table import LONGEST, NOT_PRESENT, outcome_names, record_row, stage_row, table_facts
from tamis_schemas import (
    ErrorKind,
    EvaluationResult,
    Exclusion,
    FieldsResult,
    InclusionDecision,
    InclusionStatus,
    ItemResult,
    ItemStatus,
    SearchCriteria,
    UncertainReason,
    Verdict,
)
from tamis_schemas.answers.results import CriterionVerdict, Difference, Quote, QuoteState

RECORD = {"id": "7", "title": "Walking after surgery", "abstract": "We trained 🏃 adults at home.", "year": 2019}
DECISION = InclusionDecision(
    status=InclusionStatus.EXCLUDE,
    confidence=0.6,
    rationale="No trial.",
    verdicts={
        "I1": CriterionVerdict(
            verdict=Verdict.MET,
            quote=Quote(text="adults at home", found=True, similarity=1.0, field="abstract", start=13, end=27),
        ),
        "I2": CriterionVerdict(verdict=Verdict.NOT_MET, quote=Quote(text="a cohort", found=False, similarity=0.3)),
        "E1": CriterionVerdict(verdict=Verdict.UNCLEAR),
    },
    criteria=[CRITERIA.inclusion_criteria[1]],
    exclusion_reason=CRITERIA.inclusion_criteria[1],
    model_confidence=0.9,
    flagged=True,
)


def decided(decision: InclusionDecision | None = DECISION, item: dict[str, object] = RECORD) -> ItemResult:
    result = EvaluationResult(value="exclude", confidence=0.6, reasoning="No trial.")
    return ItemResult(index=0, item_id="7", status=ItemStatus.DECIDED, result=result, decision=decision, item=item)


def kept_out(exclusion: Exclusion | None, item: dict[str, object] = RECORD) -> ItemResult:
    return ItemResult(index=4, item_id="7", status=ItemStatus.EXCLUDED_BY_FILTER, exclusion=exclusion, item=item)


def test_a_decision_comes_with_reason_verdicts_quotes_and_the_quoted_place() -> None:
    row = record_row("inclusion", decided())
    assert row == {
        "i": 0,
        "id": "7",
        "ids": [("id 7", None)],
        "title": "Walking after surgery",
        "by": "2019",
        "outcome": "excluded",
        "reason": "A randomised controlled trial",
        "why": "No trial.",
        "sure": 0.6,
        "saidSure": 0.9,
        "flagged": True,
        "verdicts": [
            ["I1", "met", "adults at home", "found", "abstract"],
            ["I2", "not met", "a cohort", "not found", ""],
            ["E1", "unclear"],
        ],
        "fields": [{"name": "abstract", "text": RECORD["abstract"], "marks": [[13, 27, "I1"]]}],
    }
    assert str(RECORD["abstract"])[13:27] == "adults at home"  # code points: the runner is one


def test_an_altered_quote_says_what_differs_and_its_place_is_marked_as_such() -> None:
    adults = Difference(quoted="children", recorded="adults", start=0, end=8)
    quote = Quote(
        text="children at home",
        state=QuoteState.ALTERED,
        similarity=0.8,
        field="abstract",
        start=13,
        end=27,
        differences=(adults,),
    )
    altered = {"I1": CriterionVerdict(verdict=Verdict.MET, quote=quote)}
    row = record_row("inclusion", decided(DECISION.model_copy(update={"verdicts": altered})))
    assert row["verdicts"] == [["I1", "met", "children at home", "altered", "abstract", [[0, 8, "adults"]]]]
    assert row["fields"][0]["marks"] == [[13, 27, "I1", True]]


@pytest.mark.parametrize(
    ("decision", "reason"),
    [
        (DECISION.model_copy(update={"exclusion_reason": None}), "A randomised controlled trial"),  # an older ledger
        (DECISION.model_copy(update={"exclusion_reason": None, "criteria": []}), NO_REASON),
    ],
)
def test_an_exclusion_always_has_a_reason(decision: InclusionDecision, reason: str) -> None:
    assert record_row("inclusion", decided(decision))["reason"] == reason


def test_only_an_exclusion_has_an_exclusion_reason() -> None:
    row = record_row("inclusion", decided(DECISION.model_copy(update={"status": InclusionStatus.UNCERTAIN})))
    assert row["outcome"] == Outcome.UNCERTAIN
    assert "reason" not in row


def test_a_record_that_the_software_made_uncertain_says_why_and_what_the_model_had_said() -> None:
    made = {"status": InclusionStatus.UNCERTAIN, "model_status": InclusionStatus.EXCLUDE}
    why = DECISION.model_copy(update=made | {"uncertain_reason": UncertainReason.UNVERIFIED})
    row = record_row("inclusion", decided(why))
    assert (row["said"], row["because"]) == ("exclude", "no verified quote")


def test_the_initial_filter_s_match_is_marked_in_the_title() -> None:
    exclusion = Exclusion(
        rule="title_pattern",
        reason="an animal study",
        confidence=0.95,
        matched="Walking",
        field="title",
        start=0,
        end=7,
    )
    row = record_row("inclusion", kept_out(exclusion))
    assert (row["outcome"], row["reason"], row["why"], row["matched"]) == (
        *("ineligible", "title pattern", "an animal study"),
        "Walking",
    )
    assert row["fields"][0] == {"name": "title", "text": "Walking after surgery", "marks": [[0, 7, "title pattern"]]}


def test_a_match_in_any_other_field_shows_that_field() -> None:
    exclusion = Exclusion(rule="date_range", reason="too early", matched="1987", field="date", start=0, end=4)
    row = record_row("inclusion", kept_out(exclusion, {"id": "7", "title": "T", "date": "1987", "notes": "n"}))
    assert row["fields"] == [{"name": "date", "text": "1987", "marks": [[0, 4, "date range"]]}]


def test_a_duplicate_names_its_copy_even_where_it_is_the_first_record() -> None:
    row = record_row("inclusion", kept_out(Exclusion(rule="duplicate", reason="the same DOI", duplicate_of=0)))
    assert (row["outcome"], row["copy"], row["why"]) == ("duplicate", 0, "the same DOI")


def test_what_was_removed_without_a_reason_says_so() -> None:
    assert record_row("inclusion", kept_out(None))["reason"] == NO_REASON


@pytest.mark.parametrize(
    ("status", "outcome"),
    [("pending", "open"), ("running", "open"), ("cancelled", "cancelled")],
)
def test_what_is_not_decided_has_no_decision_even_where_an_earlier_round_left_an_error(
    status: str, outcome: str
) -> None:
    left = EvaluationResult(error="no answer")
    row = record_row("inclusion", ItemResult(index=0, item_id="7", status=status, result=left, item=RECORD))
    assert row["outcome"] == outcome
    assert not {"sure", "why", "error", "reason"} & set(row)


def test_an_error_is_named_by_its_kind_and_has_no_confidence() -> None:
    result = ItemResult(
        index=0,
        item_id="7",
        status=ItemStatus.FAILED,
        result=EvaluationResult(error="HTTP 504"),
        error_kind=ErrorKind.SERVER,
        item=RECORD,
    )
    row = record_row("inclusion", result)
    assert (row["outcome"], row["reason"], row["error"]) == ("failed", "error of the endpoint", "HTTP 504")
    assert "sure" not in row


@pytest.mark.parametrize(
    ("operation", "value", "expected"),
    [
        ("filter", True, {"outcome": "passed"}),
        ("filter", False, {"outcome": "excluded", "reason": "the question is answered with no"}),
        ("score", 0.0, {"outcome": "passed", "value": "0.0"}),
        ("extract", False, {"outcome": "passed", "value": "false"}),  # a value, not a decision
        ("extract", None, {"outcome": "passed", "value": NOT_PRESENT}),
    ],
)
def test_the_value_of_another_operation(operation: str, value: bool | float | None, expected: dict[str, str]) -> None:
    result = EvaluationResult(value=value, confidence=0.0)
    row = record_row(operation, ItemResult(index=0, item_id="7", status=ItemStatus.DECIDED, result=result))
    assert {name: row[name] for name in ("outcome", "value", "reason") if name in row} == expected
    assert row["sure"] == 0.0


def test_extracted_fields_stand_one_by_one() -> None:
    result = FieldsResult(fields={"n": 40, "arms": ["a", "b"], "country": None}, confidence=0.8)
    row = stage_row(1, "extract_fields", ItemResult(index=0, item_id="7", status=ItemStatus.DECIDED, result=result))
    assert (row["stage"], row["operation"]) == (1, "extract_fields")
    assert row["values"] == [["n", "40"], ["arms", "a; b"], ["country", None]]


def test_a_judgement_shows_what_was_judged_the_confidence_before_and_whether_it_is_blocked() -> None:
    judgement = ItemResult(
        index=0,
        item_id="7",
        status=ItemStatus.DECIDED,
        result=EvaluationResult(value="weak", confidence=0.5),
        detail={"blocked": True, "original_confidence": 0.9},
        item={"id": "7", "title": "T", "value": False, "confidence": 0.9, "reasoning": "r", "context": "title: T"},
    )
    for row in (stage_row(2, "judge", judgement), record_row("judge", judgement)):
        assert (row["value"], row["weak"], row["before"], row["sure"]) == ("weak", True, 0.9, 0.5)
    assert row["title"] == "T"
    shown = {"judged value": "false", "its confidence": "0.9", "its reasoning": "r", "context": "title: T"}
    assert {field["name"]: field["text"] for field in row["fields"]} == shown


def test_a_field_of_a_megabyte_is_cut_and_says_by_how_much() -> None:
    row = record_row("inclusion", decided(None, {"id": "7", "title": "T", "abstract": "x" * 1_000_000}))
    (field,) = row["fields"]
    assert len(field["text"]) == LONGEST
    assert field["cut"] == 1_000_000 - LONGEST


def test_a_record_that_is_no_publication_shows_its_fields() -> None:
    row = record_row("score", decided(None, {"id": "7", "name": "Ada", "tags": ["a", "b"], "_label": 1, "n": 3}))
    assert row["fields"] == [
        {"name": "name", "text": "Ada"},
        {"name": "tags", "text": "a; b"},
        {"name": "n", "text": "3"},
    ]


@pytest.mark.parametrize(
    ("authors", "shown"),
    [
        (["Ada", "Bo"], "Ada, Bo · J · 2019"),
        (["Ada", "Bo", "Cy", "Di"], "Ada, Bo, Cy et al. · J · 2019"),
        ("Ada and Bo", "Ada and Bo · J · 2019"),
        (None, "J · 2019"),
        ([{"family": "Ada"}], '[{"family": "Ada"}] · J · 2019'),
    ],
)
def test_authors_journal_and_year_stand_below_the_title(authors: object, shown: str) -> None:
    item = {"id": "7", "title": "T", "authors": authors, "journal": "J", "year": 2019}
    assert record_row("inclusion", decided(None, item))["by"] == shown


@pytest.mark.parametrize("place", [(None, None), (5, 5), (9, 3), (-1, 4)])
def test_a_place_that_is_none_marks_nothing(place: tuple[int | None, int | None]) -> None:
    quote = Quote(text="x", found=True, similarity=1.0, field="abstract", start=place[0], end=place[1])
    verdict = {"I1": CriterionVerdict(verdict=Verdict.MET, quote=quote)}
    row = record_row("inclusion", decided(DECISION.model_copy(update={"verdicts": verdict})))
    assert "marks" not in row["fields"][0]


def test_outcomes_are_called_what_the_operation_calls_them() -> None:
    assert (outcome_names("inclusion")["passed"], outcome_names("inclusion")["excluded"]) == ("include", "exclude")
    assert (outcome_names("filter")["passed"], outcome_names("filter")["excluded"]) == ("yes", "no")
    assert outcome_names("score")["passed"] == "evaluated"


def test_the_facts_hold_the_criteria_by_label_and_the_words_of_each_stage() -> None:
    criteria = SearchCriteria(research_question="Q?", inclusion_criteria=["Adults"], exclusion_criteria=["Animals"])
    facts = table_facts(criteria.labelled(), ["inclusion", "extract"])
    assert facts["criteria"] == {
        "I1": {"text": "Adults", "excludes": False},
        "E1": {"text": "Animals", "excludes": True},
    }
    assert facts["names"] == outcome_names("inclusion")
    assert [stage["names"]["passed"] for stage in facts["stages"]] == ["include", "evaluated"]
    assert facts["stages"][1]["noun"] == "extraction"
