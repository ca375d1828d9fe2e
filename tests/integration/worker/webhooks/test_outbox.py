"""What is written into the outbox, by whom, and when: one row for each thing that happens, in its transaction."""

import json
from uuid import UUID

import pytest

from tamis_producer import Client
from tamis_producer.gateway import api_keys
from tamis_schemas import BatchEvent, Callback, Pause, PauseKind
from tamis_worker.ledger.batches import pause_batch
from tamis_worker.ledger.connection import transaction
from tamis_worker.ledger.shards import close_cancelled, close_shard
from tamis_worker.webhooks.outbox import CLAIMED_FOR, LEAST_ENDED, claim, prune, tell_failing
from tamis_worker.webhooks.outbox import finish as end
from tamis_worker.webhooks.schedule import DeliveryDecision

from .conftest import HOOK, Outbox

EVERY = 60.0


def types(outbox: Outbox) -> list[str]:
    return [row.type for row in outbox.rows()]


async def finish(outbox: Outbox, batch_id: str) -> None:
    for row in outbox.sql("SELECT batch_id, round, shard FROM shards WHERE batch_id = :id", id=batch_id):
        await close_shard(outbox.engine, row.batch_id, row.round, row.shard)


async def test_a_batch_that_completes_is_told_once_with_what_came_of_it(outbox: Outbox) -> None:
    batch = outbox.batch(label="spring – ä")
    outbox.decide(batch, failed=0, decided=4)
    assert types(outbox) == []
    await finish(outbox, batch)
    await finish(outbox, batch)
    (row,) = outbox.rows()
    assert (row.type, row.url, str(row.batch_id), row.round, row.state) == (
        "batch.completed", HOOK, batch, 1, "waiting"
    )  # fmt: skip
    (claimed,) = await claim(outbox.engine, 10)
    told = json.loads(claimed.body)
    assert set(told) == {"type", "timestamp", "data"}
    assert told["timestamp"].endswith("Z")
    assert told["data"] == {
        "batch_id": batch, "label": "spring – ä", "operation": "filter", "state": "completed", "round": 1,
        "review_id": None, "stage": None, "pause": None,
        "counts": {"n_items": 4, "excluded_by_filter": 0, "decided": 4, "failed": 0, "cancelled": 0, "pending": 0,
                   "running": 0},
    }  # fmt: skip


async def test_what_is_rolled_back_is_not_told(outbox: Outbox) -> None:
    batch = outbox.batch()
    with outbox.client.engine.connect() as connection:
        connection.exec_driver_sql(f"UPDATE batches SET state = 'completed' WHERE id = '{batch}'")
        connection.rollback()
    assert types(outbox) == []


async def test_the_body_is_the_same_at_every_try_though_the_counts_move_on(outbox: Outbox) -> None:
    batch = outbox.batch()
    await pause_batch(outbox.engine, UUID(batch), Pause(kind=PauseKind.BUDGET, message="$1.00 is spent"))
    (first,) = await claim(outbox.engine, 10)
    outbox.client.batch(batch).resume()
    outbox.decide(batch, failed=1, decided=1)
    outbox.pass_time(EVERY)
    (second,) = await claim(outbox.engine, 10)
    assert (first.id, first.body, first.tries, second.tries) == (second.id, second.body, 1, 2)
    told = json.loads(first.body)["data"]
    assert (told["state"], told["pause"]) == (
        "paused",
        {"kind": "budget", "message": "$1.00 is spent", "until": None},
    )
    assert told["counts"]["pending"] == 4


async def test_a_pause_is_told_each_time_that_nobody_asked_for_it(outbox: Outbox) -> None:
    batch = outbox.batch()
    there = outbox.client.batch(batch)
    there.pause()
    there.resume()
    assert types(outbox) == []
    for _ in range(2):
        await pause_batch(outbox.engine, UUID(batch), Pause(kind=PauseKind.AUTHENTICATION))
        there.resume()
    assert types(outbox) == ["batch.paused", "batch.paused"]


async def test_a_cancelled_batch_is_told_when_its_last_call_has_ended(outbox: Outbox) -> None:
    batch = outbox.batch()
    outbox.sql("UPDATE item_states SET state = 'running' WHERE batch_id = :id AND idx = 0", id=batch)
    outbox.client.batch(batch).cancel()
    assert not await close_cancelled(outbox.engine, UUID(batch))
    assert types(outbox) == []
    outbox.sql("UPDATE item_states SET state = 'decided' WHERE batch_id = :id AND idx = 0", id=batch)
    assert await close_cancelled(outbox.engine, UUID(batch))
    assert types(outbox) == ["batch.completed"]
    (claimed,) = await claim(outbox.engine, 10)
    told = json.loads(claimed.body)["data"]
    assert (told["state"], told["counts"]["cancelled"], told["counts"]["decided"]) == ("cancelled", 3, 1)


