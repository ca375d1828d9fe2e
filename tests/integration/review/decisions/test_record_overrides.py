"""Human decisions beside the model's: what may be decided, what is kept, and where it counts."""

import csv
import io
import json
from collections.abc import Iterator
from uuid import UUID, uuid4

import psycopg
import pytest
from sqlalchemy import Engine, text

from stage.screened import (
    CRITERIA,
    Ledgered,
    Place,
    decided,
    failed,
    kept_out,
    write_batch,
    write_review,
    written_batch,
)
from tamis_producer import Batch, Client
from tamis_producer.results.results_file import write_csv, write_jsonl
from tamis_review import decide, draw_audit, list_overrides, override, withdraw_override
from tamis_review.decisions.decided_records import decision_of, with_decision
from tamis_review.decisions.record_overrides import HumanDecision, RefusedDecision
from tamis_review.intake.decision import DECISION, EXCLUSION_REASON, REASON
from tamis_review.plans.stages import advance
from tamis_review.report import Figures, ReportForm, write_report
from tamis_review.report.reading import find_subject, read_figures, snapshot
from tamis_review.stages import has_later_stage
from tamis_schemas import (
    Exclusion,
    Extract,
    ExtractFields,
    Filter,
    IdempotencyConflict,
    Inclusion,
    InclusionDecision,
    InvalidParameters,
    ItemStatus,
    Judge,
    Operation,
    Score,
)

