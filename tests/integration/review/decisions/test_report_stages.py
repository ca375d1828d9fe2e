"""Retrieval and full texts: what people may decide about, and which decision counts."""

import io
import json

import pytest
from sqlalchemy import text

from stage.assessed import A, B, C, by_name, decide, figures, record, said
from stage.complete_flow import SOURCES
from stage.screened import SCREENING, Ledgered, Place, decided, write_batch, write_review, written_batch
from tamis_producer import Batch, Client
from tamis_review import list_overrides, override, overrides, withdraw_override
from tamis_review.decisions.record_overrides import HumanDecision, RefusedDecision
from tamis_review.report import ReportForm, write_report
from tamis_schemas import ExtractFields, Filter, HumanStage, InvalidParameters, OperationFailed, Score

RETRIEVAL, FULL_TEXT = HumanStage.RETRIEVAL, HumanStage.FULL_TEXT
FIELDS = ExtractFields(schema={"type": "object", "properties": {"n": {"type": "integer"}}}, instructions="How many?")


@pytest.fixture
def batch(client: Client) -> Batch:
    """Three records that the model includes, one that it excludes, one of which it is uncertain."""
    rows = [decided(record(n), said("include")) for n in range(3)]
    rows += [decided(record(3), said("exclude")), decided(record(4), said("uncertain"))]
    return written_batch(client, rows)


def test_a_figure_without_a_word_on_reports_ends_with_the_screening(client: Client, batch: Batch) -> None:
    assert figures(client, batch.id).flow.reports is None
    decide(batch, RETRIEVAL, "retrieved", 0)
    reports = figures(client, batch.id).flow.reports
    assert reports is not None
    assert (reports.sought, reports.unassessed, reports.awaited) == (3, 1, 2)
    withdraw_override(batch, 0, reviewer=A, stage=RETRIEVAL)
    assert figures(client, batch.id).flow.reports is None


def test_what_did_not_pass_is_not_assessed_and_the_error_names_it(client: Client, batch: Batch) -> None:
    for place, way in ((3, "excluded"), (4, "uncertain")):
        with pytest.raises(
            RefusedDecision, match=rf"not passed by the screening: No\. {place + 1} \(r{place}\), which is {way}"
        ):
            overrides.decide(
                batch,
                [
                    HumanDecision(0, "include", A, stage=FULL_TEXT),
                    HumanDecision(place, "exclude", A, stage=FULL_TEXT, reason="Wrong age"),
                ],
            )
    assert list_overrides(batch, history=True) == []  # all or nothing
    override(batch, 4, "include", reviewer=A)  # a person lets it pass, and then it can be assessed
    decide(batch, FULL_TEXT, "include", 4)
    with pytest.raises(RefusedDecision, match=r"not passed by the screening: No\. 5 \(r4\)"):
        withdraw_override(batch, 4, reviewer=A)
    with pytest.raises(RefusedDecision, match=r"No\. 5 \(r4\), which is in conflict"):
        override(batch, 4, "exclude", reviewer=B)
    reports = figures(client, batch.id).flow.reports
    assert reports is not None
    assert (reports.sought, reports.included) == (4, 1)


def test_a_ledger_in_which_the_model_changed_its_mind_later_gives_no_figure_and_says_which_record(
    client: Client, batch: Batch
) -> None:
    decide(batch, FULL_TEXT, "include", 0, 1)
    with client.engine.begin() as connection:  # as a new round might
        connection.execute(text("UPDATE results SET value = '\"uncertain\"' WHERE idx = 1"))
    with pytest.raises(OperationFailed, match=r"^not passed by the screening: No\. 2 \(r1\), which is uncertain"):
        figures(client, batch.id)


