"""The views for people who ask in SQL: the same as the code says of the same batches."""

import re
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import Engine, func, select, text, update

from stage.kept import HUMAN, QUESTION, SCREENED, decide, finish
from stage.screened import SCREENING, Ledgered, write_batch
from tamis_schemas import Filter, ItemStatus, Operation, Score, wilson
from tamis_schemas.ledger import batches, summaries

RATING = Score(criteria="How good?", interval=0.5)


def yes_and_no() -> list[Ledgered]:
    return [
        *(Ledgered({"id": f"f{n}"}, value=n < 3, confidence=0.5) for n in range(5)),
        Ledgered({"id": "open"}, ItemStatus.RUNNING),
    ]


@pytest.fixture
def of_each_kind(engine: Engine) -> list[tuple[UUID, str]]:
    """A batch of each kind of operation, each with decisions of people; they stand side by side in one ledger."""
    rated = [Ledgered({"id": f"s{n}"}, value=min(n, 2) / 2, confidence=0.5) for n in range(4)]
    answered: dict[int, list[object]] = {0: [False], 1: [True], 4: [True, None], 3: [False, True]}
    answered[2] = [False, ("Reviewer 1", True)]
    given: list[tuple[Operation, list[Ledgered], dict[int, list[object]]]] = [
        (SCREENING, SCREENED, HUMAN),
        (QUESTION, yes_and_no(), answered),
        (RATING, rated, {0: [0.5], 1: [0.5], 2: [0.0, None], 3: [1.0, ("Reviewer 1", 0.0)]}),
    ]
    made = []
    with engine.begin() as connection:
        for operation, rows, human in given:
            batch_id = write_batch(connection, rows, operation=operation, state="running", label=operation.operation)
            decide(connection, batch_id, human)
            made.append((batch_id, operation.operation))
    return made


def test_who_decided_stands_beside_what_the_model_said(engine: Engine, of_each_kind: list[tuple[UUID, str]]) -> None:
    batch_id = of_each_kind[1][0]
    with engine.connect() as connection:
        statement = text("SELECT * FROM item_decisions WHERE batch_id = :id ORDER BY idx")
        overruled, _, contradicted, changed_mind, withdrawn, running = connection.execute(
            statement, {"id": batch_id}
        ).all()
    assert (overruled.label, overruled.operation, overruled.item_id, overruled.state) == (
        "filter",
        "filter",
        "f0",
        "decided",
    )
    assert (overruled.decision, overruled.model_decision, overruled.human_decision) == (
        "excluded",
        "passed",
        "excluded",
    )
    assert (overruled.model_value, overruled.human_value, overruled.reviewer) == (True, False, "Reviewer 0")
    assert overruled.note == "seen"
    assert overruled.decided_at is not None
    assert (changed_mind.decision, changed_mind.reviewer) == ("passed", "Reviewer 0")  # a person's last word counts
    assert (withdrawn.decision, withdrawn.human, withdrawn.reviewer) == ("excluded", None, None)
    assert (contradicted.decision, contradicted.conflict, contradicted.reviewers) == ("conflict", True, 2)
    assert (contradicted.reviewer, contradicted.human_value) == (None, None)
    said = [(one["reviewer"], one["value"]) for one in contradicted.decisions]
    assert said == [("Reviewer 0", False), ("Reviewer 1", True)]
    assert (running.decision, running.model_value) == ("open", None)


