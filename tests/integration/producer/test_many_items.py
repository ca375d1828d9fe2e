"""A batch of more items than are written or read at once: whole or not at all, and nothing is held meanwhile."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine, text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import QueuePool

from tamis_producer import Client, ProducerSettings
from tamis_producer.ledger import PAGE, insert_batch, read_results
from tamis_producer.ledger.insertion import COPIED_AT_ONCE
from tamis_producer.submission.new_batch import NewBatch, parameters, rows_of
from tamis_review import draw_pilot, override
from tamis_schemas import Exclusion, Filter, ItemStatus

ONCOLOGY = Filter(criteria="Is this about oncology?")
MANY = 2 * COPIED_AT_ONCE + 7
COPY = Exclusion(rule="duplicate", reason="A copy.", duplicate_of=0)


def many(count: int = MANY) -> Iterator[dict[str, Any]]:
    return ({"id": f"rec-{n}", "title": f"Record {n}"} for n in range(count))


def held(engine: Engine) -> int:
    """Connections that somebody holds."""
    assert isinstance(engine.pool, QueuePool)
    return engine.pool.checkedout()


def test_an_iterator_becomes_a_batch_with_its_shards_and_exclusions(client: Client) -> None:
    excluded = [3, COPIED_AT_ONCE - 1, COPIED_AT_ONCE, MANY - 1]
    batch = client.submit(ONCOLOGY, many(), exclusions=dict.fromkeys(excluded, COPY), shard_size=512)
    counts = batch.status().counts
    assert (counts.n_items, counts.excluded_by_filter) == (MANY, 4)
    with client.engine.connect() as connection:
        shards = connection.execute(text("SELECT shard, first_idx, end_idx FROM shards ORDER BY shard")).all()
    assert [tuple(one) for one in shards] == [
        (n, first, min(first + 512, MANY)) for n, first in enumerate(range(0, MANY, 512))
    ]
    found = list(batch.results())
    assert [row.item["id"] for row in found] == [item["id"] for item in many()]
    assert [row.index for row in found] == list(range(MANY))
    assert [row.index for row in found if row.exclusion == COPY] == excluded
    assert [row.index for row in found if row.status == ItemStatus.EXCLUDED_BY_FILTER] == excluded


def test_an_iterator_holds_no_connection_and_writes_nothing_where_it_breaks(client: Client) -> None:
    assert client.batches() == []
    seen = []

    def breaks() -> Iterator[dict[str, Any]]:
        for item in many(COPIED_AT_ONCE + 1):
            seen.append(held(client.engine))
            yield item
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        client.submit(ONCOLOGY, breaks(), idempotency_key="k")
    assert set(seen) == {0}
    assert client.batches() == []
    assert client.submit(ONCOLOGY, many(3), idempotency_key="k").status().counts.n_items == 3


def test_a_batch_of_which_the_ledger_refuses_one_item_is_not_there_at_all(client: Client) -> None:
    with client.engine.begin() as connection:
        connection.execute(text(f"ALTER TABLE exclusions ADD CONSTRAINT full_up CHECK (idx < {MANY - 1})"))
    with pytest.raises(psycopg.Error, match="full_up"):
        client.submit(ONCOLOGY, many(), exclusions={0: COPY, MANY - 1: COPY})
    with client.engine.connect() as connection:
        for table in ("batches", "shards", "items", "exclusions"):
            assert connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one() == 0


@pytest.mark.night
async def test_an_asynchronous_connection_writes_the_same_batch(client: Client, settings: ProducerSettings) -> None:
    first = client.submit(ONCOLOGY, many(), exclusions={5: COPY}, idempotency_key="k", model="m")
    params = parameters(ONCOLOGY)
    again = NewBatch("filter", params, "m", rows_of(many(), {5: COPY}), 50, 2, idempotency_key="k")
    other = replace(again, idempotency_key=None)
    engine = create_async_engine(settings.database)
    try:
        async with engine.begin() as connection:
            assert str(await connection.run_sync(insert_batch, again)) == first.id
            assert await connection.run_sync(insert_batch, other) == other.id
    finally:
        await engine.dispose()
    assert list(client.batch(str(other.id)).results()) == list(first.results())


def test_results_are_read_in_pages_and_nothing_is_held_between_them(client: Client) -> None:
    batch = client.submit(ONCOLOGY, many(2 * PAGE + 1))
    rows = batch.results()
    first = next(rows)
    assert held(client.engine) == 0
    for index in (0, PAGE, 2 * PAGE):
        batch.cancel() if index == 0 else None
        override(batch, index, True, reviewer="R")
    rest = list(rows)
    assert [first.index, *(row.index for row in rest)] == list(range(2 * PAGE + 1))
    assert first.status == ItemStatus.PENDING
    assert [row.index for row in rest if row.override is not None] == [PAGE, 2 * PAGE]


def test_a_page_begins_behind_a_place(client: Client) -> None:
    batch = client.submit(ONCOLOGY, many(10))
    batch.cancel()
    override(batch, 4, True, reviewer="R")

    def page(after: int | None, limit: int, places: list[int] | None = None) -> list[int]:
        with client.engine.connect() as connection:
            rows = read_results(connection, batch.uuid, after, limit, places)
        assert [row.index for row in rows if row.override is not None] == [row.index for row in rows if row.index == 4]
        return [row.index for row in rows]

    assert page(None, 4) == [0, 1, 2, 3]
    assert page(3, 4) == [4, 5, 6, 7]
    assert page(7, 4) == [8, 9]
    assert page(9, 4) == []
    assert page(None, 2, [1, 4, 8]) == [1, 4]
    assert page(4, 2, [1, 4, 8]) == [8]
    assert page(8, 2, [1, 4, 8]) == []
    assert [row.index for row in batch.results([8, 4, 4, 99])] == [4, 8]
    assert list(batch.results([])) == []


def test_a_pilot_is_drawn_from_the_places_of_the_records_that_are_no_copies(client: Client) -> None:
    rejected = Exclusion(rule="title_pattern", reason="A protocol.")
    batch = client.submit(ONCOLOGY, many(9), exclusions={2: COPY, 5: rejected, 8: COPY})
    pilot = draw_pilot(batch, 100, seed=1)
    assert (pilot.population, sorted(pilot.places)) == (7, [0, 1, 3, 4, 5, 6, 7])
    assert draw_pilot(batch, 3, seed=1).places == pilot.places[:3]