FIELDS = ExtractFields(
    schema={"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]},
    instructions="How many?",
)
SECOND = Filter(criteria="Is it a trial?")


@pytest.fixture
def engine(client: Client) -> Iterator[Engine]:
    return client.engine


def record(n: int) -> dict[str, object]:
    return {"id": f"r{n}", "title": f"Title {n}", "abstract": f"Abstract {n}"}


def said(status: str, **more: object) -> InclusionDecision:
    return InclusionDecision.model_validate({"status": status, "confidence": 0.8, "rationale": "because", **more})


# 8 records: included, excluded, uncertain, failed, cancelled, kept out by a rule, a copy, excluded.
ROWS = [
    decided(record(0), said("include")),
    decided(record(1), said("exclude", exclusion_reason=CRITERIA.exclusion_criteria[0])),
    decided(record(2), said("uncertain")),
    failed(record(3), "timeout"),
    Ledgered(record(4), ItemStatus.CANCELLED),
    kept_out(record(5), Exclusion(rule="title_pattern", reason="in rats")),
    kept_out(record(6), Exclusion(rule="duplicate", reason="the same DOI", duplicate_of=0)),
    decided(record(7), said("exclude", exclusion_reason=CRITERIA.inclusion_criteria[0])),
]


@pytest.fixture
def batch(client: Client) -> Batch:
    return written_batch(client, ROWS)


def figures(client: Client, batch: Batch) -> Figures:
    with snapshot(client.engine) as connection:
        return read_figures(connection, find_subject(connection, batch.id))


def test_what_a_human_decides_stands_beside_the_models_result(batch: Batch) -> None:
    before = [row.model_dump() for row in batch.results()]
    made = override(batch, 1, "include", reviewer=" Reviewer A ", note=" adults after all ")
    assert (made.value, made.reviewer, made.note) == ("include", "Reviewer A", "adults after all")
    assert (made.system_decided, made.system_value, made.confirms) == (True, "exclude", False)
    rows = list(batch.results())
    assert (rows[1].value, rows[1].final_value, rows[1].overridden) == ("exclude", "include", True)
    assert rows[1].override == made
    assert (rows[0].final_value, rows[0].overridden, rows[0].override) == ("include", False, None)
    assert [row.outcome for row in rows[:2]] == ["passed", "passed"]
    own = {"outcome", "override", "decisions", "final_value", "overridden", "conflict"}
    assert [row.model_dump(exclude=own) for row in rows] == [
        {name: value for name, value in row.items() if name not in own} for row in before
    ]
    assert list_overrides(batch) == [made]


def test_a_reviewers_latest_decision_counts_and_a_withdrawal_gives_the_software_its_own_back(batch: Batch) -> None:
    override(batch, 1, "include", reviewer="Reviewer A")
    override(batch, 1, "exclude", reviewer="Reviewer A", note="rats")
    (row,) = batch.results([1])
    assert (row.final_value, row.overridden, row.conflict) == ("exclude", False, False)  # confirmed
    override(batch, 1, "include", reviewer="Reviewer A")
    gone = withdraw_override(batch, 1, reviewer="Reviewer A", note="a slip")
    assert (gone.withdrawn, gone.value) == (True, None)
    assert list_overrides(batch) == []
    assert [(one.value, one.note, one.withdrawn) for one in list_overrides(batch, history=True)] == [
        ("include", None, False),
        ("exclude", "rats", False),
        ("include", None, False),
        (None, "a slip", True),
    ]
    with pytest.raises(InvalidParameters, match="there is no human decision to withdraw"):
        withdraw_override(batch, 1, reviewer="Reviewer A")


def test_a_withdrawal_that_arrives_again_leaves_what_was_decided_since(batch: Batch) -> None:
    override(batch, 1, "include", reviewer="Reviewer A")
    said = uuid4()
    gone = withdraw_override(batch, 1, reviewer="Reviewer A", decision_id=said)
    override(batch, 1, "exclude", reviewer="Reviewer A")
    assert withdraw_override(batch, 1, reviewer="Reviewer A", decision_id=said) == gone
    assert [one.value for one in list_overrides(batch)] == ["exclude"]
    with pytest.raises(IdempotencyConflict, match="exists with other content"):
        override(batch, 1, "exclude", reviewer="Reviewer A", decision_id=said)


def test_the_same_said_twice_is_kept_once_and_another_voice_or_note_is_kept_too(batch: Batch) -> None:
    first = override(batch, 2, "include", reviewer="Reviewer A", note="yes")
    assert override(batch, 2, "include", reviewer="Reviewer A", note="yes") == first
    assert len(list_overrides(batch, history=True)) == 1
    override(batch, 2, "include", reviewer="Reviewer B", note="yes")
    override(batch, 2, "include", reviewer="Reviewer B", note="surely")
    override(batch, 2, "include", reviewer="Reviewer B", note="surely", settles=True)
    assert [one.reviewer for one in list_overrides(batch, history=True)] == ["Reviewer A", *["Reviewer B"] * 3]


def test_a_record_may_be_decided_before_the_software_has_and_whatever_it_says_later(client: Client) -> None:
    rows = [Ledgered(record(0), ItemStatus.PENDING), Ledgered(record(1), ItemStatus.RUNNING)]
    batch = written_batch(client, rows, state="running")
    override(batch, 0, "include", reviewer="Reviewer A")
    override(batch, 1, "exclude", reviewer="Reviewer A")
    assert [(row.status, row.final_value) for row in batch.results()] == [
        ("pending", "include"),
        ("running", "exclude"),
    ]
    stage = figures(client, batch).flow.stages[0]
    assert (stage.passed_by_human, stage.excluded_by_human, stage.open) == (1, 1, 0)


@pytest.mark.parametrize(
    ("operation", "value", "kept"),
    [
        (Inclusion(criteria=CRITERIA), "include", "include"),
        (SECOND, False, False),
        (Score(criteria="How good?"), 1, 1.0),
        (Score(criteria="How good?", max_value=5.0, interval=0.5), 2.5, 2.5),
        (Extract(instruction="What?"), " words ", "words"),
        (Extract(instruction="What?"), None, None),
        (Extract(instruction="How many?", output_type="number"), 3, 3),
        (Extract(instruction="Is it?", output_type="boolean"), False, False),
        (Extract(instruction="Which?", output_type="enum", enum_values=["a", "b"]), "b", "b"),
        (FIELDS, {"n": 3}, {"n": 3}),
        (FIELDS, {}, {"n": None}),
    ],
)
def test_a_value_is_what_the_operation_could_have_given(
    client: Client, operation: Operation, value: object, kept: object
) -> None:
    batch = written_batch(client, [failed(record(0), "timeout")], operation=operation)
    made = override(batch, 0, value, reviewer="Reviewer A")
    assert made.value == kept
    assert type(made.value) is type(kept)
    (row,) = batch.results()
    assert (row.final_value, row.value, row.overridden) == (kept, None, True)
    assert figures(client, batch).flow.stages[0].overridden == 1
    assert withdraw_override(batch, 0, reviewer="Reviewer A").withdrawn  # also of what the record does not hold
    assert list_overrides(batch) == []


def test_a_person_may_look_at_a_screened_record_and_leave_it_to_others(client: Client) -> None:
    batch = written_batch(client, [decided(record(0), said("include"))])
    assert override(batch, 0, "uncertain", reviewer="Reviewer A").value == "uncertain"
    (row,) = batch.results()
    assert row.final_value == "uncertain"
    stage = figures(client, batch).flow.stages[0]
    assert (stage.uncertain, stage.passed, stage.overridden) == (1, 0, 0)


@pytest.mark.parametrize(
    ("operation", "value", "complaint"),
    [
        (Inclusion(criteria=CRITERIA), "maybe", "include or exclude"),
        (SECOND, "uncertain", "True or False"),
        (Inclusion(criteria=CRITERIA), True, "include or exclude"),
        (SECOND, "yes", "True or False"),
        (SECOND, 1, "True or False"),
        (Score(criteria="How good?"), 1.5, "outside the scale"),
        (Score(criteria="How good?", interval=0.5), 0.3, "not a value of the scale"),
        (Score(criteria="How good?"), True, "not a number"),
        (Score(criteria="How good?"), float("nan"), "not a number"),
        (Extract(instruction="What?"), "  ", "not a text"),
        (Extract(instruction="What?"), "a\x00b", "cannot store"),
        (Extract(instruction="How many?", output_type="number"), "3", "not a number"),
        (Extract(instruction="Is it?", output_type="boolean"), 1, "not a boolean"),
        (Extract(instruction="Which?", output_type="enum", enum_values=["a", "b"]), "c", "none of a, b"),
        (FIELDS, {"m": 3}, "'m' is not a field"),
        (FIELDS, {"n": 0}, "n: 0 is less than the minimum"),
        (FIELDS, "n", "an object"),
        (Judge(guidelines="A number counts."), "strong", "cannot be overridden"),
    ],
)
def test_any_other_value_is_refused_and_nothing_is_written(
    client: Client, operation: Operation, value: object, complaint: str
) -> None:
    batch = written_batch(client, [failed(record(0), "timeout")], operation=operation)
    with pytest.raises(InvalidParameters, match=complaint):
        override(batch, 0, value, reviewer="Reviewer A")
    assert list_overrides(batch, history=True) == []


@pytest.mark.parametrize(
    ("index", "reviewer", "complaint"),
    [
        (8, "Reviewer A", r"no record No\. 9 \(index 8\)"),
        (-1, "Reviewer A", "is not an index"),
        (True, "Reviewer A", "is not an index"),
        (0, " ", "who decided"),
    ],
)
def test_it_takes_a_record_and_a_name(batch: Batch, index: int, reviewer: str, complaint: str) -> None:
    with pytest.raises(InvalidParameters, match=complaint):
        override(batch, index, "include", reviewer=reviewer)


def test_of_many_decisions_all_are_written_or_none(batch: Batch) -> None:
    good, bad = HumanDecision(1, "include", "Reviewer A"), HumanDecision(2, "perhaps", "Reviewer A")
    with pytest.raises(RefusedDecision, match="perhaps") as refused:
        decide(batch, [good, bad])
    assert refused.value.number == 1
    assert list_overrides(batch) == []
    with pytest.raises(RefusedDecision, match="two decisions on No\\. 2"):
        decide(batch, [good, good])
    assert [one.index for one in decide(batch, [HumanDecision(3, "exclude", "Reviewer A"), good])] == [3, 1]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE overrides SET reviewer = 'Eve'",
        "UPDATE overrides SET value = NULL",
        "DELETE FROM overrides",
    ],
)
def test_not_even_the_owner_changes_what_a_human_decided(batch: Batch, database_url: str, statement: str) -> None:
    override(batch, 1, "include", reviewer="Reviewer A")
    with (
        psycopg.connect(database_url.replace("+psycopg", "")) as connection,
        pytest.raises(psycopg.errors.CheckViolation, match="overrides are added to, never changed"),
    ):
        connection.execute(statement.encode())


