"""Several people's decisions on one record: which of them counts, and what a conflict is to its readers."""

import io
import json
import random
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import insert, null, select

from stage.assessed import A, B, C, figures, record, said
from stage.screened import CRITERIA, Place, decided, kept_out, write_batch, write_review, written_batch
from tamis_producer import Batch, Client
from tamis_producer.ledger.overrides import standing
from tamis_review import count_human_decisions, decide, override, withdraw_override
from tamis_review.decisions.decided_records import decision_of, with_decision
from tamis_review.decisions.final_outcome import outcomes
from tamis_review.decisions.record_overrides import HumanDecision
from tamis_review.intake.decision import CONFIDENCE, DECISION, EXCLUSION_REASON, REASON
from tamis_review.plans.stages import advance
from tamis_review.report import ReportForm, write_report
from tamis_review.report.table import record_row
from tamis_schemas import Exclusion, Extract, Filter, HumanStage, Inclusion, InvalidParameters
from tamis_schemas.ledger import overrides

Said = tuple[str, str | None, bool]  # reviewer, value (None withdraws), settles

ROWS = [
    decided(record(0), said("include")),
    decided(record(1), said("exclude")),
    kept_out(record(2), Exclusion(rule="title_pattern", reason="in rats")),
    kept_out(record(3), Exclusion(rule="duplicate", reason="the same DOI", duplicate_of=0)),
    decided(record(4), said("uncertain")),
]


@pytest.fixture
def batch(client: Client) -> Batch:
    return written_batch(client, ROWS)


def by_the_rule(history: Sequence[Said]) -> tuple[str | None, bool] | None:
    """The value that counts and whether it is a conflict, as docs/screening.md words it; None where nobody decided."""
    latest = {reviewer: (place, value, settles) for place, (reviewer, value, settles) in enumerate(history)}
    stands = [one for one in latest.values() if one[1] is not None]
    if not stands:
        return None
    settling = [one for one in stands if one[2]]
    if settling:
        return max(settling)[1], False
    values = {value for _, value, _ in stands}
    return (values.pop(), False) if len(values) == 1 else (None, True)


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ([], None),
        ([(A, "include", False)], ("include", False)),
        ([(A, "include", False), (A, None, False)], None),
        ([(A, "include", False), (B, "include", False)], ("include", False)),
        ([(A, "include", False), (B, "exclude", False)], (None, True)),
        ([(A, "include", False), (B, "uncertain", False)], (None, True)),
        ([(A, "include", False), (B, "exclude", False), (B, None, False)], ("include", False)),
        ([(A, "include", False), (B, "exclude", False), (B, "include", False)], ("include", False)),
        ([(A, "include", False), (B, "exclude", False), (C, "exclude", True)], ("exclude", False)),
        ([(C, "exclude", True), (A, "include", False), (B, "include", False)], ("exclude", False)),
        ([(C, "exclude", True), (A, "include", True)], ("include", False)),
        ([(C, "exclude", True), (A, "include", False), (C, None, False)], ("include", False)),
        ([(A, "include", False), (C, "exclude", True), (C, "exclude", False)], (None, True)),
    ],
)
def test_the_rule_in_words_is_what_the_table_below_is_checked_with(
    history: list[Said], expected: tuple[str | None, bool] | None
) -> None:
    assert by_the_rule(history) == expected


