"""The counters of a batch are what a recount finds, whatever becomes of its items and in whichever order."""

import random
from collections.abc import Iterator
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, Engine, create_engine, func, select, text

from stage import abstracts
from tamis_producer import Client
from tamis_producer.ledger import read_views
from tamis_producer.ledger.aggregates import LOST_CLAIMS, MEAN_PAID, PAID, UNANSWERED, UNPRICED
from tamis_producer.ledger.finding import beginning_with
from tamis_schemas import Filter, ItemStatus
from tamis_schemas.batches.status import ITEM_TRANSITIONS
from tamis_schemas.ledger import items, results

ITEMS = 12
RESULT = text("""
INSERT INTO results (batch_id, idx, fence, round, value, error_kind, error, prompt_tokens, completion_tokens, cost,
                     calls, unanswered)
VALUES (:batch, :idx, 1, :round, CASE WHEN :failed THEN NULL ELSE to_json(true) END,
        CASE WHEN :failed THEN 'timeout' END, CASE WHEN :failed THEN 'late' END, :tokens, 7, CAST(:cost AS numeric),
        :calls, :unanswered)
ON CONFLICT (batch_id, idx) DO UPDATE SET round = EXCLUDED.round, value = EXCLUDED.value,
    error_kind = EXCLUDED.error_kind, error = EXCLUDED.error, cost = results.cost + EXCLUDED.cost,
    prompt_tokens = results.prompt_tokens + EXCLUDED.prompt_tokens, calls = results.calls + EXCLUDED.calls
""")


@pytest.fixture
def batch(client: Client) -> UUID:
    return UUID(client.submit(Filter(criteria="Is it?"), abstracts(ITEMS)).id)


@pytest.fixture
def engines(database_url: str) -> Iterator[list[Engine]]:
    """Several connections: each counts for itself."""
    made = [create_engine(database_url) for _ in range(3)]
    yield made
    for engine in made:
        engine.dispose()


def step(connection: Connection, batch: UUID, dice: random.Random) -> None:
    """One statement that is legal, about some of the items."""
    places = dice.sample(range(ITEMS), dice.randint(1, 4))
    before = dice.choice([status for status in ItemStatus if ITEM_TRANSITIONS[status]])
    chosen = {"batch": batch, "places": places}
    match dice.randrange(5):
        case 0 | 1:
            after = dice.choice(sorted(ITEM_TRANSITIONS[before]))
            connection.execute(
                text(
                    "UPDATE item_states SET state = :after, fence = fence + 1, lost_claims = lost_claims + :lost "
                    "WHERE batch_id = :batch AND state = :before AND idx = ANY(:places)"
                ),
                chosen | {"before": before.value, "after": after.value, "lost": dice.randrange(2)},
            )
        case 2 | 3:
            calls = dice.choice([0, 1, 3])
            one = {
                "failed": dice.random() < 0.3,
                "round": dice.randrange(3),
                "tokens": dice.choice([0, 100, 2**40]),
                "cost": dice.choice([None, "0", "0.000000001", "1.5"]),
                "calls": calls,
                "unanswered": dice.randint(0, calls),
            }
            connection.execute(RESULT, [{"batch": batch, "idx": idx, **one} for idx in places])
        case _:
            connection.execute(text("DELETE FROM results WHERE batch_id = :batch AND idx = ANY(:places)"), chosen)


def recounted(connection: Connection, batch: UUID) -> tuple[object, ...]:
    states = connection.execute(
        select(items.c.state, func.count()).where(items.c.batch_id == batch).group_by(items.c.state)
    ).all()
    lost = connection.execute(select(LOST_CLAIMS).where(items.c.batch_id == batch)).scalar_one()
    paid = select(
        PAID, UNPRICED, UNANSWERED, MEAN_PAID, func.coalesce(func.sum(results.c.prompt_tokens), 0),
        func.count().filter(results.c.round == 1),
    )  # fmt: skip
    row = connection.execute(paid.where(results.c.batch_id == batch)).one()
    cost, unpriced, unanswered, mean, tokens, ended = row
    doubtful = None if mean is None or not unanswered + lost else (unanswered + lost) * mean
    return ({str(state): n for state, n in states}, lost, cost, unpriced, unanswered, doubtful, tokens, ended)


