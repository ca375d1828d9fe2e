"""A record as it is written back: its own fields, and what was decided; an error is never written as a decision."""

import re
from pathlib import Path
from typing import Any

import pytest

from tamis_review.decisions.decided_records import decision_of, with_decision
from tamis_review.intake import read_records, write_records
from tamis_schemas import (
    ErrorKind,
    EvaluationResult,
    Exclusion,
    FieldsResult,
    InclusionDecision,
    InclusionStatus,
    ItemResult,
    ItemStatus,
)

RECORD = {"id": "1", "title": "T", "_ris_N1": "a note", "_tamis_decision": "include", "_tamis_reason": "of last year"}


def row(**changes: Any) -> ItemResult:
    given: dict[str, Any] = {"index": 0, "item_id": "1", "status": ItemStatus.DECIDED, "item": RECORD}
    return ItemResult(**given | changes)


def screened(status: InclusionStatus, reason: str | None, **more: Any) -> ItemResult:
    decision = InclusionDecision(status=status, confidence=0.8, rationale="because", exclusion_reason=reason, **more)
    result = EvaluationResult(value=status.value, confidence=0.8, reasoning="because")
    return row(decision=decision, result=result)


def added(result: ItemResult) -> dict[str, Any]:
    written = with_decision(result)
    assert {name: written[name] for name in ("id", "title", "_ris_N1")} == {
        name: RECORD[name] for name in ("id", "title", "_ris_N1")
    }
    return {name.removeprefix("_tamis_"): value for name, value in written.items() if name.startswith("_tamis_")}


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (
            screened(InclusionStatus.INCLUDE, None),
            {"decision": "include", "confidence": 0.8, "reason": "because"},
        ),
        (
            screened(InclusionStatus.EXCLUDE, "humans"),
            {"decision": "exclude", "confidence": 0.8, "reason": "because", "exclusion_reason": "humans"},
        ),
        (
            screened(InclusionStatus.UNCERTAIN, None, uncertain_reason="no verified quote"),
            {"decision": "uncertain", "confidence": 0.8, "reason": "because [uncertain: no verified quote]"},
        ),
        (
            row(status=ItemStatus.EXCLUDED_BY_FILTER, exclusion=Exclusion(rule="duplicate", reason="A copy of 7.")),
            {
                "decision": "duplicate",
                "confidence": 1.0,
                "reason": "A copy of 7.",
                "exclusion_reason": "duplicate: A copy of 7.",
            },
        ),
        (
            row(
                status=ItemStatus.EXCLUDED_BY_FILTER,
                exclusion=Exclusion(rule="animal", reason="'in rats' in the title", confidence=0.9),
            ),
            {
                "decision": "exclude",
                "confidence": 0.9,
                "reason": "'in rats' in the title",
                "exclusion_reason": "animal: 'in rats' in the title",
            },
        ),
        (
            row(
                status=ItemStatus.FAILED,
                result=EvaluationResult(error="no answer in 60 s"),
                error_kind=ErrorKind.TIMEOUT,
            ),
            {"decision": "not decided", "reason": "timeout: no answer in 60 s"},
        ),
        (row(status=ItemStatus.PENDING), {"decision": "not decided"}),
        (
            row(result=EvaluationResult(value=False, confidence=0.5)),
            {"decision": "false", "confidence": 0.5},
        ),
        (
            row(result=FieldsResult(fields={"n": 12}, confidence=0.5)),
            {"decision": '{"n": 12}', "confidence": 0.5},
        ),
    ],
)
def test_a_record_gets_its_decision_and_no_older_one(result: ItemResult, expected: dict[str, Any]) -> None:
    assert added(result) == expected


@pytest.mark.parametrize("status", [s for s in ItemStatus if s not in (ItemStatus.DECIDED,)])
def test_what_is_not_decided_is_neither_included_nor_excluded(status: ItemStatus) -> None:
    undecided = row(status=status, result=EvaluationResult(value="exclude", error="refused"))
    assert decision_of(undecided) == "not decided"


def test_a_record_of_several_sources_names_its_own_and_no_older_one() -> None:
    assert added(row(source="Scopus"))["source"] == "Scopus"
    assert "source" not in added(row(item=RECORD | {"_tamis_source": "of last year"}))


@pytest.mark.parametrize("form", ["ris", "nbib", "bibtex", "endnote", "csv", "tsv", "jsonl"])
def test_its_source_is_written_in_every_format_and_read_back(form: str, tmp_path: Path) -> None:
    path = tmp_path / "decided"
    write_records([with_decision(row(source="Scopus")), with_decision(row(source="Embase"))], path, format=form)
    assert [record["_tamis_source"] for record in read_records(path)] == ["Scopus", "Embase"]
    write_records([with_decision(row())], path, format=form)
    assert not re.search("tamis.source", path.read_text("utf-8"), re.IGNORECASE)