def test_a_batch_that_its_owner_deletes_takes_its_decisions_with_it(batch: Batch, engine: Engine) -> None:
    override(batch, 1, "include", reviewer="Reviewer A")
    audit = draw_audit(batch, 1, seed=1)
    assert audit.sample == 1
    with engine.begin() as connection:
        for table in ("results", "batches"):
            column = "id" if table == "batches" else "batch_id"
            connection.execute(text(f"DELETE FROM {table} WHERE {column} = :id"), {"id": batch.id})
        assert connection.execute(text("SELECT count(*) FROM overrides")).scalar_one() == 0
        assert connection.execute(text("SELECT count(*) FROM audits")).scalar_one() == 0


def test_every_number_of_a_report_follows_the_final_decision_and_adds_up(client: Client, batch: Batch) -> None:
    decisions = {
        0: "include",  # confirmed
        1: "include",  # the opposite
        2: "exclude",  # the software was uncertain
        3: "include",  # it had failed
        4: "exclude",  # it was cancelled
        5: "include",  # a rule had kept it out
        6: "exclude",  # a copy: it stays one
    }
    decide(batch, [HumanDecision(index, value, "Reviewer A") for index, value in decisions.items()])
    found = figures(client, batch)
    stage = found.flow.stages[0]
    assert (found.flow.duplicates, found.flow.ineligible, stage.entered) == (1, (), 7)
    assert (stage.passed, stage.passed_by_human, stage.passed_confirmed) == (4, 4, 1)
    assert (stage.excluded_by_human, [tally.n for tally in stage.excluded]) == (2, [1])
    assert (stage.uncertain, stage.failed, stage.cancelled, stage.taken_back, stage.confirmed) == (0, (), 0, 1, 2)
    one = found.screening
    assert one.outcomes == {
        "duplicate": 1,
        "ineligible": 1,
        "passed": 1,
        "excluded": 2,
        "uncertain": 1,
        "failed": 1,
        "cancelled": 1,
    }
    assert one.final_outcomes == {"duplicate": 1, "passed": 4, "excluded": 3}
    assert (one.pass_rate.count, one.pass_rate.total) == (1, 4)
    assert (one.final_pass_rate.count, one.final_pass_rate.total) == (4, 7)
    humans = one.humans
    assert (humans.decided, humans.confirmed, humans.reversed, humans.settled) == (7, 2, 2, 3)
    assert humans.reviewers == ("Reviewer A",)
    assert one.counts.identity_holds
    assert [tally.name for tally in one.errors] == ["timeout"]  # what went wrong went wrong
    assert sum(sum(series.bins) for series in one.confidence) == 4  # of the model, as before