def test_the_ledger_follows_the_rule_for_every_history_and_keeps_stages_apart(client: Client) -> None:
    drawn, n = random.Random(19), 400
    values = [None, "include", "exclude", "uncertain"]
    own, full = (
        [
            [(drawn.choice([A, B, C]), drawn.choice(values), drawn.random() < 0.2) for _ in range(drawn.randrange(6))]
            for _ in range(n)
        ]
        for _ in range(2)
    )
    with client.engine.begin() as connection:
        batch_id = write_batch(connection, [decided(record(i), said("include")) for i in range(n)])
        rows: list[dict[str, Any]] = [
            {
                "batch_id": batch_id,
                "idx": idx,
                "stage": stage,
                "reviewer": reviewer,
                "settles": settles,
                "value": null() if value is None else value,
            }
            for stage, histories in (("own", own), ("full-text", full))
            for idx, history in enumerate(histories)
            for reviewer, value, settles in history
        ]
        connection.execute(insert(overrides), rows)
        for stage, histories in ((HumanStage.OWN, own), (HumanStage.FULL_TEXT, full)):
            found = {
                row.idx: (row.value, row.conflict)
                for row in connection.execute(select(standing(batch_id, stage=stage)))
            }
            expected = {idx: by_the_rule(history) for idx, history in enumerate(histories)}
            assert found == {idx: outcome for idx, outcome in expected.items() if outcome is not None}
            assert sum(conflict for _, conflict in found.values()) > n / 10
    results = list(client.batch(str(batch_id)).results())
    assert [(row.override and row.override.value, row.conflict) if row.decisions else None for row in results] == [
        by_the_rule(history) for history in own
    ]
    with client.engine.connect() as connection:
        ways = [row.outcome for row in connection.execute(outcomes(batch_id))]
    wanted = [(by_the_rule(history) or ("include", False)) for history in own]
    assert [ways.count(way) for way in ("passed", "excluded", "uncertain", "conflict")] == [
        wanted.count((value, value is None)) for value in ("include", "exclude", "uncertain", None)
    ]


def contradict(batch: Batch, *places: int) -> None:
    decide(batch, [HumanDecision(index, "include", A, "adults") for index in places])
    decide(batch, [HumanDecision(index, "exclude", B) for index in places])


def test_in_a_conflict_nobodys_decision_counts_and_every_number_adds_up(client: Client, batch: Batch) -> None:
    contradict(batch, 0, 1, 2, 3, 4)
    found = figures(client, batch.id)
    stage = found.flow.stages[0]
    assert (stage.entered, stage.conflicts, stage.taken_back, stage.referred) == (5, 5, 2, 5)
    assert (stage.passed, stage.excluded, stage.excluded_by_human, stage.uncertain) == (0, (), 0, 0)
    assert (found.flow.duplicates, found.flow.ineligible) == (0, ())
    one = found.screening
    assert one.final_outcomes == {"conflict": 5}
    assert (one.pass_rate.count, one.pass_rate.total) == (1, 3)
    assert (one.final_pass_rate.count, one.final_pass_rate.total) == (0, 5)
    humans = one.humans
    assert (humans.decided, humans.conflicts, humans.overridden, humans.reviewers) == (0, 5, 0, (A, B))
    assert humans.agreement is not None
    assert humans.agreement.overrides.n == 0
    override(batch, 0, "include", reviewer=C, settles=True)
    withdraw_override(batch, 1, reviewer=A)
    found = figures(client, batch.id)
    assert found.screening.final_outcomes == {"conflict": 3, "passed": 1, "excluded": 1}
    assert (found.flow.stages[0].confirmed, found.screening.humans.confirmed) == (2, 2)


def test_a_conflict_is_named_with_both_voices_in_results_exports_table_and_report(client: Client, batch: Batch) -> None:
    contradict(batch, 0)
    (row,) = batch.results([0])
    assert (row.override, row.final_value, row.conflict, row.overridden) == (None, None, True, False)
    assert row.decision_words == "Reviewer A: include; Reviewer B: exclude"
    assert json.loads(row.model_dump_json())["conflict"] is True
    assert decision_of(row) == "conflict"
    exported = with_decision(row)
    assert (exported[DECISION], exported[REASON]) == (
        "conflict",
        "Reviewer A: include; Reviewer B: exclude [the software: include]",
    )
    assert not {CONFIDENCE, EXCLUSION_REASON} & exported.keys()
    shown = record_row("inclusion", row)
    assert (shown["outcome"], shown["system"], "human" in shown) == ("conflict", "passed", False)
    assert [(one["by"], one["value"], one.get("note")) for one in shown["voices"]] == [
        (A, "include", "adults"),
        (B, "exclude", None),
    ]
    page = io.StringIO()
    write_report(client.engine, batch.id, ReportForm.MD, page)
    assert "| unresolved conflicts between reviewers | 1 |" in page.getvalue()
    assert "reviewers disagree (conflict) | 1 |" in page.getvalue()


