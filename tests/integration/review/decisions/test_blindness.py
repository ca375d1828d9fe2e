"""A batch says how its people read, who set it, and what is hidden from whom."""

from uuid import UUID

import pytest
from sqlalchemy import delete, update
from sqlalchemy.exc import DBAPIError

from stage.screened import decided, kept_out, write_batch, written_batch
from tamis_producer import Batch, Client
from tamis_review import draw_audit, override, record_audit, withdraw_override
from tamis_review.decisions.audits import AuditDecision
from tamis_review.decisions.blindness import hidden_from, read_mode, read_mode_set, set_mode
from tamis_schemas import Exclusion, InclusionDecision, InvalidParameters, InvalidRequest, Score, ScreeningMode
from tamis_schemas.ledger import screening_modes

SAID = InclusionDecision.model_validate({"status": "include", "confidence": 0.8, "rationale": "because"})
RULED = Exclusion(rule="date_range", reason="of 1990", confidence=1)


@pytest.fixture
def batch(client: Client) -> Batch:
    read = [decided({"id": f"r{n}", "title": f"Title {n}"}, SAID) for n in range(3)]
    return written_batch(client, [*read, kept_out({"id": "r3", "title": "Title 3"}, RULED)])


def hidden(batch: Batch, client: Client, reviewer: str, places: list[int] | None = None) -> set[int]:
    with client.engine.connect() as connection:
        return hidden_from(connection, UUID(batch.id), reviewer, places)


def put(batch: Batch, client: Client, mode: ScreeningMode) -> None:
    with client.engine.begin() as connection:
        set_mode(connection, UUID(batch.id), mode, set_by="Lead")


def test_a_batch_is_read_openly_until_somebody_sets_a_mode(batch: Batch, client: Client) -> None:
    with client.engine.connect() as connection:
        assert read_mode(connection, UUID(batch.id)) is ScreeningMode.SINGLE
        assert read_mode_set(connection, UUID(batch.id)).set_by is None
    assert hidden(batch, client, "A") == set()


def test_in_pairs_a_record_opens_with_the_second_decision_on_it(batch: Batch, client: Client) -> None:
    put(batch, client, ScreeningMode.PAIR)
    override(batch, 0, "include", reviewer="A")
    override(batch, 1, "include", reviewer="A")
    override(batch, 1, "exclude", reviewer="B")
    for name in "ABC":
        assert hidden(batch, client, name) == {0, 2}
    assert hidden(batch, client, "A", [1, 2]) == {2}
    withdraw_override(batch, 1, reviewer="B")
    assert hidden(batch, client, "A") == {0, 1, 2}


def test_beside_the_model_a_record_opens_with_ones_own_decision(batch: Batch, client: Client) -> None:
    put(batch, client, ScreeningMode.MODEL_SECOND)
    override(batch, 0, "include", reviewer="A")
    assert hidden(batch, client, "A") == {1, 2}
    assert hidden(batch, client, "B") == {0, 1, 2}


def test_where_the_model_is_audited_a_drawn_record_is_hidden_from_everybody_until_it_is_judged(client: Client) -> None:
    said = InclusionDecision.model_validate({"status": "exclude", "confidence": 0.8, "rationale": "because"})
    batch = written_batch(client, [decided({"id": f"r{n}", "title": f"Title {n}"}, said) for n in range(6)])
    put(batch, client, ScreeningMode.MODEL_AUDITED)
    assert hidden(batch, client, "A") == set()
    first = draw_audit(batch, 4, seed=1)
    drawn = [item.index for item in first.items]
    for name in "AB":
        assert hidden(batch, client, name) == {*drawn}
    assert hidden(batch, client, "A", [*drawn[:2], *({*range(6)} - {*drawn})]) == {*drawn[:2]}
    record_audit(client, first.id, [AuditDecision(drawn[0], True, "A")])
    override(batch, drawn[1], "include", reviewer="A")  # a decision on the record is no judgement of the audit
    for name in "AB":
        assert hidden(batch, client, name) == {*drawn[1:]}
    # Of two open audits the last one is read, and the first one after it.
    second = draw_audit(batch, 1, seed=2)
    assert hidden(batch, client, "A") == {second.items[0].index}
    record_audit(client, second.id, [AuditDecision(second.items[0].index, False, "A")])
    assert hidden(batch, client, "A") == {*drawn[1:]}
    record_audit(client, first.id, [AuditDecision(place, False, "B") for place in drawn[1:]])
    assert hidden(batch, client, "A") == set()


def test_who_set_a_mode_is_kept_and_nobody_changes_it(batch: Batch, client: Client) -> None:
    for mode in (ScreeningMode.PAIR, ScreeningMode.PAIR, ScreeningMode.SINGLE):
        put(batch, client, mode)
    with client.engine.connect() as connection:
        rows = connection.execute(screening_modes.select().order_by(screening_modes.c.id)).all()
        assert [(row.mode, row.set_by) for row in rows] == [("pair", "Lead"), ("single", "Lead")]
        found = read_mode_set(connection, UUID(batch.id))
        assert (found.mode, found.set_by) == (ScreeningMode.SINGLE, "Lead")
        assert found.set_at == rows[1].created_at
    assert hidden(batch, client, "A") == set()
    for change in (update(screening_modes).values(mode="pair"), delete(screening_modes)):
        with pytest.raises(DBAPIError, match="are added to, never changed"), client.engine.begin() as connection:
            connection.execute(change)


def test_nobody_reads_blind_where_nothing_is_decided_or_nobody_says_so(client: Client, batch: Batch) -> None:
    with client.engine.begin() as connection:
        judged = write_batch(connection, [], operation=Score(criteria="How long is it?"))
        with pytest.raises(InvalidRequest, match="Blind reading needs a batch of `tamis screen` or `tamis filter`"):
            set_mode(connection, judged, ScreeningMode.PAIR, set_by="Lead")
        with pytest.raises(InvalidParameters, match="who decided"):
            set_mode(connection, UUID(batch.id), ScreeningMode.PAIR, set_by=" ")