def test_without_any_decision_nothing_in_a_report_speaks_of_humans(client: Client, batch: Batch) -> None:
    found = figures(client, batch)
    assert found.screening.outcomes == found.screening.final_outcomes
    assert found.screening.pass_rate == found.screening.final_pass_rate
    assert found.screening.humans.decided == found.flow.stages[0].overridden == 0
    page = io.StringIO()
    write_report(client.engine, batch.id, ReportForm.HTML, page)
    assert 'id="humans"' not in page.getvalue()


def test_all_forms_of_a_report_say_what_was_overridden(client: Client, batch: Batch) -> None:
    override(batch, 1, "include", reviewer="Reviewer A <b>", note="adults & all")
    override(batch, 7, "exclude", reviewer="Reviewer B")
    texts = {}
    for form in (ReportForm.MD, ReportForm.JSON, ReportForm.SVG):
        stream = io.StringIO()
        write_report(client.engine, batch.id, form, stream)
        texts[form] = stream.getvalue()
    assert "| opposite to the software | 1 |" in texts[ReportForm.MD]
    assert "Decided by Reviewer A \\<b\\>, Reviewer B." in texts[ReportForm.MD]
    stored = json.loads(texts[ReportForm.JSON])
    parts = {part["text"]: part["n"] for box in stored["boxes"] for part in box["parts"]}
    assert (parts["by a human"], parts["of these, by a human"]) == (1, 1)
    assert "of these, by a human" in texts[ReportForm.SVG]


def test_results_and_exports_give_both_decisions(batch: Batch) -> None:
    override(batch, 1, "include", reviewer="Reviewer A", note="=adults")
    override(batch, 7, "exclude", reviewer="Reviewer B")
    rows = list(batch.results())
    stream = io.StringIO(newline="")
    write_csv(rows, stream)
    table = list(csv.DictReader(io.StringIO(stream.getvalue())))
    columns = ("value", "final_value", "overridden", "reviewer", "note")
    assert [table[1][name] for name in columns] == ["exclude", "include", "true", "Reviewer A", "'=adults"]
    assert [table[7][name] for name in columns] == ["exclude", "exclude", "", "Reviewer B", ""]
    assert [table[0][name] for name in columns] == ["include", "include", "", "", ""]
    lines = io.StringIO()
    write_jsonl(rows, lines)
    second = json.loads(lines.getvalue().splitlines()[1])
    assert (second["final_value"], second["overridden"], second["override"]["reviewer"]) == (
        "include",
        True,
        "Reviewer A",
    )
    assert decision_of(rows[1]) == "include"
    exported = with_decision(rows[1])
    assert exported[DECISION] == "include"
    assert exported[REASON] == "decided by Reviewer A: =adults [the software: exclude]"
    assert EXCLUSION_REASON not in exported
    assert with_decision(rows[7])[REASON] == "because [confirmed by Reviewer B]"


def test_what_a_human_includes_before_the_next_stage_begins_goes_into_it_and_afterwards_does_not(
    client: Client,
) -> None:
    with client.engine.begin() as connection:
        review = write_review(connection, "r", Inclusion(criteria=CRITERIA), SECOND)
        first = write_batch(connection, ROWS, place=Place(review, 0))
    batch = client.batch(str(first))
    override(batch, 1, "include", reviewer="Reviewer A")
    override(batch, 0, "exclude", reviewer="Reviewer A")
    override(batch, 5, "include", reviewer="Reviewer A")
    later = advance(client.engine, first)
    assert isinstance(later, UUID)
    assert [row.item_id for row in client.batch(str(later)).results()] == ["r1", "r5"]
    assert has_later_stage(batch)
    override(batch, 7, "include", reviewer="Reviewer A")
    with snapshot(client.engine) as connection:
        flow = read_figures(connection, find_subject(connection, str(review))).flow
    assert (flow.stages[0].passed, flow.stages[1].entered, flow.stages[1].held_back) == (3, 2, 1)
