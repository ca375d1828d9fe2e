"""How a lost message is told from a slow one. Ages are given to the ledger's rows; nobody waits for them."""

from collections.abc import Callable
from contextlib import suppress
from itertools import permutations
from uuid import UUID

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncEngine

from stage import abstracts
from tamis_producer import Batch, Client
from tamis_producer.ledger.worker_view import WorkerReport
from tamis_producer.runs import control
from tamis_schemas import Filter, IllegalTransition, Priority
from tamis_schemas.batches import wire
from tamis_worker.ledger import recovery
from tamis_worker.ledger.claims import ItemKey, claim
from tamis_worker.ledger.connection import transaction

GRACE = 15.0


@pytest.fixture
def batch(client: Client) -> Batch:
    """100 items in two dispatched shards of 50."""
    return client.submit(Filter(criteria="Is it?"), abstracts(100))


async def run(engine: AsyncEngine, statement: str) -> None:
    async with engine.begin() as connection:
        await connection.execute(text(statement))


async def lost(engine: AsyncEngine, *, queue_empty: bool) -> list[int]:
    async with transaction(engine) as connection:
        empty = list(wire.ITEM_QUEUES.values()) if queue_empty else []
        found = await recovery.find_lost(connection, grace=GRACE, empty=empty)
    return sorted(item.index for item in found)


async def published(engine: AsyncEngine, shard: int, seconds_ago: int) -> None:
    at = f"now() - interval '{seconds_ago} s'"
    await run(engine, f"UPDATE shards SET dispatched_at = {at}, published_at = {at} WHERE shard = {shard}")


async def test_items_just_published_are_not_lost(engine: AsyncEngine, batch: Batch) -> None:
    assert await lost(engine, queue_empty=True) == []


async def test_pending_items_are_lost_when_the_queue_is_empty(engine: AsyncEngine, batch: Batch) -> None:
    await published(engine, 0, 60)
    assert await lost(engine, queue_empty=True) == list(range(50))


async def test_pending_items_in_a_queue_that_is_not_empty_are_waited_for(engine: AsyncEngine, batch: Batch) -> None:
    await published(engine, 0, 600)
    await published(engine, 1, 599)
    assert await lost(engine, queue_empty=False) == []


async def test_an_item_overtaken_by_a_later_publication_is_lost(engine: AsyncEngine, batch: Batch) -> None:
    await published(engine, 0, 100)
    await published(engine, 1, 90)
    await run(engine, "UPDATE item_states SET state = 'running', claimed_at = now() - interval '80 s' WHERE idx < 49")
    assert await lost(engine, queue_empty=False) == []  # nothing of the later shard was claimed yet
    await run(engine, "UPDATE item_states SET state = 'running', claimed_at = now() - interval '20 s' WHERE idx = 50")
    assert await lost(engine, queue_empty=False) == [49]


async def test_what_was_published_between_others_of_its_queue_is_not_overtaken_by_them(
    engine: AsyncEngine, batch: Batch
) -> None:
    """Two batches are published at the same time: the last messages of the first are behind the first of the second."""
    await published(engine, 0, 100)
    await published(engine, 1, 90)
    await run(engine, "UPDATE shards SET published_at = now() - interval '60 s' WHERE shard = 0")
    await run(engine, "UPDATE item_states SET state = 'running', claimed_at = now() - interval '20 s' WHERE idx = 50")
    assert await lost(engine, queue_empty=False) == []
    await run(engine, "UPDATE shards SET published_at = NULL WHERE shard = 0")  # or its publisher is not ready yet
    assert await lost(engine, queue_empty=False) == []
    assert await lost(engine, queue_empty=True) == [*range(50), *range(51, 100)]


async def test_an_item_overtaken_a_moment_ago_may_still_be_on_its_way(engine: AsyncEngine, batch: Batch) -> None:
    await published(engine, 0, 100)
    await published(engine, 1, 90)
    await run(engine, "UPDATE item_states SET state = 'running', claimed_at = now() - interval '5 s' WHERE idx = 50")
    assert await lost(engine, queue_empty=False) == []


async def test_a_claim_from_before_a_publication_does_not_show_that_the_publication_was_reached(
    engine: AsyncEngine, batch: Batch
) -> None:
    await published(engine, 0, 100)
    await published(engine, 1, 90)
    taken_back = "claimed_at = now() - interval '80 s', republished_at = now() - interval '60 s'"
    await run(engine, f"UPDATE item_states SET {taken_back} WHERE idx = 0")
    assert await lost(engine, queue_empty=False) == []


async def test_an_item_is_not_overtaken_in_another_lane(client: Client, engine: AsyncEngine, batch: Batch) -> None:
    other = client.submit(Filter(criteria="Is it?"), abstracts(2))
    await run(engine, f"UPDATE batches SET lane = CASE id WHEN '{other.id}' THEN 2 ELSE 1 END")
    await published(engine, 0, 100)
    await published(engine, 1, 100)
    later = "dispatched_at = now() - interval '90 s', published_at = now()"
    await run(engine, f"UPDATE shards SET {later} WHERE batch_id = '{other.id}'")
    claimed = "state = 'running', claimed_at = now() - interval '20 s'"
    await run(engine, f"UPDATE item_states SET {claimed} WHERE batch_id = '{other.id}' AND idx = 0")
    assert await lost(engine, queue_empty=False) == []