def told(connection: Connection, batch: UUID) -> tuple[object, ...]:
    (view,) = read_views(connection, batch_id=batch)
    counts = {status.value: getattr(view.counts, status.value) for status in ItemStatus}
    doubtful = view.possibly_unbilled_cost
    return (
        {state: n for state, n in counts.items() if n},
        view.lost_claims,
        view.cost,
        view.unpriced,
        view.unanswered,
        doubtful,
        view.prompt_tokens,
        view.ended_in_round,
    )


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), turns=st.integers(1, 25))
def test_counters_follow_every_legal_statement(batch: UUID, engines: list[Engine], seed: int, turns: int) -> None:
    dice = random.Random(seed)
    for _ in range(turns):
        with dice.choice(engines).connect() as connection:
            step(connection, batch, dice)
            if dice.random() < 0.8:  # else what was counted is rolled back with what it was counted of
                connection.commit()
        if dice.random() < 0.1:
            with engines[0].begin() as connection:
                assert connection.execute(text("SELECT settle_tallies(:b)"), {"b": batch}).scalar_one() is False
    with engines[0].begin() as connection:
        view, rows = told(connection, batch), recounted(connection, batch)
        assert view[:5] == rows[:5]
        assert view[6:] == rows[6:]
        if rows[5] is None:
            assert view[5] is None
        else:
            assert float(str(view[5])) == pytest.approx(float(str(rows[5])), abs=1e-8)
        assert connection.execute(text("SELECT settle_tallies(:b)"), {"b": batch}).scalar_one() is False


def test_counters_that_are_wrong_are_mended_and_go_with_their_batch(batch: UUID, engines: list[Engine]) -> None:
    engine = engines[0]
    with engine.begin() as connection:
        connection.execute(text("UPDATE tallies SET pending = 5, cost = 3"))
        connection.execute(
            text("INSERT INTO tallies (batch_id, round, backend, ended) VALUES (:b, 7, 1, 4)"), {"b": batch}
        )
        assert connection.execute(text("SELECT settle_tallies(:b)"), {"b": batch}).scalar_one() is True
        assert told(connection, batch)[0] == {"pending": ITEMS}
        assert connection.execute(text("SELECT sum(cost), sum(ended), max(backend) FROM tallies")).one() == (0, 0, 0)
        assert connection.execute(text("SELECT settle_tallies(:b)"), {"b": batch}).scalar_one() is False
        step(connection, batch, random.Random(2))
        connection.execute(text("DELETE FROM batches"))
        connection.execute(text("DELETE FROM results"))
        assert connection.execute(text("SELECT count(*) FROM tallies")).scalar_one() == 0
        assert connection.execute(text("SELECT count(*) FROM item_states, payloads")).scalar_one() == 0


def test_a_connection_that_settles_waits_for_nobody(batch: UUID, engines: list[Engine]) -> None:
    with engines[1].connect() as other:
        other.execute(text("UPDATE item_states SET state = 'running' WHERE idx = 0"))  # and is not committed
        with engines[0].begin() as connection:
            connection.execute(text("SET LOCAL lock_timeout = '2s'"))
            assert connection.execute(text("SELECT settle_tallies(:b)"), {"b": batch}).scalar_one() is False
        other.commit()
    with engines[0].connect() as connection:
        assert told(connection, batch)[0] == {"pending": ITEMS - 1, "running": 1}


@pytest.mark.parametrize("prefix", ["a", "0b9c", "12345678-9", "12345678-9abc-def0-1234-56789abcdef0", "ffffffff-"])
def test_an_id_that_begins_with_a_text_lies_between_two(prefix: str) -> None:
    span = beginning_with(prefix)
    assert span is not None
    first, last = span
    assert str(first).startswith(prefix)
    assert str(last).startswith(prefix)
    if first != last:
        assert not str(UUID(int=last.int + 1) if last.int < 2**128 - 1 else "").startswith(prefix)


@pytest.mark.parametrize("prefix", ["-", "123456789", "1234-", "12345678-9abc-def0-1234-56789abcdef01", "1234567--"])
def test_what_no_id_begins_with_lies_nowhere(prefix: str) -> None:
    assert beginning_with(prefix) is None
