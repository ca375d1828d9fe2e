"""The groups of decisions on a terminal: readable at 80 columns, and short however many records there are."""

import io
import json

import pytest
from rich.console import Console

from tamis_cli.commands.demo import MOST, print_decisions
from tamis_review.example import ANSWERS, CITATIONS, CRITERIA
from tamis_review.intake import read_records
from tamis_review.plans.criteria_file import read_criteria
from tamis_schemas import ErrorKind, EvaluationResult, Exclusion, Inclusion, InclusionDecision, ItemResult, ItemStatus
from tamis_worker.operations.inclusion import parse

OPERATION = Inclusion(criteria=read_criteria(CRITERIA))
RECORDS = list(read_records(CITATIONS))
ANSWER_OF = {row["title"]: row["answer"] for row in json.loads(ANSWERS.read_text("utf-8"))}
FAILED, KEPT_OUT = 4, 9  # places


def row(index: int) -> ItemResult:
    """The record at a place of the example with its decision; one failed, and a rule keeps one out."""
    record = RECORDS[index]
    fields = {"index": index, "item_id": record["id"], "item": record, "status": ItemStatus.DECIDED}
    if index == FAILED:
        error = EvaluationResult(value=None, confidence=0.0, error="no [answer]")
        return ItemResult(**fields | {"status": ItemStatus.FAILED, "error_kind": ErrorKind.TIMEOUT, "result": error})
    if index == KEPT_OUT:
        exclusion = Exclusion(rule="animal", reason="'in rats' in the title")
        return ItemResult(**fields | {"status": ItemStatus.EXCLUDED_BY_FILTER, "exclusion": exclusion})
    detail = parse(OPERATION, record, ANSWER_OF[record["title"]]).detail
    assert isinstance(detail, InclusionDecision)
    return ItemResult(**fields, decision=detail)


def printed(width: int) -> list[str]:
    console = Console(width=width, file=io.StringIO())
    print_decisions([row(index) for index in range(len(RECORDS))], OPERATION.criteria.labelled(), console)
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_each_group_has_its_number_and_a_few_records_with_the_words_that_decided() -> None:
    lines = printed(120)
    said = "\n".join(lines)
    for heading in (
        "Included: 6",
        "Excluded by a criterion: 13, with quotes from the record",
        "5 by criterion I1 (not met: The participants are adults who have had a total hip replacement)",
        "Excluded by the initial filter: 1, by rules, without a model",
        "Uncertain: 3, for a person to decide",
        "Failed: 1. A failed call is never a decision.",
        "timeout: no [answer]",
        "'in rats' in the title",
        "\u201cPatients with hip replacement were not enrolled\u201d found in the abstract",
    ):
        assert heading in said, heading
    assert "and 3 more" in said  # 5 by I1, of which 2 are shown
    assert sum(line.startswith("    DEMO-") for line in lines) <= MOST * len(OPERATION.criteria.labelled())


@pytest.mark.parametrize("width", [80, 120])
def test_a_title_takes_one_line_and_no_line_is_wider_than_the_terminal(width: int) -> None:
    lines = printed(width)
    assert max(map(len, lines)) <= width
    assert all(any(record["title"][:20] in line for line in lines if record["id"] in line) for record in RECORDS[:3])
    assert len(lines) < 60