def test_pass_rates_have_the_interval_that_summaries_have(engine: Engine) -> None:
    pairs = [(0, 0), (0, 1), (1, 1), (0, 7), (7, 7), (1, 7), (3, 7), (6, 7), (1, 1_000_000), (999_999, 1_000_000)]
    pairs += [(passed, n) for n in (2, 13, 1000) for passed in range(0, n + 1, max(1, n // 9))]
    with engine.begin() as connection:
        for passed, n in pairs:
            batch_id = write_batch(connection, [], operation=QUESTION, label=f"{passed} of {n}")
            finish(connection, batch_id, n, passed=passed, of=n)
    with engine.connect() as connection:
        rows = {row.label: row for row in connection.execute(text("SELECT * FROM pass_rates")).all()}
    assert len(rows) == len(set(pairs))
    for passed, n in pairs:
        row, expected = rows[f"{passed} of {n}"], wilson(passed, n)
        assert (row.n, row.passed, row.finished) == (n, passed, True)
        got, wanted = (row.rate, row.low, row.high), (expected.estimate, expected.low, expected.high)
        assert got == (pytest.approx(wanted, abs=1e-12, rel=0) if n else (None, None, None))


def test_a_round_under_way_has_the_numbers_of_its_items_and_a_finished_one_those_of_its_summary(
    engine: Engine,
) -> None:
    with engine.begin() as connection:
        batch_id = write_batch(connection, yes_and_no(), operation=QUESTION, state="running")
        write_batch(connection, [Ledgered({"id": "s"}, value=0.5)], operation=RATING)  # nothing passes or fails there
        finish(connection, batch_id, 6, passed=1, of=4)  # as round 1 stood: two of its items are decided since
        connection.execute(update(batches).where(batches.c.id == batch_id).values(round=2))
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT * FROM pass_rates ORDER BY round")).all()
        assert [(row.batch_id, row.round, row.n, row.passed, row.finished) for row in rows] == [
            (batch_id, 1, 4, 1, True),
            (batch_id, 2, 5, 3, False),
        ]
        assert {(type(row.n), type(row.passed)) for row in rows} == {(int, int)}  # numeric would be a Decimal
        assert connection.execute(select(func.count()).select_from(summaries)).scalar_one() == 1


def test_the_rate_of_a_round_under_way_reads_no_item(engine: Engine) -> None:
    read = "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) SELECT * FROM pass_rates WHERE batch_id = :id"
    blocks = []
    for items in (20, 2_000):
        rows = [Ledgered({"id": f"f{n}"}, value=n % 4 == 0) for n in range(items)]
        with engine.begin() as connection:
            batch_id = write_batch(connection, rows, operation=QUESTION, state="running")
        with engine.begin() as connection:
            connection.execute(text("SELECT settle_tallies(:id)"), {"id": batch_id})
            connection.execute(text("ANALYZE"))
            (row,) = connection.execute(text("SELECT * FROM pass_rates WHERE batch_id = :id"), {"id": batch_id}).all()
            (plan,) = connection.execute(text(read), {"id": batch_id}).scalar_one()
        assert (row.n, row.passed, row.finished) == (items, items // 4, False)
        blocks.append(plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"])
    assert max(blocks) < 20  # 2,000 items fill more than 40


def test_the_single_calls_of_a_service_are_told_apart(engine: Engine) -> None:
    with engine.begin() as connection:
        of_a_service = write_batch(connection, yes_and_no(), operation=QUESTION, state="running")
        connection.execute(update(batches).values(service="pipeline"))
        write_batch(connection, yes_and_no(), operation=QUESTION, state="running")
    for view in ("pass_rates", "item_decisions"):
        with engine.connect() as connection:
            rows = connection.execute(text(f"SELECT DISTINCT batch_id, service FROM {view}")).all()
        assert len(rows) == 2
        assert {row.batch_id for row in rows if row.service == "pipeline"} == {of_a_service}


def test_a_batch_that_is_being_purged_is_in_no_view(engine: Engine) -> None:
    with engine.begin() as connection:
        batch_id = write_batch(connection, yes_and_no()[:5], operation=Filter(criteria="x"))
        finish(connection, batch_id, 5)
        connection.execute(update(batches).values(purging_at=func.now()))
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM pass_rates")).scalar_one() == 0
        assert connection.execute(text("SELECT count(*) FROM item_decisions")).scalar_one() == 0


def test_the_examples_of_the_document_run_as_a_reader(engine: Engine, of_each_kind: list[tuple[UUID, str]]) -> None:
    document = (Path(__file__).parents[2] / "docs" / "ledger.md").read_text("utf-8")
    examples = re.findall(r"```sql\n(.*?)```", document, re.DOTALL)
    asking = [one for one in examples if one.startswith("SELECT")]
    (granting,) = [one for one in examples if one not in asking]
    with engine.begin() as connection:
        connection.execute(update(batches).where(batches.c.operation == "inclusion").values(label="citations.ris"))
        finish(connection, of_each_kind[1][0], 6, passed=3, of=5)
        for statement in granting.split(";"):
            if statement.strip():
                connection.execute(text(statement))
        try:
            connection.execute(text("SET LOCAL ROLE tamis_reader"))
            rows = [connection.execute(text(one)).all() for one in asking]
        finally:
            connection.rollback()
    assert len(rows) == 3
    assert all(rows), "an example shows nothing"
    (rate,) = rows[0]
    assert tuple(rate) == ("filter", 1, 5, *(Decimal(x) for x in ("60.0", "23.1", "88.2")))  # 3 of 5, after Wilson