@pytest.mark.parametrize(
    ("share", "failed", "decided", "told"),
    [
        (0.1, 1, 9, False),  # 1 of 10 is not more than a tenth
        (0.1, 2, 8, True),
        (0.0, 0, 10, False),
        (0.0, 1, 9, True),
        (1.0, 10, 0, False),
    ],
)
async def test_a_round_that_ends_with_more_failures_than_its_share_is_told(
    outbox: Outbox, share: float, failed: int, decided: int, told: bool
) -> None:
    batch = outbox.batch(10, Callback(url=HOOK, failed_share=share, events=(BatchEvent.FAILING,)))
    outbox.decide(batch, failed=failed, decided=decided)
    await finish(outbox, batch)
    assert types(outbox) == (["batch.failing"] if told else [])


async def test_failures_are_told_while_a_batch_runs_once_a_round(outbox: Outbox) -> None:
    batch, other = outbox.batch(30), outbox.batch(30, Callback(url=HOOK, events=(BatchEvent.COMPLETED,)))
    for one in (batch, other):
        outbox.decide(one, failed=LEAST_ENDED - 1, decided=0)
    assert await tell_failing(outbox.engine) == 0, f"of fewer than {LEAST_ENDED} it is too early to say"
    outbox.decide(batch, failed=0, decided=1)
    assert await tell_failing(outbox.engine) == 1
    assert await tell_failing(outbox.engine) == 0
    assert [(row.type, str(row.batch_id)) for row in outbox.rows()] == [("batch.failing", batch)]
    outbox.decide(batch, failed=0, decided=10)
    await finish(outbox, batch)
    assert types(outbox) == ["batch.failing", "batch.completed"]
    outbox.client.batch(batch).retry()
    outbox.decide(batch, failed=19, decided=0)
    await finish(outbox, batch)
    assert sorted((row.type, row.round) for row in outbox.rows()) == [
        ("batch.completed", 1), ("batch.completed", 2), ("batch.failing", 1), ("batch.failing", 2)
    ]  # fmt: skip


async def test_a_batch_without_a_callback_tells_nobody_and_a_key_speaks_for_its_batches(outbox: Outbox) -> None:
    key = api_keys.create(outbox.client.engine, "Reviewer A", [api_keys.Scope.SUBMIT]).split("_")[1]
    of_key = Callback(url="https://hooks.example/of-the-key")
    outbox.sql("UPDATE api_keys SET callback = CAST(:c AS json)", c=of_key.model_dump_json())
    silent = outbox.client.submit(*outbox.asked())
    by_key = outbox.client.submit(*outbox.asked(), api_key_id=key)
    own = outbox.client.submit(*outbox.asked(), api_key_id=key, callback=Callback(url=HOOK))
    service = outbox.client.submit(*outbox.asked(), api_key_id=key, service="pipeline")
    for batch in (silent, by_key, own, service):
        outbox.decide(batch.id, failed=0, decided=2)
        await finish(outbox, batch.id)
    assert {str(row.batch_id): row.url for row in outbox.rows()} == {by_key.id: of_key.url, own.id: HOOK}


async def test_what_was_told_is_forgotten_after_some_days_and_what_waits_is_not(outbox: Outbox) -> None:
    for state in ("delivered", "given_up", "waiting"):
        outbox.sql(
            "INSERT INTO webhooks (type, url, data, state, ended_at) VALUES ('t', 'u', '{}', :state, :ended)",
            state=state,
            ended=None if state == "waiting" else "now",
        )
    outbox.pass_time(29 * 86_400)
    for days, gone, left in ((30, 0, 3), (28, 2, 1)):
        async with transaction(outbox.engine) as connection:
            assert await prune(connection, days=days) == gone
        assert len(outbox.rows()) == left
    (row,) = outbox.rows()
    assert row.state == "waiting"


def test_the_events_of_the_triggers_are_those_that_a_callback_may_name(client: Client) -> None:
    with client.engine.connect() as connection:
        sources = connection.exec_driver_sql(
            "SELECT string_agg(prosrc, ' ') FROM pg_proc WHERE proname IN ('tell_state', 'tell_failures')"
        ).scalar_one()
    assert {event.value for event in BatchEvent} == {word for word in sources.split("'") if word.startswith("batch.")}


async def test_a_late_answer_counts_where_it_is_delivered_and_a_late_failure_does_not(outbox: Outbox) -> None:
    outbox.sql("INSERT INTO webhooks (type, url, data) VALUES ('t', 'https://hooks.example/', '{}')")
    (late,) = await claim(outbox.engine, 1)
    outbox.pass_time(CLAIMED_FOR + 1)
    await claim(outbox.engine, 1)
    await end(outbox.engine, late, None, DeliveryDecision(False, 5.0, "no connection"))
    (row,) = outbox.rows()
    assert (row.last_said, row.claimed_until is None) == (None, False), "the later try goes on"
    await end(outbox.engine, late, 200, DeliveryDecision(True, None, "answered 200"))
    assert outbox.rows()[0].state == "delivered"