async def test_what_was_published_again_gets_its_time_anew(engine: AsyncEngine, batch: Batch) -> None:
    await published(engine, 0, 60)
    assert await lost(engine, queue_empty=True) == list(range(50))
    assert await lost(engine, queue_empty=True) == []


async def test_items_of_a_paused_batch_are_not_lost(engine: AsyncEngine, batch: Batch) -> None:
    await published(engine, 0, 60)
    await run(engine, "UPDATE batches SET state = 'paused'")
    assert await lost(engine, queue_empty=True) == []


async def test_claims_of_the_dead_are_taken_back_and_those_of_the_living_are_not(
    engine: AsyncEngine, batch: Batch
) -> None:
    for worker, indexes in (("living", range(3)), ("dead", range(3, 6))):
        await recovery.renew_lease(engine, WorkerReport(id=worker), lease=30)
        await claim(engine, [ItemKey(UUID(batch.id), i) for i in indexes], worker=worker)
    await run(engine, "UPDATE workers SET lease_until = now() - interval '1 s' WHERE id = 'dead'")
    async with transaction(engine) as connection:
        released = await recovery.release_dead(connection)
    assert sorted(item.index for item in released) == [3, 4, 5]
    counts = batch.status().counts
    assert (counts.running, counts.pending) == (3, 97)


COMMANDS: dict[str, Callable[[Connection, UUID], None]] = {
    "priority": lambda connection, batch_id: control.set_priority(connection, batch_id, Priority.HIGH),
    "pause": control.pause,
    "resume": control.resume,
    "cancel": control.cancel,
}


@pytest.mark.parametrize("commands", list(permutations(COMMANDS, 2)), ids="-".join)
async def test_claims_of_the_dead_are_taken_back_whatever_was_commanded_while_redis_was_away(
    client: Client, engine: AsyncEngine, batch: Batch, commands: tuple[str, ...]
) -> None:
    """Without Redis no shard is dispatched again: shards of a new priority or a resumed batch wait."""
    batch_id = UUID(batch.id)
    await recovery.renew_lease(engine, WorkerReport(id="dead"), lease=30)
    await claim(engine, [ItemKey(batch_id, index) for index in range(3)], worker="dead")
    for command in commands:
        with suppress(IllegalTransition), client.engine.begin() as connection:  # nothing follows a cancellation
            COMMANDS[command](connection, batch_id)
    await run(engine, "UPDATE workers SET lease_until = now() - interval '1 s'")
    async with transaction(engine) as connection:
        await recovery.release_dead(connection)
        unfinished = await recovery.find_unfinished(connection)
    counts = batch.status().counts
    assert counts.running == 0
    assert counts.identity_holds
    assert (counts.cancelled, list(unfinished)) == ((100, [batch_id]) if "cancel" in commands else (0, []))


async def test_an_item_is_given_up_when_as_many_workers_died_of_it_as_are_allowed_and_not_before(
    engine: AsyncEngine, batch: Batch
) -> None:
    given_up = []
    for worker in ("first", "second", "third"):
        await recovery.renew_lease(engine, WorkerReport(id=worker), lease=30)
        assert await claim(engine, [ItemKey(UUID(batch.id), 0)], worker=worker) != [None]
        await run(engine, "UPDATE workers SET lease_until = now() - interval '1 s'")
        async with transaction(engine) as connection:
            given_up.append(await recovery.give_up_poison(connection, max_claims=3))
            await recovery.release_dead(connection)
    assert given_up == [0, 0, 1]
    assert await claim(engine, [ItemKey(UUID(batch.id), 0)], worker="fourth") == [None]


async def test_one_worker_sweeps_at_a_time(engine: AsyncEngine) -> None:
    async with transaction(engine) as first:
        assert await recovery.try_lock(first)
        async with transaction(engine) as second:
            assert not await recovery.try_lock(second)
    async with transaction(engine) as third:
        assert await recovery.try_lock(third)


async def test_a_shard_that_nobody_closed_is_found_and_one_with_open_items_is_not(
    engine: AsyncEngine, batch: Batch
) -> None:
    await published(engine, 0, 60)
    await published(engine, 1, 60)
    await run(engine, "UPDATE item_states SET state = 'running' WHERE idx < 99")
    await run(engine, "UPDATE item_states SET state = 'decided' WHERE idx < 99")
    for left in ("pending", "running"):
        await run(engine, f"UPDATE item_states SET state = '{left}' WHERE idx = 99")
        async with transaction(engine) as connection:
            found = await recovery.find_unclosed(connection, grace=GRACE)
        assert [shard.shard for shard in found] == [0]


async def test_a_batch_whose_window_has_room_is_found(engine: AsyncEngine, batch: Batch) -> None:
    await run(engine, "UPDATE batches SET created_at = now() - interval '60 s'")
    async with transaction(engine) as connection:
        assert await recovery.find_undispatched(connection, grace=GRACE) == []
    await run(engine, "UPDATE shards SET state = 'waiting' WHERE shard = 1")
    async with transaction(engine) as connection:
        assert list(await recovery.find_undispatched(connection, grace=GRACE)) == [UUID(batch.id)]
    await run(engine, "UPDATE batches SET window_size = 1")  # the shard that is dispatched fills it
    async with transaction(engine) as connection:
        assert await recovery.find_undispatched(connection, grace=GRACE) == []