def test_a_conflict_passes_to_no_stage_and_is_neither_an_exclusion_to_audit_nor_an_example(client: Client) -> None:
    with client.engine.begin() as connection:
        review = write_review(connection, "r", Inclusion(criteria=CRITERIA), Filter(criteria="Is it a trial?"))
        first = write_batch(connection, [decided(record(n), said("include")) for n in range(3)], place=Place(review, 0))
    batch = client.batch(str(first))
    contradict(batch, 0, 1)
    override(batch, 1, "include", reviewer=C, settles=True)
    later = advance(client.engine, first)
    assert isinstance(later, UUID)
    assert [row.item_id for row in client.batch(str(later)).results()] == ["r1", "r2"]
    flow = figures(client, str(review)).flow
    assert (flow.stages[0].passed, flow.stages[0].conflicts, flow.stages[1].entered) == (2, 1, 2)


def test_records_are_counted_once_whoever_decided_about_them(client: Client, batch: Batch) -> None:
    assert count_human_decisions(batch) is None
    contradict(batch, 0)
    override(batch, 1, "exclude", reviewer=A)  # as the model
    override(batch, 2, "exclude", reviewer=A)  # as the rule
    override(batch, 3, "include", reviewer=A)
    override(batch, 3, "include", reviewer=B)
    override(batch, 3, "exclude", reviewer=A, stage=HumanStage.FULL_TEXT)
    counts = count_human_decisions(batch)
    assert counts is not None
    assert (counts.decided, counts.confirmed, counts.conflicts, counts.overridden) == (3, 2, 1, 1)
    rows = [kept_out(record(n), Exclusion(rule="duplicate", reason="DOI", duplicate_of=0)) for n in range(2)]
    other = written_batch(client, rows, operation=Extract(instruction="What?"))
    for index, reviewer, value in ((0, A, None), (1, A, "words"), (1, B, None)):
        override(other, index, value, reviewer=reviewer)
    counts = count_human_decisions(other)
    assert counts is not None
    assert (counts.decided, counts.confirmed, counts.conflicts) == (1, 0, 1)


def test_only_ones_own_decision_can_be_withdrawn_and_the_error_names_who_decided(batch: Batch) -> None:
    contradict(batch, 0)
    with pytest.raises(InvalidParameters, match=r"Reviewer C has no decision.*Reviewer A and Reviewer B.*--settle"):
        withdraw_override(batch, 0, reviewer=C)
    with pytest.raises(InvalidParameters, match="there is no human decision to withdraw"):
        withdraw_override(batch, 0, reviewer=A, stage=HumanStage.FULL_TEXT)
    withdraw_override(batch, 0, reviewer=B)
    (row,) = batch.results([0])
    assert (row.override and row.override.reviewer, row.conflict) == (A, False)


@pytest.mark.parametrize(
    ("stage", "value", "complaint"),
    [
        (HumanStage.RETRIEVAL, "include", "retrieved or not retrieved"),
        (HumanStage.FULL_TEXT, "retrieved", "include or exclude or uncertain"),
    ],
)
def test_each_stage_has_its_own_decisions(batch: Batch, stage: HumanStage, value: str, complaint: str) -> None:
    with pytest.raises(InvalidParameters, match=complaint):
        override(batch, 0, value, reviewer=A, stage=stage)
    made = override(batch, 0, stage.values[-1], reviewer=A, stage=stage, reason="wrong age cohort")
    assert (made.stage, made.reason, made.system_decided) == (stage, "wrong age cohort", False)
    (row,) = batch.results([0])
    assert (row.decisions, row.final_value) == ((), "include")  # the stage before it has no word of it