def test_of_several_reviewers_of_a_full_text_the_same_rule_holds_as_everywhere(client: Client, batch: Batch) -> None:
    decide(batch, FULL_TEXT, "include", 0, 1, 2)
    decide(batch, FULL_TEXT, "exclude", 0, 1, reviewer=B, reason="Wrong age")
    decide(batch, FULL_TEXT, "exclude", 1, reviewer=C, reason="Wrong outcome", settles=True)
    decide(batch, FULL_TEXT, "include", 2, reviewer=B)
    reports = figures(client, batch.id).flow.reports
    assert reports is not None
    assert (reports.conflicts, reports.included) == (1, 1)
    assert by_name(reports.excluded) == {"Wrong outcome": 1}  # the reason of the one that settles
    decide(batch, FULL_TEXT, "exclude", 0, reason="Wrong age")
    reports = figures(client, batch.id).flow.reports
    assert reports is not None
    assert by_name(reports.excluded) == {"Wrong age": 1, "Wrong outcome": 1}


def test_a_report_that_was_assessed_was_retrieved_whatever_was_said_before(client: Client, batch: Batch) -> None:
    decide(batch, RETRIEVAL, "not retrieved", 0, 1, reason="No copy to be had")
    decide(batch, FULL_TEXT, "include", 0)
    reports = figures(client, batch.id).flow.reports
    assert reports is not None
    assert (by_name(reports.not_retrieved), reports.assessed) == ({"No copy to be had": 1}, 1)


def test_in_a_review_reports_belong_to_its_last_screening(client: Client) -> None:
    with client.engine.begin() as connection:
        plan = (Filter(criteria="Is it about hips?"), SCREENING, FIELDS)
        review = write_review(connection, "Hips", *plan, finished=True)
        whole = [Ledgered(record(n), value=n < 3, confidence=0.9, source=n % 3) for n in range(5)]
        first = write_batch(connection, whole, operation=plan[0], source=SOURCES, place=Place(review, 0))
    with pytest.raises(InvalidParameters, match=r"last screening of its review.*its stage 2, which has not begun"):
        decide(client.batch(str(first)), FULL_TEXT, "include", 0)
    with client.engine.begin() as connection:
        rows = [decided(record(n), said("include"), origin=n) for n in range(2)]
        rows.append(decided(record(2), said("exclude"), origin=2))
        second = write_batch(connection, rows, source=None, place=Place(review, 1))
        fields = [Ledgered(record(0), value={"n": 4}, confidence=0.8, origin=0)]
        third = write_batch(connection, fields, operation=FIELDS, source=None, place=Place(review, 2))
    for other, why in (
        (first, "is not the last screening"),
        (third, "has the operation extract_fields: only records that passed"),
    ):
        with pytest.raises(InvalidParameters, match=rf"{why}.*its stage 2: batch {str(second)[:8]}"):
            decide(client.batch(str(other)), FULL_TEXT, "include", 0)
    decide(client.batch(str(second)), FULL_TEXT, "include", 0)
    decide(client.batch(str(second)), FULL_TEXT, "exclude", 1, reason="Wrong age")
    flow = figures(client, str(review)).flow
    assert flow.reports is not None
    assert (flow.reports.sought, flow.reports.included, by_name(flow.reports.excluded)) == (2, 1, {"Wrong age": 1})
    # of r0, r1 from MEDLINE, the registry; the others' r2 did not pass
    searched, others = flow.columns
    assert searched.reports is not None
    assert others.reports is not None
    assert (searched.reports.sought, others.reports.sought) == (2, 0)
    assert [stage.entered for stage in searched.stages] == [4, 2, 1]
    assert [stage.entered for stage in others.stages] == [1, 1, 0]
    document = io.StringIO()
    write_report(client.engine, str(review), ReportForm.JSON, document)
    boxes = [(box["phase"], box["box"], box["n"]) for box in json.loads(document.getvalue())["boxes"]]
    assert ("Included", "Studies included in review", 1) in boxes
    assert ("Evaluation", "Records given to the extraction of fields", 1) in boxes


def test_a_batch_that_screens_nothing_has_no_reports(client: Client) -> None:
    with client.engine.begin() as connection:
        rows = [Ledgered(record(0), value=3.0, confidence=0.9)]
        scored = write_batch(connection, rows, operation=Score(criteria="How good?"))
    with pytest.raises(InvalidParameters, match="has the operation score: only records that passed"):
        decide(client.batch(str(scored)), RETRIEVAL, "retrieved", 0)
